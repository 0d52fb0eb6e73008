"""Reads what a run has left, as readers that are not ours. It answers one request a line, so that a thousand checks start
one process:

    {"kind": "parquet", "path": FOLDER}                     a folder of Parquet files, with pyarrow
    {"kind": "parquet", "path": FOLDER, "columns": [...]}   some columns of it
    {"kind": "csv" or "json", "path": FOLDER}               a folder of such files, with Python's own modules
    {"kind": …, "path": FOLDER, "types": {COLUMN: TYPE}}    the same with pyarrow's, given the types
    {"kind": "csv", …, "escape": SIGN}                      the same of files that have an escape of their own
    {"kind": "csv", "path": FILE, "where": {COLUMN: TEXT}}  one file
    {"reader": "pyarrow", "polars" or "duckdb", "kind": …, "path": FOLDER, "columns": [[COLUMN, SQL TYPE]]}
                                                            what that reader makes of each column; see typed.py. With
                                                            "folders": true they are in the names of folders
    {"kind": "xlsx", "path": FOLDER}                        Excel workbooks, with openpyxl; the columns are in their order
    {"kind": "delta", "path": FOLDER}                       a Delta table, with delta-rs and DuckDB; see deltatable.py
    {"kind": "delta-rs", "path": FOLDER}                    the same with delta-rs alone
    {"prune": "pyarrow", "polars" or "duckdb", …}           what that reader's filters do not find; see prune.py

The answer is {"rows": [...]}, or {"error": TEXT}: each row as JSON with sorted keys, every value as text,
NULL as null; the rows are sorted. Partition folders are columns. An empty text of a csv file is what it is: Python's module
cannot tell it from NULL."""

import csv
import io
import json
import os
import sys
import urllib.parse

import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset as ds
import pyarrow.json


def text(value):
    if value is None or isinstance(value, (str, list, dict)):
        return value
    return json.dumps(value) if isinstance(value, bool) else str(value)


def parquet_rows(folder, columns=None):
    if not os.path.isdir(folder):
        return []
    # As readers do: hidden names and names with "_" in front are no data; all other files must be Parquet.
    # The columns of folders are text: pyarrow finds no type for those that are NULL everywhere.
    keys = {urllib.parse.unquote(part.split("=", 1)[0]): None for base, _, _ in os.walk(folder) for part in os.path.relpath(base, folder).split(os.sep) if "=" in part}
    data = ds.dataset(folder, format="parquet", partitioning=ds.partitioning(pa.schema([(k, pa.string()) for k in keys]), flavor="hive"))
    return [{k: text(v) for k, v in row.items()} for row in data.to_table(columns=columns).to_pylist()]


def data_files(folder):
    """The files that a reader of the folder takes for data, each with the columns that stand in the names of folders."""
    for base, folders, names in os.walk(folder):
        folders[:] = [f for f in folders if f[0] not in "._"]
        parts = [p.split("=", 1) for p in os.path.relpath(base, folder).split(os.sep) if "=" in p]
        columns = {urllib.parse.unquote(k): urllib.parse.unquote(v) for k, v in parts}
        columns = {k: None if v == "__HIVE_DEFAULT_PARTITION__" else v for k, v in columns.items()}
        for name in names:
            if name[0] not in "._":
                yield os.path.join(base, name), columns


def opened(path):
    compression = {".gz": "gzip", ".zst": "zstd"}.get(os.path.splitext(path)[1])
    return pa.input_stream(path, compression=compression)


def text_rows(kind, folder, types, escape):
    rows = []
    for path, columns in data_files(folder):
        if types is not None:
            found = pyarrow_rows(kind, path, types, escape)
        else:
            # A text layer would put a line end of its own in place of those in values.
            lines = io.TextIOWrapper(opened(path), encoding="utf-8", newline="")
            found = list(csv.DictReader(lines, strict=True, escapechar=escape, doublequote=not escape)) if kind == "csv" else json_objects(lines.read())
        rows += [{k: text(v) for k, v in (row | columns).items()} for row in found]
    return rows


def json_objects(source):
    exact = {"parse_float": str, "parse_int": str}
    if source.lstrip().startswith("["):
        return json.loads(source, **exact)
    return [json.loads(line, **exact) for line in source.split("\n") if line]


def pyarrow_rows(kind, path, types, escape):
    schema = pa.schema([(name, eval(typ, {"pa": pa})) for name, typ in types.items()])
    if kind == "csv":
        convert = pa.csv.ConvertOptions(column_types=schema, strings_can_be_null=True, quoted_strings_can_be_null=False)
        table = pa.csv.read_csv(opened(path), parse_options=pa.csv.ParseOptions(newlines_in_values=True, escape_char=escape or False, double_quote=not escape), convert_options=convert)
    elif opened(path).read(1) == b"":
        return []  # pyarrow.json knows no file without rows
    else:
        table = pa.json.read_json(opened(path), parse_options=pa.json.ParseOptions(explicit_schema=schema))
    return table.to_pylist()


def csv_rows(path, where):
    with open(path, newline="", encoding="utf-8") as f:
        rows = list(csv.DictReader(f))
    return [r for r in rows if all(r[k] == v for k, v in where.items())]


def xlsx_rows(folder):
    import openpyxl

    found = []
    for name in sorted(os.listdir(folder)):
        if name.startswith(("_", ".")):
            continue
        book = openpyxl.load_workbook(os.path.join(folder, name))
        for sheet in book:
            header, *rows = sheet.iter_rows(values_only=True)
            found += [{"sheet": sheet.title} | {k: None if v is None else str(v) for k, v in zip(header, row)} for row in rows]
    return [json.dumps(r, ensure_ascii=False) for r in found]


def answer(request):
    kind, path = request.get("kind"), request["path"]
    if "prune" in request:
        import prune

        return {"rows": prune.lost(request["prune"], path)}
    if "reader" in request:
        import typed  # the readers that it needs take their time to load

        readers = typed.PARTITIONS if request.get("folders") else typed.READERS
        return {"rows": [json.dumps(typed.column(request["reader"], kind, path, c, t, readers), ensure_ascii=False) for c, t in request["columns"]]}
    if kind == "xlsx":
        return {"rows": xlsx_rows(path)}
    if kind in ("delta", "delta-rs"):
        import deltatable

        return {"rows": deltatable.rows(path) if kind == "delta" else deltatable.lines(deltatable.by_delta_rs(deltatable.deltalake.DeltaTable(path)))}
    if kind == "parquet":
        rows = parquet_rows(path, request.get("columns"))
    elif os.path.isfile(path):
        rows = csv_rows(path, request.get("where") or {})
    else:
        rows = text_rows(kind, path, request.get("types"), request.get("escape"))
    return {"rows": sorted(json.dumps(r, sort_keys=True, ensure_ascii=False) for r in rows)}


def main():
    for line in sys.stdin:
        try:
            reply = answer(json.loads(line))
        except Exception as e:  # whatever went wrong is the test's to tell
            reply = {"error": f"{type(e).__name__}: {e}"}
        print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main()
