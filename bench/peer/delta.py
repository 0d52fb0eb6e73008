"""What deltalake (delta-rs) does for the rows of `make bench` that are about Delta tables.

delta.py write FILE TABLE     writes the rows of a Parquet file, which are in memory before; prints the nanoseconds
delta.py history TABLE N M    makes a table of N commits and M files that are not there, with a checkpoint
delta.py open TABLE           opens a table; prints the nanoseconds
delta.py merge FILE TABLE     merges the rows of a Parquet file by id; prints the nanoseconds
"""

import json
import os
import sys
import time

import pyarrow.parquet as parquet
from deltalake import DeltaTable, write_deltalake


def timed(work):
    begun = time.perf_counter_ns()
    work()
    print(time.perf_counter_ns() - begun)


def write(file, table):
    rows = parquet.read_table(file)
    timed(lambda: write_deltalake(table, rows, partition_by=["day"], mode="append"))


def history(table, commits, files):
    log = os.path.join(table, "_delta_log")
    os.makedirs(log)
    fields = [{"name": "id", "type": "long", "nullable": True, "metadata": {}}, {"name": "day", "type": "string", "nullable": True, "metadata": {}}]
    schema = json.dumps({"type": "struct", "fields": fields})
    metadata = {"id": "bench", "format": {"provider": "parquet", "options": {}}, "schemaString": schema, "partitionColumns": ["day"], "configuration": {}}
    first = [{"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}, {"metaData": metadata}]
    for version in range(commits):
        actions = first if version == 0 else []
        for i in range(files * version // commits, files * (version + 1) // commits):
            stats = json.dumps({"numRecords": 100, "minValues": {"id": 100 * i}, "maxValues": {"id": 100 * i + 99}, "nullCount": {"id": 0}})
            path, day = f"day={i % 365}/part-{i:08d}.parquet", str(i % 365)
            actions.append({"add": {"path": path, "partitionValues": {"day": day}, "size": 4096, "modificationTime": 1767225600000 + version, "dataChange": True, "stats": stats}})
        with open(os.path.join(log, f"{version:020d}.json"), "w") as commit:
            commit.writelines(json.dumps(a) + "\n" for a in actions)
        if version == commits - 6:  # as many commits come after a checkpoint on average
            DeltaTable(table).create_checkpoint()


def merge(file, table):
    rows = parquet.read_table(file)

    def work():
        merger = DeltaTable(table).merge(rows, "t.id = s.id", source_alias="s", target_alias="t")
        merger.when_matched_update_all().when_not_matched_insert_all().execute()

    timed(work)


if __name__ == "__main__":
    what, rest = sys.argv[1], sys.argv[2:]
    if what == "write":
        write(*rest)
    elif what == "history":
        history(rest[0], int(rest[1]), int(rest[2]))
    elif what == "open":
        timed(lambda: DeltaTable(rest[0]))
    elif what == "merge":
        merge(*rest)
    else:
        sys.exit(__doc__)
