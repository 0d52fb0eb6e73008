"""Reads what a run has left, as a reader that is not ours: folders of Parquet files with pyarrow, CSV
files with Python's own module. It answers one request a line, so that a thousand checks start one process:

    {"kind": "parquet", "path": FOLDER}
    {"kind": "csv", "path": FILE, "where": {COLUMN: TEXT}}

The answer is {"rows": [...]}, or {"error": TEXT}: each row as JSON with sorted keys, every value as text,
NULL as null; the rows are sorted."""

import csv
import json
import os
import sys

import pyarrow.dataset as ds


def text(value):
    return None if value is None else str(value)


def parquet_rows(folder):
    if not os.path.isdir(folder):
        return []
    # As readers do: hidden names and names with "_" in front are no data; all other files must be Parquet.
    data = ds.dataset(folder, format="parquet", partitioning="hive")
    return [{k: text(v) for k, v in row.items()} for row in data.to_table().to_pylist()]


def csv_rows(path, where):
    with open(path, newline="", encoding="utf-8") as f:
        rows = list(csv.DictReader(f))
    return [r for r in rows if all(r[k] == v for k, v in where.items())]


def answer(request):
    if request["kind"] == "parquet":
        rows = parquet_rows(request["path"])
    else:
        rows = csv_rows(request["path"], request.get("where") or {})
    return {"rows": sorted(json.dumps(r, sort_keys=True, ensure_ascii=False) for r in rows)}


def main():
    for line in sys.stdin:
        try:
            reply = answer(json.loads(line))
        except Exception as e:  # whatever went wrong is the test's to tell
            reply = {"error": f"{type(e).__name__}: {e}"}
        print(json.dumps(reply), flush=True)


main()
