"""Asks each reader for rows by a filter, once of the files, whose row groups it may then leave out by their statistics, and
once of rows in memory: what differs was lost. Each value that occurs is asked for by ==, <= and >=."""

import glob

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

OPERATORS = ["==", "<=", ">="]


def sample(values, most=4):
    """Some of the values that occur, the first and the last of them."""
    some = list({repr(v.as_py() if v.type not in (pa.timestamp("ns"),) else v.value): v for v in values if v.is_valid}.values())
    step = max(1, len(some) // most)
    return some[::step] + some[-1:]


def by_pyarrow(folder):
    data = ds.dataset(folder, format="parquet")
    whole = data.to_table()

    def ask(name, scalar, operator):
        asked = {"==": pc.field(name) == scalar, "<=": pc.field(name) <= scalar, ">=": pc.field(name) >= scalar}[operator]
        return data.to_table(columns=["id"], filter=asked)["id"].to_pylist(), whole.filter(asked)["id"].to_pylist()

    return ask


def by_polars(folder):
    files = folder + "/*.parquet"
    whole = pl.read_parquet(files)

    def ask(name, scalar, operator):
        value = pl.from_arrow(pa.array([scalar], scalar.type)).first()
        asked = {"==": pl.col(name) == value, "<=": pl.col(name) <= value, ">=": pl.col(name) >= value}[operator]
        return pl.scan_parquet(files).filter(asked).select("id").collect()["id"].to_list(), whole.filter(asked)["id"].to_list()

    return ask


def by_duckdb(folder):
    con = duckdb.connect()
    con.execute("SET TimeZone = 'UTC'")
    files = glob.glob(folder + "/*.parquet")
    con.execute("CREATE TABLE whole AS SELECT * FROM read_parquet(?)", [files])

    def ask(name, scalar, operator):
        value = con.from_arrow(pa.table({"v": pa.array([scalar], scalar.type)}))
        text, typ = value.select("CAST(v AS VARCHAR), typeof(v)").fetchall()[0]
        literal = "'" + text.replace("'", "''") + f"'::{typ}"
        if typ == "BLOB":
            literal = "'" + "".join(f"\\x{b:02X}" for b in scalar.as_py()) + "'::BLOB"
        where = f"WHERE {name} {'=' if operator == '==' else operator} {literal}"
        ids = con.execute(f"SELECT id FROM read_parquet(?) {where}", [files]).fetchall()
        return [i for (i,) in ids], [i for (i,) in con.execute(f"SELECT id FROM whole {where}").fetchall()]

    return ask


READERS = {"pyarrow": by_pyarrow, "polars": by_polars, "duckdb": by_duckdb}


def lost(reader, folder):
    """What a filter does not find, one text each."""
    data = ds.dataset(folder, format="parquet")
    groups = [f.metadata.row_group(i) for f in data.get_fragments() for i in range(f.metadata.num_row_groups)]
    if len(groups) < 4 or not all(g.column(0).statistics.has_min_max for g in groups):
        raise ValueError(f"{len(groups)} row groups, or one without statistics: nothing can be left out")
    ask, table, wrong, found = READERS[reader](folder), data.to_table(), [], 0
    for name in table.column_names[1:]:
        for scalar in sample(table[name].combine_chunks()):
            for operator in OPERATORS:
                ids, want = ask(name, scalar, operator)
                found += len(ids)
                if sorted(ids) != sorted(want):
                    wrong.append(f"{name} {operator} {getattr(scalar, 'value', scalar)}: {len(ids)} rows, {len(want)} in memory")
    if found == 0:
        raise ValueError("no filter finds a row")
    return wrong
