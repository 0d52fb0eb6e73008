package duckdb

import (
	"fmt"
	"slices"

	driverduckdb "github.com/duckdb/duckdb-go/v2"
)

// exactOutside are the types whose values come back from Arrow, and as text, as they were.
var exactOutside = []driverduckdb.Type{
	driverduckdb.TYPE_BOOLEAN, driverduckdb.TYPE_TINYINT, driverduckdb.TYPE_SMALLINT, driverduckdb.TYPE_INTEGER, driverduckdb.TYPE_BIGINT,
	driverduckdb.TYPE_UTINYINT, driverduckdb.TYPE_USMALLINT, driverduckdb.TYPE_UINTEGER, driverduckdb.TYPE_UBIGINT,
	driverduckdb.TYPE_FLOAT, driverduckdb.TYPE_DOUBLE, driverduckdb.TYPE_DECIMAL, driverduckdb.TYPE_VARCHAR, driverduckdb.TYPE_BLOB,
	driverduckdb.TYPE_DATE, driverduckdb.TYPE_TIME, driverduckdb.TYPE_TIMESTAMP, driverduckdb.TYPE_TIMESTAMP_TZ, driverduckdb.TYPE_TIMESTAMP_S,
	driverduckdb.TYPE_TIMESTAMP_MS, driverduckdb.TYPE_TIMESTAMP_NS, driverduckdb.TYPE_UUID, driverduckdb.TYPE_ENUM, driverduckdb.TYPE_SQLNULL,
}

// exactExpr gives the SQL that hands out a column without loss. DuckDB would write HUGEINT, which every sum of
// integers is, as DOUBLE: it becomes DECIMAL(38,0), and a value beyond that fails. Types that have no exact form
// in files are refused.
func exactExpr(column string, info driverduckdb.TypeInfo) (string, error) {
	switch info.InternalType() {
	case driverduckdb.TYPE_HUGEINT, driverduckdb.TYPE_UHUGEINT:
		return "CAST(" + column + " AS DECIMAL(38,0))", nil
	case driverduckdb.TYPE_BIT, driverduckdb.TYPE_BIGNUM:
		return "CAST(" + column + " AS VARCHAR)", nil
	}
	if inexact := firstInexact(info); inexact != nil {
		return "", invalid("", fmt.Sprintf("files cannot hold %s exactly", typeText(inexact)), "cast it in a step")
	}
	return column, nil
}

// firstInexact gives the first part of a type that files do not hold exactly; nil if there is none.
func firstInexact(info driverduckdb.TypeInfo) driverduckdb.TypeInfo {
	switch d := info.Details().(type) {
	case *driverduckdb.ListDetails:
		return firstInexact(d.Child)
	case *driverduckdb.ArrayDetails:
		return firstInexact(d.Child)
	case *driverduckdb.MapDetails:
		if bad := firstInexact(d.Key); bad != nil {
			return bad
		}
		return firstInexact(d.Value)
	case *driverduckdb.StructDetails:
		for _, entry := range d.Entries {
			if bad := firstInexact(entry.Info()); bad != nil {
				return bad
			}
		}
		return nil
	}
	if slices.Contains(exactOutside, info.InternalType()) {
		return nil
	}
	return info
}

// typeText names a type in a message.
func typeText(info driverduckdb.TypeInfo) string {
	switch info.InternalType() {
	case driverduckdb.TYPE_HUGEINT:
		return "HUGEINT inside a nested type"
	case driverduckdb.TYPE_UHUGEINT:
		return "UHUGEINT inside a nested type"
	case driverduckdb.TYPE_INTERVAL:
		return "INTERVAL"
	case driverduckdb.TYPE_TIME_TZ:
		return "TIME WITH TIME ZONE"
	case driverduckdb.TYPE_UNION:
		return "UNION"
	}
	return "a column of this type"
}
