package duckdb

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/ubunye-io/ubunye/engine/compute"
)

// fileColumn holds the path of the file that a row is from, where it is asked for.
const fileColumn = "\x01file"

// pathColumns are the columns of a text input that stand in the names of folders.
type pathColumns struct {
	root string
	keys []partitionKey
}

// splitColumns finds the key=value folders of a text input, and gives those of the declared columns that the files have.
// Without a declaration every key is a column.
func splitColumns(declared []compute.Column, f found) (files []compute.Column, paths pathColumns, err error) {
	keys, err := partitionKeys(f)
	if err != nil {
		return nil, paths, err
	}
	paths.root = f.root
	if len(declared) == 0 {
		paths.keys = keys
		return nil, paths, nil
	}
	for _, c := range declared {
		key := -1
		for i, k := range keys {
			if strings.EqualFold(c.Name, k.name) {
				key = i
			}
		}
		if key < 0 {
			files = append(files, c)
			continue
		}
		k := keys[key]
		k.name, k.typ = c.Name, c.Type
		paths.keys = append(paths.keys, k)
	}
	if len(files) == 0 {
		return nil, paths, &compute.Error{Kind: compute.BadOption, Message: "columns: every one stands in the names of folders, and none in the files", Hint: "declare a column of the files too"}
	}
	return files, paths, nil
}

// checkFolders finds a value in the names of folders that its column's type does not hold as it is written.
func (s *session) checkFolders(ctx context.Context, keys []partitionKey) error {
	for _, k := range keys {
		if k.empty || k.typ == "VARCHAR" {
			continue
		}
		values := slices.Sorted(maps.Keys(k.files))
		texts := make([]string, len(values))
		for i, v := range values {
			texts[i] = literal(v)
		}
		wrong := "TRY_CAST(v AS " + k.typ + ") IS NULL"
		if f, err := fitFor("v", k.typ, csvOptions{decimal: "."}); err == nil {
			wrong = f.misfits()
		}
		bad, found := "", false
		err := s.queryAll(ctx, "SELECT v FROM unnest(["+strings.Join(texts, ", ")+"]) AS t(v) WHERE "+wrong+" ORDER BY v LIMIT 1", nil, func(rows *sql.Rows) error {
			found = true
			return rows.Scan(&bad)
		})
		if err != nil {
			return s.fail(ctx, err, "looking at the names of folders failed")
		}
		if found {
			return &compute.Error{Kind: compute.InputInvalid, File: k.files[bad], Column: k.name, Message: fmt.Sprintf("%s, in the name of its folder, is not %s %s", shorten(bad), article(k.typ), k.typ),
				Hint: "rename the folder, or declare the column as varchar"}
		}
	}
	return nil
}

// clash finds a column that stands in the files too.
func (p pathColumns) clash(columns []compute.Column, file string) error {
	for _, k := range p.keys {
		for _, c := range columns {
			if strings.EqualFold(c.Name, k.name) {
				return &compute.Error{Kind: compute.InputInvalid, File: file, Column: k.name, Message: "it stands in the files and in the folders' names", Hint: "set the option partitions to false to read the files' own"}
			}
		}
	}
	return nil
}

// option makes a reading function give the path of the file.
func (p pathColumns) option() string {
	if len(p.keys) == 0 {
		return ""
	}
	return ", filename = " + literal(fileColumn)
}

// items are the columns' SQL with their names, over rows with their file.
func (p pathColumns) items() map[string]string {
	items := p.values()
	for _, k := range p.keys {
		items[strings.ToLower(k.name)] += " AS " + quote(k.name)
	}
	return items
}

// values are the columns' SQL.
func (p pathColumns) values() map[string]string {
	items := map[string]string{}
	for _, k := range p.keys {
		below := fmt.Sprintf("substring(%s, %d)", quote(fileColumn), len([]rune(filepath.ToSlash(p.root)))+1)
		raw := fmt.Sprintf("regexp_extract(%s, %s, 2)", below, literal(`(^|/)`+regexp.QuoteMeta(k.raw)+`=([^/]*)/`))
		items[strings.ToLower(k.name)] = fmt.Sprintf("CAST(CASE WHEN %[1]s <> %[2]s THEN url_decode(%[1]s) END AS %[3]s)", raw, literal(nullPartition), k.typ)
	}
	return items
}

// selectItems puts the items of the files' columns and those of the folders into the order of the declaration; without one, the
// folders come last.
func (p pathColumns) selectItems(declared, columns []compute.Column, items []string) string {
	if len(p.keys) == 0 {
		return strings.Join(items, ", ")
	}
	all := p.items()
	order := declared
	if len(order) == 0 {
		order = append(order, columns...)
		for _, k := range p.keys {
			order = append(order, compute.Column{Name: k.name})
		}
	}
	for i, c := range columns {
		all[strings.ToLower(c.Name)] = items[i]
	}
	out := make([]string, len(order))
	for i, c := range order {
		out[i] = all[strings.ToLower(c.Name)]
	}
	return strings.Join(out, ", ")
}
