package duckdb

import (
	"context"
	"maps"
	"strings"

	"github.com/ubunye-io/ubunye/engine/compute"
)

// encodedOptions turns the options of Encode into those that read what it wrote.
func encodedOptions(format string, given map[string]string) map[string]string {
	if format == "parquet" {
		return nil
	}
	read := map[string]string{"partitions": "true", "empty_files": "skip"} // an empty json file has no rows
	maps.Copy(read, given)
	delete(read, "compression") // the files' names tell it
	if format == "csv" {
		read["quoted_null"] = "false"
		if _, ok := given["escape"]; !ok && given["quote"] != "" {
			read["escape"] = given["quote"]
		}
	}
	return read
}

// openEncoded opens what Encode wrote. Columns of a type that the format has no own reading of are read as what Encode
// made of them, and get their type back.
func openEncoded(ctx context.Context, in compute.Input, open opener) (*input, string, error) {
	in.Options = encodedOptions(in.Format, in.Options)
	items := make([]string, len(in.Columns))
	wanted := in.Columns
	in.Columns = make([]compute.Column, len(wanted))
	again := false
	for i, c := range wanted {
		in.Columns[i] = compute.Column{Name: c.Name, Type: encodedType(in, c.Type)}
		items[i] = quote(c.Name)
		if in.Columns[i].Type != c.Type {
			again = true
			items[i] = "CAST(" + quote(c.Name) + " AS " + c.Type + ") AS " + quote(c.Name)
		}
	}
	opened, query, err := open(ctx, in, nil)
	if err == nil && again {
		query = "SELECT " + strings.Join(items, ", ") + " FROM (" + query + ")"
	}
	return opened, query, err
}

// encodedType is the type that a column is read as: its own, if the format has a reading of it.
func encodedType(in compute.Input, typ string) string {
	base, _, _ := strings.Cut(typ, "(")
	switch {
	case in.Format == "parquet":
		return typ // parquetQuery casts what the files hold
	case typ == "TIMESTAMP_S", typ == "TIMESTAMP_MS", typ == "TIMESTAMP_NS" && in.Options["timestamp_format"] != "":
		return "TIMESTAMP"
	case strings.HasSuffix(typ, "]"), base == "STRUCT", base == "MAP", typ == "JSON":
		if in.Format == "json" {
			return nestedJSON(typ)
		}
		return "VARCHAR"
	case typ == "TIMESTAMP_NS", base == "ENUM", base == "BIT", base == "BIGNUM":
		return "VARCHAR"
	}
	return typ
}

// nestedJSON is the type that a value with parts is read as: JSON of any shape if one of its parts has no reading of its own.
func nestedJSON(typ string) string {
	for _, part := range []string{"ENUM(", "TIMESTAMP_", "BIT", "BIGNUM"} {
		if strings.Contains(typ, part) {
			return "JSON"
		}
	}
	if i := strings.LastIndexByte(typ, '['); i >= 0 && typ[i:] != "[]" {
		return "JSON" // of a fixed length
	}
	return typ
}

// noRows is the SQL of a relation that has columns alone.
func noRows(columns []compute.Column) string {
	items := make([]string, len(columns))
	for i, c := range columns {
		items[i] = "CAST(NULL AS " + c.Type + ") AS " + quote(c.Name)
	}
	return "SELECT " + strings.Join(items, ", ") + " WHERE false"
}
