package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/knadh/koanf/providers/confmap"
	"github.com/knadh/koanf/providers/env/v2"
	"github.com/knadh/koanf/v2"
)

const envPrefix = "UBUNYE_"

// given is a setting that the environment or a flag gives: its text and where it came from.
type given struct {
	Text string
	From string
}

// settings lays the environment and the flags over the tree. Names that the program uses without
// them being settings (UBUNYE_RUN_LEASE, UBUNYE_FAULT) have no "__" and are passed over.
func (l *loader) settings(root *node, top *Field) {
	fields := map[string]*Field{}
	var paths []string
	top.settings("", func(path string, f *Field) {
		fields[path] = f
		paths = append(paths, path)
	})
	k := koanf.New(".")
	// Neither provider can fail: both only hand over maps.
	_ = k.Load(env.Provider(".", env.Opt{Prefix: envPrefix, EnvironFunc: l.environ, TransformFunc: func(name, value string) (string, any) {
		return l.envSetting(name, fields, paths), given{value, name}
	}}), nil)
	flags := map[string]any{}
	for path, v := range l.opts.Settings {
		if fields[path] == nil {
			l.usage("there is no setting "+quote(path), DidYouMean(path, paths))
			continue
		}
		flags[path] = given{fmt.Sprint(v), "--" + path[strings.LastIndexByte(path, '.')+1:]}
	}
	_ = k.Load(confmap.Provider(flags, "."), nil)
	for path, v := range k.All() {
		if g, ok := v.(given); ok {
			place(root, strings.Split(path, "."), &node{tag: tagText, text: g.Text, from: g.From})
		}
	}
	for _, path := range paths {
		l.checkSetting(root, path, fields[path])
	}
}

// checkSetting checks what came from outside; the file's own values have been checked.
func (l *loader) checkSetting(root *node, path string, f *Field) {
	n := root
	for _, key := range strings.Split(path, ".") {
		n = n.get(key)
	}
	if n != nil && n.from != "" {
		l.scalar(n, f, path)
	}
}

func (l *loader) environ() []string {
	list := make([]string, 0, len(l.env))
	for k, v := range l.env {
		list = append(list, k+"="+v)
	}
	slices.Sort(list)
	return list
}

// envSetting gives the dotted path that an environment variable sets; empty: none.
func (l *loader) envSetting(name string, fields map[string]*Field, paths []string) string {
	section, key, nested := strings.Cut(strings.TrimPrefix(name, envPrefix), "__")
	path := strings.ToLower(section)
	if nested {
		path += "." + strings.ToLower(key)
	}
	switch {
	case fields[path] != nil:
		return path
	case !nested, path == "variables."+strings.ToLower(key): // variables have their own stage
		return ""
	}
	known := make([]string, len(paths))
	for i, p := range paths {
		known[i] = envName(p)
	}
	l.usage(name+" is no setting", DidYouMean(name, known))
	return ""
}

// envName is the environment variable of a setting.
func envName(path string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(path, ".", "__"))
}

// place puts a value into the tree, making the mappings above it.
func place(root *node, path []string, value *node) {
	n := root
	for _, key := range path[:len(path)-1] {
		next := n.get(key)
		if next == nil || next.kind != mappingNode {
			next = &node{kind: mappingNode, pos: root.pos}
			n.put(entry{key, root.pos, next})
		}
		n = next
	}
	n.put(entry{path[len(path)-1], value.pos, value})
}
