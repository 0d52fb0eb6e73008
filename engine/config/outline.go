package config

import (
	"os"
	"path/filepath"
	"strings"
)

// Outline is what a pipeline file names, as far as it can be read: it may be wrong, or half written.
type Outline struct {
	Tasks, Profiles, Variables, Plugins []Named
}

// Named is a name in the file and, if there is one, what is said of it there.
type Named struct {
	Name   string
	Doc    string
	Values []string // those that a variable may have, if they are listed
}

// ReadOutline lists the names in a file, for those who choose among them. Nothing is checked; of a file that cannot be
// read there are none.
func ReadOutline(file string) Outline {
	data, err := os.ReadFile(file)
	if err != nil {
		return Outline{}
	}
	l := &loader{file: file, dir: filepath.Dir(file)}
	root := l.parse(newSource(file, data))
	list := func(section string) (all []Named) {
		if n := root.get(section); n != nil {
			for _, e := range n.entries {
				if !strings.HasPrefix(e.key, "x-") {
					all = append(all, named(e))
				}
			}
		}
		return all
	}
	return Outline{Tasks: list("tasks"), Profiles: list("profiles"), Variables: list("variables"), Plugins: list("plugins")}
}

func named(e entry) Named {
	n := Named{Name: e.key}
	if doc := e.value.get("doc"); doc != nil {
		n.Doc = doc.text
	}
	if values := e.value.get("values"); values != nil {
		for _, v := range values.items {
			n.Values = append(n.Values, v.text)
		}
	}
	return n
}
