package main

import (
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

const module = "github.com/ubunye-io/ubunye/"

// source is the declarations of our packages, each parsed when it is first needed.
type source struct {
	root     string // of the repository
	packages map[string]*pkg
}

type pkg struct {
	path      string // below the module, as "engine/abi"
	types     map[string]*declared
	constants map[string][]constant // by the name of their type
}

// declared is a type and the file that it stands in, whose imports say what its fields' types are.
type declared struct {
	pkg  *pkg
	name string
	doc  string
	open bool // it may have other values than its constants
	expr ast.Expr
	file *ast.File
}

// constant is one value of a named text type. A comment above the first one is of the group, if there is one behind it.
type constant struct{ value, doc string }

// open marks a text type of which files may hold other values than the constants.
const open = "//schema:open"

// platform is the one whose declarations count where they differ by platform: the schemas are the same wherever
// they are made.
func platform() *build.Context {
	c := build.Default
	c.GOOS, c.GOARCH, c.CgoEnabled = "linux", "amd64", true
	return &c
}

func (s *source) load(at string) (*pkg, error) {
	if p := s.packages[at]; p != nil {
		return p, nil
	}
	names, err := filepath.Glob(filepath.Join(s.root, filepath.FromSlash(at), "*.go"))
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%s: there is no Go file", at)
	}
	p := &pkg{path: at, types: map[string]*declared{}, constants: map[string][]constant{}}
	s.packages[at] = p
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		if ours, err := platform().MatchFile(filepath.Dir(name), filepath.Base(name)); err != nil {
			return nil, err
		} else if !ours {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, d := range file.Decls {
			if d, ok := d.(*ast.GenDecl); ok {
				p.add(file, d)
			}
		}
	}
	return p, nil
}

func (p *pkg) add(file *ast.File, d *ast.GenDecl) {
	for _, spec := range d.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			doc := spec.Doc
			if doc == nil {
				doc = d.Doc
			}
			t := &declared{pkg: p, name: spec.Name.Name, doc: words(doc), expr: spec.Type, file: file}
			t.open = doc != nil && slices.ContainsFunc(doc.List, func(c *ast.Comment) bool { return c.Text == open })
			p.types[spec.Name.Name] = t
		case *ast.ValueSpec:
			typ, named := spec.Type.(*ast.Ident)
			if d.Tok != token.CONST || !named || len(spec.Values) != 1 {
				continue
			}
			if lit, ok := spec.Values[0].(*ast.BasicLit); ok && lit.Kind == token.STRING {
				value, err := strconv.Unquote(lit.Value)
				if err == nil {
					p.constants[typ.Name] = append(p.constants[typ.Name], constant{value: value, doc: comment(spec.Doc, spec.Comment)})
				}
			}
		}
	}
}

// find gives the declaration that an expression in a file of t's package names; nil for a type of Go's own.
func (s *source) find(t *declared, e ast.Expr) (*declared, error) {
	switch e := e.(type) {
	case *ast.Ident:
		return t.pkg.types[e.Name], nil
	case *ast.SelectorExpr:
		for _, imp := range t.file.Imports {
			full, err := strconv.Unquote(imp.Path.Value)
			if err != nil {
				return nil, err
			}
			at, ours := strings.CutPrefix(full, module)
			if id, ok := e.X.(*ast.Ident); !ours || !ok || path.Base(full) != id.Name {
				continue
			}
			p, err := s.load(at)
			if err != nil {
				return nil, err
			}
			return p.types[e.Sel.Name], nil
		}
	}
	return nil, nil
}

// named finds a type by its package and name, as "engine/abi.Mode".
func (s *source) named(full string) (*declared, error) {
	at, name, _ := strings.Cut(full, ".")
	p, err := s.load(at)
	if err != nil {
		return nil, err
	}
	if p.types[name] == nil {
		return nil, fmt.Errorf("%s: there is no type of that name", full)
	}
	return p.types[name], nil
}

// field is one member of a JSON object.
type field struct {
	name     string
	doc      string
	optional bool
	in       string // the struct tag: the events that have the field
	of       *declared
	expr     ast.Expr
}

// fields lists the members of a struct, those of embedded ones in their place.
func (s *source) fields(t *declared) ([]field, error) {
	st, ok := t.expr.(*ast.StructType)
	if !ok {
		return nil, fmt.Errorf("%s.%s is no struct", t.pkg.path, t.name)
	}
	var all []field
	for _, f := range st.Fields.List {
		if len(f.Names) == 0 {
			inner, err := s.find(t, f.Type)
			if err != nil || inner == nil {
				return nil, fmt.Errorf("%s.%s: what it embeds is not found: %v", t.pkg.path, t.name, err)
			}
			more, err := s.fields(inner)
			if err != nil {
				return nil, err
			}
			all = append(all, more...)
			continue
		}
		if f.Tag == nil {
			if f.Names[0].IsExported() {
				return nil, fmt.Errorf("%s.%s.%s has no json tag", t.pkg.path, t.name, f.Names[0].Name)
			}
			continue
		}
		text, err := strconv.Unquote(f.Tag.Value)
		if err != nil {
			return nil, err
		}
		tag := reflect.StructTag(text)
		name, options, _ := strings.Cut(tag.Get("json"), ",")
		if name == "-" {
			continue
		}
		m := field{name: name, doc: comment(f.Doc, f.Comment), optional: strings.Contains(options, "omitempty") || strings.Contains(options, "omitzero"), in: tag.Get("in"), of: t, expr: f.Type}
		if m.doc == "" {
			return nil, fmt.Errorf("%s.%s.%s has no doc comment, so its schema would have no description", t.pkg.path, t.name, f.Names[0].Name)
		}
		all = append(all, m)
	}
	return all, nil
}

// comment is what is said above a declaration or behind it, as a sentence.
func comment(above, behind *ast.CommentGroup) string {
	text := words(behind)
	if text == "" {
		text = words(above)
	}
	if text == "" {
		return ""
	}
	text = strings.ToUpper(text[:1]) + text[1:]
	if !strings.HasSuffix(text, ".") {
		text += "."
	}
	return text
}

// words is a comment on one line.
func words(c *ast.CommentGroup) string { return strings.Join(strings.Fields(c.Text()), " ") }
