"""Leaves what Ubunye (Python) leaves of a batch that it has finished: its files, written by pyarrow, and its note, whose name and
text are made by Python's own json. The argument is {"root", "task", "variables", "run_id", "finished_at", "files": {PATH: CSV FILE},
"outputs": {NAME: {"claimed": [...]}}}; paths are those of this process."""

import hashlib
import json
import os
import sys

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

a = json.loads(sys.argv[1])
types = {"id": pa.int64(), "amount": pa.decimal128(18, 2), "dt": pa.string()}
for path, source in a["files"].items():
    os.makedirs(os.path.dirname(path), exist_ok=True)
    table = pyarrow.csv.read_csv(source, convert_options=pyarrow.csv.ConvertOptions(column_types=types))
    pq.write_table(table.drop_columns(["dt"]), path)

key = hashlib.sha256(json.dumps({"task": a["task"], "variables": a["variables"]}, sort_keys=True).encode()).hexdigest()[:16]
note = os.path.join(a["root"], ".ubunye", "leases", a["task"], key + ".finished.json")
os.makedirs(os.path.dirname(note), exist_ok=True)
with open(note, "w") as f:
    json.dump({k: a[k] for k in ("run_id", "task", "finished_at", "outputs")}, f)
print(note)
