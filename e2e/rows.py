"""Reads the rows of a folder of Parquet files with pyarrow, as any reader of the folder would, and
prints them as sorted JSON lines: every column as text, NULL as null. Also prints, with --csv, the rows
that a CSV file holds, so that both can be compared."""

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


def main():
    kind, path, *where = sys.argv[1:]
    if kind == "parquet":
        rows = parquet_rows(path)
    else:
        rows = csv_rows(path, dict(w.split("=", 1) for w in where))
    for line in sorted(json.dumps(r, sort_keys=True, ensure_ascii=False) for r in rows):
        print(line)


main()
