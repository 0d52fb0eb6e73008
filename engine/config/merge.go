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
		below := out.find(e.key)
		if below == nil {
			out.entries = append(out.entries, e)
			continue
		}
		if below.value.kind != mappingNode || e.value.kind != mappingNode {
			below.pos = e.pos // the value is the profile's alone
		}
		below.value = overlay(below.value, e.value)
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
		l.usage("--profile "+name+": the pipeline has no profile of that name", hint)
		return root
	}
	if p.bad || p.kind != mappingNode {
		return root
	}
	return overlay(root, p)
}
