"""Reads a Delta table as delta-rs does, and again with DuckDB over the files and partition values that the log names: both must
give the same rows, and what the log says of its files must be true of them."""

import json
import os
import urllib.parse

import deltalake
import duckdb
import pyarrow as pa

import deltatext


def lines(table):
    return deltatext.lines(table.to_pylist())


def by_delta_rs(table):
    query = deltalake.QueryBuilder().register("t", table)
    return pa.table(query.execute("SELECT * FROM t").read_all())


def log(path):
    """The live files by the JSON commits alone, for tables whose log has them all."""
    live, folder = {}, os.path.join(path, "_delta_log")
    names = sorted(n for n in os.listdir(folder) if n.endswith(".json") and n[:20].isdigit())
    if [int(n[:20]) for n in names] != list(range(len(names))):
        raise ValueError(f"the log has a hole: {names}")
    for name in names:
        with open(os.path.join(folder, name), encoding="utf-8") as f:
            actions = [json.loads(line) for line in f.read().split("\n") if line]
        for action in actions:
            if "remove" in action:
                live.pop(action["remove"]["path"], None)
        for action in actions:
            if "add" in action:
                live[action["add"]["path"]] = action["add"]
    return live


def by_duckdb(table, path, live):
    schema = pa.schema(pa.schema(table.schema().to_arrow()))
    con = duckdb.connect()
    con.sql("SET TimeZone = 'UTC'")
    parts = []
    for name, add in live.items():
        file = os.path.join(path, urllib.parse.unquote(name))
        rows = pa.table(con.read_parquet(file, hive_partitioning=False).to_arrow_table())
        stats = json.loads(add["stats"], parse_float=str, parse_int=str)  # no number passes through floating point
        if str(rows.num_rows) != stats["numRecords"]:
            raise ValueError(f"{name} has {rows.num_rows} rows, and the log says {add['stats']}")
        honest(name, rows, stats)
        columns = []
        for field in schema:
            if field.name in add["partitionValues"]:
                value = add["partitionValues"][field.name]
                columns.append(pa.array([value] * rows.num_rows, pa.string()).cast(field.type))
            elif field.name in rows.column_names:
                columns.append(rows.column(field.name).cast(field.type))
            else:
                columns.append(pa.nulls(rows.num_rows, field.type))
        parts.append(pa.table(columns, schema=pa.schema([pa.field(f.name, f.type) for f in schema])))
    return parts


def honest(name, rows, stats):
    """Every value of a file lies between the bounds that its statistics have, and its NULLs are counted right."""
    for column, nulls in stats.get("nullCount", {}).items():
        if str(rows.column(column).null_count) != nulls:
            raise ValueError(f"{name}: {column} has {rows.column(column).null_count} NULLs, not {nulls}")
    for kind, wrong in (("minValues", lambda v, b: v < b), ("maxValues", lambda v, b: v > b)):
        for column, bound in stats.get(kind, {}).items():
            array = rows.column(column)
            bound = pa.array([bound]).cast(array.type)[0].as_py()
            for value in array.to_pylist():
                if value is not None and value == value and wrong(value, bound):
                    raise ValueError(f"{name}: {column} has {value!r}, outside of its {kind} {bound!r}")


def rows(path):
    if not os.path.isdir(os.path.join(path, "_delta_log")):
        return []
    table = deltalake.DeltaTable(path)
    first = lines(by_delta_rs(table))
    second = sorted(line for part in by_duckdb(table, path, log(path)) for line in lines(part))
    if first != second:
        raise ValueError(f"delta-rs and DuckDB read different rows:\n{first}\n{second}")
    return first
