"""Reads one column after the other of files that a run has left, with pyarrow, polars or duckdb, and tells the type that the
reader gives it and every value. What polars and duckdb have read goes through Arrow, so that one piece of code spells all
values: as SQL does, and without rounding."""

import datetime
import os
import struct
import uuid

import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset as ds
import pyarrow.json

EPOCH = datetime.date(1970, 1, 1).toordinal()
ERA = 146097  # days of 400 years


def date(days):
    """A day as its text, also outside the years that Python knows."""
    eras, day = divmod(days + EPOCH - 1, ERA)
    d = datetime.date.fromordinal(day + 1)
    year = d.year + 400 * eras
    text = f"{year if year > 0 else 1 - year:04}-{d.month:02}-{d.day:02}"
    return text if year > 0 else text + " (BC)"


def clock(units, per_second):
    seconds, fraction = divmod(units, per_second)
    text = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    if fraction:
        text += "." + str(fraction).zfill(len(str(per_second)) - 1).rstrip("0")
    return text


PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def single(value):
    """The shortest text that is this 32-bit float."""
    for digits in range(1, 10):
        text = f"{value:.{digits}g}"
        if struct.pack("f", float(text)) == struct.pack("f", value):
            return repr(float(text))
    return repr(value)


def spell(s):
    """A value as text; parts of a nested one in a list or an object; NULL as None."""
    t = s.type
    if not s.is_valid or pa.types.is_null(t):
        return None
    if isinstance(s, pa.ExtensionScalar):
        return str(s.as_py())
    if pa.types.is_dictionary(t):
        return spell(s.value)
    if pa.types.is_map(t):
        return {str(spell(e["key"])): spell(e["value"]) for e in s.values}
    if pa.types.is_struct(t):
        return {name: spell(s[name]) for name in (f.name for f in t)}
    if pa.types.is_list(t) or pa.types.is_large_list(t) or pa.types.is_fixed_size_list(t) or pa.types.is_list_view(t):
        return [spell(x) for x in s.values]
    if pa.types.is_date(t):
        return date(s.value if t == pa.date32() else s.value // 86400000)
    if pa.types.is_time(t):
        return clock(s.value, PER_SECOND[t.unit])
    if pa.types.is_timestamp(t):
        per_second = PER_SECOND[t.unit]
        days, rest = divmod(s.value, 86400 * per_second)
        day, era = date(days), ""
        if day.endswith(" (BC)"):
            day, era = day[:-5], " (BC)"
        return f"{day} {clock(rest, per_second)}" + ("+00" if t.tz else "") + era
    v = s.as_py()
    if pa.types.is_decimal(t):
        return format(v, "f")
    if isinstance(v, bool):
        return "true" if v else "false"
    if isinstance(v, bytes):
        return v.hex()
    return single(v) if t == pa.float32() else repr(v) if isinstance(v, float) else str(v)


def spell_uuid(s):
    """What Parquet keeps are the bytes, and not every reader makes more of them."""
    text = spell(s)
    return str(uuid.UUID(hex=text)) if text and isinstance(s, (pa.BinaryScalar, pa.FixedSizeBinaryScalar)) else text


def data_files(folder):
    found = []
    for base, folders, names in os.walk(folder):
        folders[:] = [f for f in folders if f[0] not in "._"]
        found += [os.path.join(base, n) for n in names if n[0] not in "._"]
    return sorted(found)


def told_arrow(sql):
    """The type that pyarrow is told for a column of a text file; NULL of a reader's own: text."""
    simple = {
        "TINYINT": pa.int8(), "SMALLINT": pa.int16(), "INTEGER": pa.int32(), "BIGINT": pa.int64(),
        "UTINYINT": pa.uint8(), "USMALLINT": pa.uint16(), "UINTEGER": pa.uint32(), "UBIGINT": pa.uint64(),
        "HUGEINT": pa.decimal128(38, 0), "UHUGEINT": pa.decimal128(38, 0),
        "FLOAT": pa.float32(), "DOUBLE": pa.float64(), "BOOLEAN": pa.bool_(), "DATE": pa.date32(), "TIME": pa.time64("us"),
        "TIMESTAMP": pa.timestamp("us"), "TIMESTAMP_S": pa.timestamp("s"), "TIMESTAMP_MS": pa.timestamp("ms"),
        "TIMESTAMP_NS": pa.timestamp("ns"), "TIMESTAMP WITH TIME ZONE": pa.timestamp("us", "UTC"),
    }
    if sql.startswith("DECIMAL("):
        width, scale = sql[8:-1].split(",")
        return pa.decimal128(int(width), int(scale))
    return simple.get(sql, pa.string())


def split_top(text):
    """The parts of a list between commas, but for those in parentheses or quotes."""
    parts, depth, quoted, start = [], 0, False, 0
    for i, c in enumerate(text):
        if c == '"':
            quoted = not quoted
        elif not quoted:
            depth += (c == "(") - (c == ")")
            if c == "," and depth == 0:
                parts.append(text[start:i].strip())
                start = i + 1
    return parts + [text[start:].strip()]


def told_nested(sql):
    if sql.endswith("]"):
        return pa.list_(told_nested(sql[: sql.rindex("[")]))
    if sql.startswith("STRUCT("):
        fields = []
        for part in split_top(sql[7:-1]):
            name, typ = part[1:].split('" ', 1) if part[0] == '"' else part.split(" ", 1)
            fields.append((name, told_nested(typ)))
        return pa.struct(fields)
    return told_arrow(sql)


def opened(path):
    return pa.input_stream(path, compression={".gz": "gzip", ".zst": "zstd"}.get(os.path.splitext(path)[1]))


def with_pyarrow(kind, folder, name, sql):
    if kind == "parquet":
        table = ds.dataset(folder, format="parquet", partitioning="hive").to_table(columns=["id", name])
    elif kind == "csv":
        # Without null_values pyarrow takes the texts NULL, nan and more for NULL.
        convert = pa.csv.ConvertOptions(
            column_types={"id": pa.int64(), name: told_arrow(sql)}, include_columns=["id", name],
            null_values=[""], strings_can_be_null=True, quoted_strings_can_be_null=False)
        parse = pa.csv.ParseOptions(newlines_in_values=True)
        table = pa.concat_tables(pa.csv.read_csv(opened(f), parse_options=parse, convert_options=convert) for f in data_files(folder))
    else:
        # Its JSON reader makes no dates and times of text, and maps are objects.
        typ = pa.string() if sql in ("DATE", "TIME") else None if "MAP(" in sql or sql == "JSON" else told_nested(sql)
        schema = pa.schema([("id", pa.int64())] + ([(name, typ)] if typ else []))
        parse = pa.json.ParseOptions(explicit_schema=schema)
        table = pa.concat_tables(pa.json.read_json(opened(f), parse_options=parse) for f in data_files(folder)).select(["id", name])
    return str(table.schema.field(name).type), table


def told_polars(sql, kind):
    import polars as pl

    integers = {"TINYINT", "SMALLINT", "UTINYINT", "USMALLINT"}
    if kind == "json" and sql in integers:
        return pl.Int64  # its JSON reader knows no smaller ones
    if sql == "TIME" or kind == "json" and sql.startswith(("TIMESTAMP WITH", "DECIMAL(", "HUGEINT", "UHUGEINT")):
        return pl.String
    if sql == "TIMESTAMP_S":
        return pl.Datetime("ms")
    return pl.from_arrow(pa.array([], told_arrow(sql))).dtype


def with_polars(kind, folder, name, sql):
    import polars as pl

    files = data_files(folder)
    if kind == "parquet":
        frame = pl.scan_parquet(folder + "/**/*.parquet", hive_partitioning=True).select("id", name).collect()
    elif kind == "csv":
        frame = pl.read_csv(files[0], columns=["id", name], schema_overrides={"id": pl.Int64, name: told_polars(sql, kind)})
    else:
        told = {} if nested(sql) else {name: told_polars(sql, kind)}
        frame = pl.read_ndjson(files[0], schema_overrides=told, infer_schema_length=None).select("id", name)
    return str(frame.schema[name]), frame.to_arrow()


def nested(sql):
    return sql.endswith("]") or sql.startswith(("STRUCT(", "MAP("))


def with_duckdb(kind, folder, name, sql):
    import duckdb

    con = duckdb.connect()
    con.execute("SET TimeZone = 'UTC'")
    types = {"id": "BIGINT", name: "VARCHAR" if sql in ("BLOB", "BIT", "BIGNUM") else sql}
    files = data_files(folder)
    if kind == "parquet":
        found = con.read_parquet(folder + "/**/*.parquet", hive_partitioning=True)
    elif kind == "csv":
        found = con.read_csv(files, header=True, dtype=types, allow_quoted_nulls=False)
    else:
        found = con.read_json(files, columns=types)
    found = found.select(*(duckdb.ColumnExpression(c) for c in ("id", name)))
    return str(found.types[1]), found.to_arrow_table()


def partition_pyarrow(kind, folder, name, sql):
    told = pa.string() if sql.startswith("DECIMAL(") else told_arrow(sql)  # it makes no decimals of folders
    parts = ds.partitioning(pa.schema([(name, told)]), flavor="hive")
    table = ds.dataset(folder, format=kind, partitioning=parts).to_table(columns=["id", name])
    return str(table.schema.field(name).type), table


def partition_polars(kind, folder, name, sql):
    import polars as pl

    told = told_polars(sql, kind)
    frame = pl.scan_parquet(folder + "/**/*.parquet", hive_partitioning=True, hive_schema={name: told}).select("id", name).collect()
    return str(frame.schema[name]), frame.to_arrow()


def partition_duckdb(kind, folder, name, sql):
    import duckdb

    con = duckdb.connect()
    con.execute("SET TimeZone = 'UTC'")
    files = [f"{folder}/**/*.{kind}"]
    read = {"parquet": "read_parquet", "csv": "read_csv", "json": "read_json"}[kind]
    found = con.sql(f"SELECT id, {name} FROM {read}(?, hive_partitioning = true, hive_types = {{'{name}': '{sql}'}})", params=[files])
    return str(found.types[1]), found.to_arrow_table()


READERS = {"pyarrow": with_pyarrow, "polars": with_polars, "duckdb": with_duckdb}
PARTITIONS = {"pyarrow": partition_pyarrow, "polars": partition_polars, "duckdb": partition_duckdb}


def column(reader, kind, folder, name, sql, readers=READERS):
    """What a reader makes of one column, in the order of the column id."""
    try:
        typ, table = readers[reader](kind, folder, name, sql)
        spelled = spell_uuid if sql == "UUID" else spell
        rows = sorted(((ident.as_py(), spelled(value)) for ident, value in zip(table.column("id"), table.column(name))), key=lambda r: r[0])
    except BaseException as e:  # polars panics with one that is no Exception
        return {"column": name, "error": f"{type(e).__name__}: {e}"}
    return {"column": name, "type": typ, "values": [value for _, value in rows]}
