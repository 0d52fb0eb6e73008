"""Writes to Delta tables as delta-rs does:

    make PATH JSON           a table: {"columns": [[NAME, TYPE, NULLABLE]], "partition_by": [...], "properties": {...},
                             "constraints": {NAME: SQL}, "rows": [...]}
    append PATH N FIRST      N commits of one row each, {"id": FIRST + i, "v": "theirs"}
    overwrite PATH JSON      rows in place of all
    delete PATH SQL          rows that meet a condition"""

import json
import sys

import deltalake
import pyarrow as pa


def arrow(schema, rows):
    return pa.Table.from_pylist(rows, schema=schema)


def make(path, spec):
    schema = pa.schema([pa.field(name, getattr(pa, typ)(), nullable) for name, typ, nullable in spec["columns"]])
    deltalake.write_deltalake(path, arrow(schema, spec.get("rows", [])), partition_by=spec.get("partition_by"), configuration=spec.get("properties"))
    table = deltalake.DeltaTable(path)
    if spec.get("constraints"):
        table.alter.add_constraint(spec["constraints"])


def append(path, n, first):
    schema = pa.schema([("id", pa.int64()), ("v", pa.string())])
    for i in range(n):
        deltalake.write_deltalake(path, arrow(schema, [{"id": first + i, "v": "theirs"}]), mode="append")


def overwrite(path, rows):
    table = deltalake.DeltaTable(path)
    deltalake.write_deltalake(table, arrow(pa.schema(table.schema().to_arrow()), rows), mode="overwrite")


def main(verb, path, *args):
    match verb:
        case "make":
            make(path, json.loads(args[0]))
        case "append":
            append(path, int(args[0]), int(args[1]))
        case "overwrite":
            overwrite(path, json.loads(args[0]))
        case "delete":
            deltalake.DeltaTable(path).delete(args[0])


if __name__ == "__main__":
    main(*sys.argv[1:])
