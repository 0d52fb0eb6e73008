package config

// overlay lays the nodes of a profile over those of the file: mappings key by key, anything else whole.
// Every node keeps its own position.
func overlay(base, top *node) *node {
	if base == nil || base.kind != mappingNode || top.kind != mappingNode {
		return top
	}
	out := *base
	out.entries = append([]entry(nil), base.entries...)
	for _, e := range top.entries {
		e.value = overlay(out.get(e.key), e.value)
		out.put(e)
	}
	return &out
}

// profile gives the tree with the chosen profile merged in. Without a profile it is the file's own.
func (l *loader) profile(root *node) *node {
	name := l.opts.Profile
	if name == "" {
		return root
	}
	profiles := root.get("profiles")
	p := profiles.get(name)
	if p == nil {
		var known []string
		if profiles != nil {
			for _, e := range profiles.entries {
				known = append(known, e.key)
			}
		}
		hint := DidYouMean(name, known)
		if len(known) == 0 {
			hint = "the pipeline file has no profiles"
		}
		l.usage("there is no profile "+quote(name), hint)
		return root
	}
	if p.bad || p.kind != mappingNode {
		return root
	}
	return overlay(root, p)
}
