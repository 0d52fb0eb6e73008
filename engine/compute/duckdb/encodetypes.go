package duckdb

import (
	"fmt"
	"slices"
	"strings"

	driverduckdb "github.com/duckdb/duckdb-go/v2"
)

// parquetExpr gives the SQL of a column whose values DuckDB's Parquet files hold without loss, in a form that other
// readers take:
//
//   - HUGEINT, which every sum of integers is, becomes DECIMAL(38,0), because DuckDB would write DOUBLE; a value beyond fails.
//   - A list of a fixed length becomes a list: DuckDB writes elements for a NULL too, which pyarrow refuses to read.
//   - JSON becomes text: polars takes the annotation JSON for bytes.
func parquetExpr(column string, info driverduckdb.TypeInfo) (string, error) {
	typ, kept, err := parquetType(info)
	if err != nil || kept {
		return column, err
	}
	return "CAST(" + column + " AS " + typ + ")", nil
}

// parquetTypes are the types without parts that Parquet files hold, and what is stored for each.
var parquetTypes = map[driverduckdb.Type]string{
	driverduckdb.TYPE_BOOLEAN: "BOOLEAN", driverduckdb.TYPE_TINYINT: "TINYINT", driverduckdb.TYPE_SMALLINT: "SMALLINT",
	driverduckdb.TYPE_INTEGER: "INTEGER", driverduckdb.TYPE_BIGINT: "BIGINT", driverduckdb.TYPE_UTINYINT: "UTINYINT",
	driverduckdb.TYPE_USMALLINT: "USMALLINT", driverduckdb.TYPE_UINTEGER: "UINTEGER", driverduckdb.TYPE_UBIGINT: "UBIGINT",
	driverduckdb.TYPE_FLOAT: "FLOAT", driverduckdb.TYPE_DOUBLE: "DOUBLE", driverduckdb.TYPE_VARCHAR: "VARCHAR", driverduckdb.TYPE_BLOB: "BLOB",
	driverduckdb.TYPE_DATE: "DATE", driverduckdb.TYPE_TIME: "TIME", driverduckdb.TYPE_TIMESTAMP: "TIMESTAMP", driverduckdb.TYPE_TIMESTAMP_TZ: "TIMESTAMPTZ",
	driverduckdb.TYPE_TIMESTAMP_S: "TIMESTAMP_S", driverduckdb.TYPE_TIMESTAMP_MS: "TIMESTAMP_MS", driverduckdb.TYPE_TIMESTAMP_NS: "TIMESTAMP_NS",
	driverduckdb.TYPE_UUID: "UUID", driverduckdb.TYPE_ENUM: "VARCHAR", driverduckdb.TYPE_SQLNULL: "INTEGER",
	driverduckdb.TYPE_HUGEINT: "DECIMAL(38,0)", driverduckdb.TYPE_UHUGEINT: "DECIMAL(38,0)",
	driverduckdb.TYPE_BIT: "VARCHAR", driverduckdb.TYPE_BIGNUM: "VARCHAR",
}

// parquetCast are the types of parquetTypes that DuckDB would store as something else.
var parquetCast = []driverduckdb.Type{driverduckdb.TYPE_HUGEINT, driverduckdb.TYPE_UHUGEINT, driverduckdb.TYPE_BIT, driverduckdb.TYPE_BIGNUM}

// parquetType gives the type that is stored; kept tells that values need no cast to it.
func parquetType(info driverduckdb.TypeInfo) (typ string, kept bool, err error) {
	switch d := info.Details().(type) {
	case *driverduckdb.ListDetails:
		typ, kept, err = parquetType(d.Child)
		return typ + "[]", kept, err
	case *driverduckdb.ArrayDetails:
		typ, _, err = parquetType(d.Child)
		return typ + "[]", false, err
	case *driverduckdb.MapDetails:
		key, keptKey, err := parquetType(d.Key)
		if err != nil {
			return "", false, err
		}
		value, keptValue, err := parquetType(d.Value)
		return "MAP(" + key + ", " + value + ")", keptKey && keptValue, err
	case *driverduckdb.StructDetails:
		members, all := make([]string, len(d.Entries)), true
		for i, entry := range d.Entries {
			part, kept, err := parquetType(entry.Info())
			if err != nil {
				return "", false, err
			}
			members[i], all = quote(entry.Name())+" "+part, all && kept
		}
		return "STRUCT(" + strings.Join(members, ", ") + ")", all, nil
	case *driverduckdb.DecimalDetails:
		return fmt.Sprintf("DECIMAL(%d,%d)", d.Width, d.Scale), true, nil
	}
	typ, ok := parquetTypes[info.InternalType()]
	if !ok {
		return "", false, invalid("", fmt.Sprintf("files cannot hold %s exactly", typeText(info)), "cast it in a step")
	}
	return typ, info.Alias() != "JSON" && !slices.Contains(parquetCast, info.InternalType()), nil
}

// foreignTo are the values of times that DuckDB alone reads as what they are, as its statistics spell them.
var foreignTo = map[string]string{
	"infinity": "infinity, which other readers take for a day", "-infinity": "-infinity, which other readers take for a day",
	"24:00:00": "24:00:00, which other readers take for NULL or midnight",
}

// checkTimes refuses a file by its smallest and largest values: dates and timestamps are finite, and a time of day is
// before 24:00. Asking so costs nothing a row.
func (e *encoding) checkTimes(stats driverduckdb.OrderedMap) error {
	for i, c := range e.columns {
		if e.isPartition(c.Name) {
			continue
		}
		if found := foreignTime(quote(c.Name), e.infos[i], stats); found != "" {
			return invalid(c.Name, "it holds "+foreignTo[found], fmt.Sprintf("replace it in a step, as nullif(x, '%s')", found))
		}
	}
	return nil
}

// foreignTime looks for a value of foreignTo in a column, or in the parts of one; empty: there is none.
func foreignTime(path string, info driverduckdb.TypeInfo, stats driverduckdb.OrderedMap) string {
	switch d := info.Details().(type) {
	case *driverduckdb.ListDetails:
		return foreignTime(path+`."element"`, d.Child, stats)
	case *driverduckdb.ArrayDetails:
		return foreignTime(path+`."element"`, d.Child, stats)
	case *driverduckdb.MapDetails:
		if found := foreignTime(path+`."key"`, d.Key, stats); found != "" {
			return found
		}
		return foreignTime(path+`."value"`, d.Value, stats)
	case *driverduckdb.StructDetails:
		for _, entry := range d.Entries {
			if found := foreignTime(path+"."+quote(entry.Name()), entry.Info(), stats); found != "" {
				return found
			}
		}
		return ""
	}
	v, _ := stats.Get(path)
	m, isMap := v.(driverduckdb.OrderedMap)
	if !isMap || !temporal(info) {
		return ""
	}
	for _, key := range []string{"min", "max"} {
		if text, _ := statOf(m, key); foreignTo[text] != "" {
			return text
		}
	}
	return ""
}

func temporal(info driverduckdb.TypeInfo) bool {
	switch info.InternalType() {
	case driverduckdb.TYPE_DATE, driverduckdb.TYPE_TIME, driverduckdb.TYPE_TIMESTAMP, driverduckdb.TYPE_TIMESTAMP_TZ,
		driverduckdb.TYPE_TIMESTAMP_S, driverduckdb.TYPE_TIMESTAMP_MS, driverduckdb.TYPE_TIMESTAMP_NS:
		return true
	}
	return false
}
