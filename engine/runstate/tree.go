package runstate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"unicode/utf8"
)

// object is a JSON object that is being brought to a newer format. Numbers keep their spelling.
type object = map[string]any

// parse reads a JSON object.
func parse(data []byte) (object, error) {
	if !utf8.Valid(data) {
		return nil, errors.New("it is not UTF-8")
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var tree object
	if err := dec.Decode(&tree); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, errors.New("it is cut off")
	} else if err != nil {
		return nil, err
	}
	if tree == nil {
		return nil, errors.New("it is no JSON object")
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, errors.New("something follows its JSON object")
	}
	return tree, nil
}

// at is where something stands in a document, for messages.
func at(path string, name any) string {
	if i, ok := name.(int); ok {
		return fmt.Sprintf("%s[%d]", path, i)
	}
	if path == "" {
		return fmt.Sprint(name)
	}
	return fmt.Sprintf("%s.%s", path, name)
}

// member gives an object that is a member of o; nil if there is none.
func member(o object, path, name string) (object, error) {
	switch v := o[name].(type) {
	case nil:
		return nil, nil
	case object:
		return v, nil
	}
	return nil, fmt.Errorf("%s is no object", at(path, name))
}

// list gives a list that is a member of o; nil if there is none.
func list(o object, path, name string) ([]any, error) {
	switch v := o[name].(type) {
	case nil:
		return nil, nil
	case []any:
		return v, nil
	}
	return nil, fmt.Errorf("%s is no list", at(path, name))
}

// objects gives the members of a list that are objects, and refuses others.
func objects(o object, path, name string, visit func(path string, o object) error) error {
	all, err := list(o, path, name)
	for i := 0; i < len(all) && err == nil; i++ {
		here := at(at(path, name), i)
		v, ok := all[i].(object)
		if !ok {
			return fmt.Errorf("%s is no object", here)
		}
		err = visit(here, v)
	}
	return err
}

// actions visits every action of a state file.
func actions(tree object, visit func(path string, action object) error) error {
	all, err := member(tree, "", "actionsState")
	if err != nil {
		return err
	}
	for _, name := range sortedKeys(all) {
		path := at("actionsState", name)
		action, ok := all[name].(object)
		if !ok {
			return fmt.Errorf("%s is no object", path)
		}
		if err := visit(path, action); err != nil {
			return err
		}
	}
	return nil
}

// results visits every result of every action of a state file.
func results(tree object, visit func(path string, result object) error) error {
	return actions(tree, func(path string, action object) error {
		return objects(action, path, "results", visit)
	})
}

// move gives a member another name, which must be free.
func move(o object, path, from, to string) error {
	v, there := o[from]
	if !there {
		return nil
	}
	if _, taken := o[to]; taken {
		return fmt.Errorf("%s has both %s and %s", path, from, to)
	}
	delete(o, from)
	o[to] = v
	return nil
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
