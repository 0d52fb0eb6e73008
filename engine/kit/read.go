package kit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ubunye-io/ubunye/engine/compute/duckdb"
	"github.com/ubunye-io/ubunye/engine/problem"
)

// visible lists the files below a folder that readers look at, by their names with slashes. A folder that is not there has none.
func visible(folder string) (names []string, err error) {
	err = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		name := filepath.Base(path)
		hidden := path != folder && (strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_"))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil || d.IsDir() && !hidden:
			return err
		case d.IsDir():
			return fs.SkipDir
		case !hidden:
			below, err := filepath.Rel(folder, path)
			names = append(names, filepath.ToSlash(below))
			return err
		}
		return nil
	})
	if err != nil {
		return nil, &broken{err}
	}
	return names, nil
}

// noReader says that nobody knows how the files are read.
func noReader() error {
	return &broken{&problem.Problem{Code: problem.Usage, Message: "nobody knows how its files are read", Hint: "say so in a case file, as read: {sql: SELECT id, value FROM …}: ubunye plugin test --help"}}
}

// source is SQL that gives the rows of a folder, as somebody else reads them; empty: there are no files.
func (k *kit) source(ctx context.Context, folder string, t table) (string, error) {
	names, err := visible(folder)
	if err != nil || len(names) == 0 {
		return "", err
	}
	quoted := strings.ReplaceAll(folder, "'", "''")
	switch {
	case k.Case.SQL != "":
		return strings.ReplaceAll(k.Case.SQL, "{path}", quoted), nil
	case len(k.Case.Command) > 0:
		return k.fromCommand(ctx, folder, t)
	}
	for _, name := range names {
		if sql, ok := duckdb.FolderSQL(name, folder, t.part); ok {
			return sql, nil
		}
	}
	if slices.ContainsFunc(names, func(name string) bool { return strings.HasSuffix(name, ".json") }) {
		return k.fromJSON(folder, names, t)
	}
	return "", noReader()
}

// fromCommand has the author's program print the rows, and gives SQL that reads what it printed.
func (k *kit) fromCommand(ctx context.Context, folder string, t table) (string, error) {
	cmd := exec.CommandContext(ctx, k.Case.Command[0], append(slices.Clone(k.Case.Command[1:]), folder)...)
	cmd.Dir = k.Case.Dir
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			return "", wrongf("the author's reader ended with %s: %s", exit.ProcessState, lastLine(exit.Stderr))
		}
		return "", &broken{err}
	}
	return k.fromLines(bytes.NewReader(out), nil, t)
}

func lastLine(text []byte) string {
	all := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.TrimSpace(all[len(all)-1])
}

// holds tells how the rows of a folder differ from those of tables together; nil: they do not.
func (k *kit) holds(ctx context.Context, folder string, want ...table) error {
	first := table{}
	if len(want) > 0 {
		first = want[0]
	}
	source, err := k.source(ctx, folder, first)
	if err != nil {
		return err
	}
	var wanted []string
	for _, t := range want {
		wanted = append(wanted, "SELECT "+columns(t, false)+" FROM ("+t.sql+")")
	}
	none := "SELECT " + columns(first, false) + " FROM (SELECT NULL AS id, NULL AS value, NULL AS part) WHERE false"
	have, all := none, none
	if source != "" {
		have = "SELECT " + columns(first, true) + " FROM (" + source + ")"
	}
	if len(wanted) > 0 {
		all = strings.Join(wanted, " UNION ALL ")
	}
	missing := fmt.Sprintf("SELECT 'missing' AS what, * FROM ((%s) EXCEPT ALL (%s))", all, have)
	extra := fmt.Sprintf("SELECT 'not written' AS what, * FROM ((%s) EXCEPT ALL (%s))", have, all)
	rows, err := duckdb.Query(ctx, "SELECT *, count(*) OVER () AS n FROM ("+missing+" UNION ALL "+extra+") ORDER BY ALL LIMIT 2")
	if ctx.Err() != nil {
		return &broken{context.Cause(ctx)}
	}
	if err != nil {
		return wrongf("its files cannot be read: %s", strings.Join(strings.Fields(err.Error()), " "))
	}
	return differs(rows)
}

// differs says what a comparison has found.
func differs(rows [][]*string) error {
	if len(rows) == 0 {
		return nil
	}
	var found []string
	for _, row := range rows {
		var values []string
		for _, v := range row[1 : len(row)-1] {
			values = append(values, shown(v))
		}
		found = append(found, fmt.Sprintf("%s: (%s)", shown(row[0]), strings.Join(values, ", ")))
	}
	return wrongf("%s rows differ, as %s", shown(rows[0][len(rows[0])-1]), strings.Join(found, " and "))
}

// shown is a value on one line.
func shown(v *string) string {
	if v == nil {
		return "NULL"
	}
	text := strings.Map(func(r rune) rune {
		if r < ' ' {
			return '·'
		}
		return r
	}, *v)
	if len(text) > 60 {
		text = strings.ToValidUTF8(text[:60], "") + "…"
	}
	return text
}

// columns are those of a table as texts. What was read is cast to the column's type first, so that 1.50 is 1.5; what cannot be
// stays as it is, and differs.
func columns(t table, read bool) string {
	one := func(name, kind string) string {
		if !read {
			return name + "::" + kind + "::VARCHAR AS " + name
		}
		return fmt.Sprintf("coalesce(TRY_CAST(%s AS %s)::VARCHAR, %[1]s::VARCHAR) AS %[1]s", name, kind)
	}
	list := one("id", "BIGINT") + ", " + one("value", t.valueType())
	if t.part {
		list += ", " + one("part", "VARCHAR")
	}
	return list
}

// leftovers lists what a finished project must not have left: staged files.
func (p *project) leftovers() (names []string, err error) {
	err = filepath.WalkDir(filepath.Join(p.k.Scratch, p.name), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(path, ".staged") {
			names = append(names, filepath.Base(path))
		}
		return err
	})
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, &broken{err}
	}
	return names, nil
}
