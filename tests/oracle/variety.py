"""Files of every type, encoding, compression and nesting, and what is in them by pyarrow.

variety.py write DIRECTORY      writes them with pyarrow, polars and DuckDB
variety.py compare DIRECTORY    compares NAME.ndjson and NAME.back (the same table in another file) with each
                                file NAME; NAME.refused holds the message of a refusal in place of the lines

A file of which no value differs is not mentioned; what differs is printed, and is the exit code.
"""

import datetime as dt
import decimal
import json
import math
import os
import re
import sys
import uuid

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

D = decimal.Decimal
decimal.getcontext().prec = 100

# What no JSON is made of: of these files, and of those of which pyarrow's values have no JSON, refusals are right.
REFUSED = {
    # Of views of texts the crate says it.
    "large_list_view",
    # Parquet's intervals, which pyarrow does not read, and of which the crate loses the months.
    "duckdb_interval",
}


def kinds():
    """Arrays of seven rows by name, some of them null."""
    def ints(kind, bits, signed):
        low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
        return pa.array([0, low, high, None, 1, high // 3, 7], kind)
    yield "null", pa.nulls(7)
    yield "bool", pa.array([True, False, None, True, True, False, None])
    for bits in (8, 16, 32, 64):
        yield f"int{bits}", ints(getattr(pa, f"int{bits}")(), bits, True)
        yield f"uint{bits}", ints(getattr(pa, f"uint{bits}")(), bits, False)
    yield "float16", pa.array([0.0, -0.5, 65504.0, None, 6e-8, 1.0009765625, 3.0], pa.float16())
    yield "float32", pa.array([0.0, -0.1, 3.4028234e38, None, 1e-45, 1.1, 16777216.0], pa.float32())
    yield "float64", pa.array([0.0, -0.0, 1.7976931348623157e308, None, 5e-324, 0.1, 1e22], pa.float64())
    texts = ["", "a", "é\U0001f600\u2028", None, "\"\\\n\x01", "long " * 40, "a"]
    for kind in (pa.string(), pa.large_string(), pa.string_view()):
        yield str(kind), pa.array(texts, kind)
    data = [text and text.encode() for text in texts]
    for kind in (pa.binary(), pa.large_binary(), pa.binary_view()):
        yield str(kind), pa.array(data, kind)
    yield "fixed", pa.array([b"abcd", "éé".encode(), None, b"0000", b"zzzz", b"\x00\x01ab", b"abcd"], pa.binary(4))
    yield "no_text", pa.array([b"a", b"\xff\xfe", None, b"", b"b", b"c", b"d"])
    for make, digits, scale in [(pa.decimal32, 9, 2), (pa.decimal64, 18, 4), (pa.decimal128, 38, 10), (pa.decimal256, 76, 30), (pa.decimal128, 5, 5)]:
        most = D(10**digits - 1).scaleb(-scale)
        low = D(1).scaleb(-scale)
        yield f"{make.__name__}_{digits}_{scale}", pa.array([D(0), most, -most, None, low, -low, D(1).scaleb(-scale) * 7], make(digits, scale))
    moments = [0, 1, -1, None, 1_700_000_000_123_456_789, -86_400_000_000_001, 253_402_300_799]
    for unit, scale in [("s", 10**9), ("ms", 10**6), ("us", 10**3), ("ns", 1)]:
        values = [moment and moment // scale for moment in moments]
        for zone in (None, "UTC", "+05:30", "Europe/Amsterdam"):
            yield f"timestamp_{unit}_{(zone or 'none').replace('/', '_')}", pa.array(values, pa.timestamp(unit, zone))
        yield f"duration_{unit}", pa.array(values, pa.duration(unit))
    yield "date32", pa.array([0, 1, -1, None, 19_000, -719_162, 2_932_896], pa.int32()).cast(pa.date32())
    yield "date64", pa.array([day and day * 86_400_000 for day in (0, 1, -1, None, 19_000, -719_162, 2_932_896)], pa.int64()).cast(pa.date64())
    for unit, scale, make in [("s", 1, pa.time32), ("ms", 10**3, pa.time32), ("us", 10**6, pa.time64), ("ns", 10**9, pa.time64)]:
        base = pa.int32() if make is pa.time32 else pa.int64()
        yield f"time_{unit}", pa.array([0, 1, 86_400 * scale - 1, None, 3_600 * scale, 61 * scale, 12_345], base).cast(make(unit))
    yield "interval", pa.array([(0, 0, 0), (1, 2, 3), (-1, -2, -3), None, (0, 40, 10**15), (13, 0, 1), (0, 0, -1)], pa.month_day_nano_interval())
    words = ["x", "y", None, "x", "z", "y", "x"]
    yield "dictionary", pa.array(words).dictionary_encode()
    yield "dictionary_int8_of_int64", pa.DictionaryArray.from_arrays(pa.array([1, 0, None, 2, 2, 1, 0], pa.int8()), pa.array([5, None, 2**60]))
    yield "dictionary_of_timestamps", pa.DictionaryArray.from_arrays(pa.array([1, 0, None, 0, 1, 1, 0], pa.uint16()), pa.array([7, 8], pa.timestamp("us", "UTC")))
    yield "dictionary_of_decimals", pa.DictionaryArray.from_arrays(pa.array([1, 0, None, 0, 1, 1, 0], pa.int32()), pa.array([D("1.5"), D("-2.5")]))
    yield "run_end", pc.run_end_encode(pa.array(["x", "x", None, None, "y", "y", "y"]))
    yield "run_end_int", pc.run_end_encode(pa.array([1, 1, 2, 2, None, None, 3]), run_end_type=pa.int16())
    yield "list", pa.array([[1, None], [], None, [3], [4, 5], [None], [2**40]])
    yield "large_list", pa.array([["a"], [], None, ["b", None], ["c"], [""], ["d"]], pa.large_list(pa.string()))
    yield "fixed_list", pa.array([[1, 2], [None, 3], None, [4, 5], [6, 7], [8, None], [9, 0]], pa.list_(pa.int32(), 2))
    yield "list_view", pa.array([[1, 2], [], None, [3], [None], [4, 5, 6], [7]], pa.list_view(pa.int32()))
    yield "large_list_view", pa.array([["a"], [], None, ["b"], [None], ["c", "d"], ["e"]], pa.large_list_view(pa.string()))
    yield "list_of_decimals", pa.array([[D("1.50")], [], None, [None], [D("0.01"), D("2.00")], [D("3.00")], []], pa.list_(pa.decimal128(9, 2)))
    inner = pa.struct([("a", pa.int32()), ("b", pa.list_(pa.struct([("c", pa.string()), ("d", pa.timestamp("ms"))])))])
    at = dt.datetime(2024, 2, 29, 1, 2, 3, 4000)
    yield "nested", pa.array([{"a": 1, "b": [{"c": "x", "d": at}, None]}, {"a": None, "b": []}, None, {"a": 2, "b": None},
                              {"a": 3, "b": [{"c": None, "d": None}]}, {"a": 4, "b": [None]}, {"a": 5, "b": [{"c": "", "d": at}]}], inner)
    yield "lists_of_lists", pa.array([[[1], []], [], None, [None], [[None]], [[1, 2], [3]], [[]]], pa.list_(pa.list_(pa.int8())))
    yield "struct_of_nothing_but_nulls", pa.array([{"n": None}] * 5 + [None] * 2, pa.struct([("n", pa.int32())]))
    text_map = pa.map_(pa.string(), pa.int32())
    yield "map", pa.array([[("a", 1), ("b", None)], [], None, [("c", 3)], [("", 4)], [("d", 5)], [("e", 6)]], text_map)
    yield "map_key_twice", pa.array([[("a", 1), ("a", 2)], [], None, [], [], [], []], text_map)
    yield "map_int", pa.array([[(1, "x"), (-2, "y")], [], None, [(3, None)], [(4, "")], [(5, "z")], [(6, "w")]], pa.map_(pa.int64(), pa.string()))
    yield "map_of_structs", pa.array([[("a", {"x": 1})], [("b", None)], None, [], [("c", {"x": None})], [], []], pa.map_(pa.string(), pa.struct([("x", pa.int8())])))
    yield "map_of_maps", pa.array([[("a", [("b", 1)])], [], None, [("c", [])], [("d", None)], [], []], pa.map_(pa.string(), text_map))
    yield "not_finite", pa.array([1.0, float("nan"), None, float("inf"), 2.0, 3.0, 4.0])
    yield "not_finite_in_a_map", pa.array([[("a", 1.0)], [("b", float("nan"))], None, [], [], [], []], pa.map_(pa.string(), pa.float64()))
    yield "not_finite_in_a_dictionary", pa.DictionaryArray.from_arrays(pa.array([0, 1, 0, 0, 0, None, 0], pa.int8()), pa.array([1.5, float("inf")]))
    types = pa.array([0, 1, 2, 0, 1, 2, 0], pa.int8())
    members = [pa.array([5, 0, 0, None, 0, 0, 2**60]), pa.array(["", "good", "", "", "é", "", ""]), pa.array([None, None, True, None, None, False, None], pa.bool_())]
    yield "sparse_union", pa.UnionArray.from_sparse(types, members, ["num", "txt", "flag"])
    yield "dense_union", pa.UnionArray.from_dense(types, pa.array([0, 0, 0, 1, 1, 1, 2], pa.int32()),
                                                 [pa.array([5, None, 6]), pa.array(["good", "é"]), pa.array([True, False])], ["num", "txt", "flag"])
    yield "union_ids", pa.UnionArray.from_sparse(pa.array([7, 9, 7, 9, 7, 9, 7], pa.int8()), [pa.array(range(7)), pa.array([D(n) / 4 for n in range(7)])], ["a", "b"], [7, 9])
    yield "list_of_unions", pa.ListArray.from_arrays(pa.array([0, 2, 2, 3, 4, 5, 6, 7], pa.int32()), pa.UnionArray.from_sparse(types, members))
    yield "struct_of_unions", pa.StructArray.from_arrays([pa.UnionArray.from_sparse(types, members)], ["u"])
    yield "uuid", pa.ExtensionArray.from_storage(pa.uuid(), pa.array([None if n == 3 else uuid.UUID(int=2**127 + n).bytes for n in range(7)], pa.binary(16)))
    yield "json", pa.ExtensionArray.from_storage(pa.json_(), pa.array(['{"a": [1, 2.50]}', "null", None, "[]", '"t"', "1e3", "true"]))
    yield "json_large", pa.ExtensionArray.from_storage(pa.json_(pa.large_string()), pa.array(["{}", "null", None, "[]", '"t"', "1", "true"], pa.large_string()))
    yield "bool8", pa.ExtensionArray.from_storage(pa.bool8(), pa.array([0, 1, None, 1, 0, -1, 5], pa.int8()))
    yield "tensor", pa.ExtensionArray.from_storage(pa.fixed_shape_tensor(pa.int32(), [2, 2]), pa.array([[n, 2, 3, 4] for n in range(7)], pa.list_(pa.int32(), 4)))
    yield "opaque", pa.ExtensionArray.from_storage(pa.opaque(pa.string(), "point", "somebody"), pa.array(words))


def write(directory):
    at = lambda name: os.path.join(directory, name)
    every = dict(kinds())
    for name, values in every.items():
        table = pa.table({"n": range(len(values)), "v": values})
        with pa.ipc.new_stream(at(f"{name}.arrows"), table.schema) as out:
            out.write_table(table.slice(0, 3))
            out.write_table(table.slice(3))
        try:
            pq.write_table(table, at(f"{name}.parquet"))
            pq.write_table(table, at(f"plain_{name}.parquet"), store_schema=False, use_dictionary=False, data_page_version="2.0")
        except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
            pass
    for codec in ("lz4", "zstd"):
        table = pa.table({name: every[name] for name in ("string", "string_view", "nested", "dictionary", "decimal128_38_10", "sparse_union")})
        with pa.ipc.new_stream(at(f"packed_{codec}.arrows"), table.schema, options=pa.ipc.IpcWriteOptions(compression=codec)) as out:
            out.write_table(table)
    # Parquet's encodings, pages and compressions, of columns with many rows.
    names = ["bool", "int8", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64", "string", "binary", "fixed", "date32", "decimal128_38_10",
             "decimal64_18_4", "timestamp_us_UTC", "time_us", "list", "nested", "map", "dictionary"]
    long = pa.table({name: pa.concat_arrays([every[name]] * 400) for name in names})
    flat = [name for name in names if not pa.types.is_nested(every[name].type)]
    for codec in ("none", "snappy", "gzip", "brotli", "zstd", "lz4"):
        for version in ("1.0", "2.0"):
            pq.write_table(long, at(f"{codec}_{version}.parquet"), compression=codec, data_page_version=version, data_page_size=2000,
                           write_page_checksum=version == "2.0", row_group_size=999, write_page_index=codec == "zstd")
    split = {name: "BYTE_STREAM_SPLIT" for name in ("float32", "float64", "int32", "int64", "fixed", "float16")}
    delta = {name: "DELTA_BINARY_PACKED" for name in ("int32", "int64", "uint32", "uint64", "date32", "time_us", "timestamp_us_UTC")}
    for name, encodings in {"split": split, "delta": delta, "lengths": {"string": "DELTA_LENGTH_BYTE_ARRAY", "binary": "DELTA_LENGTH_BYTE_ARRAY"},
                            "prefixes": {"string": "DELTA_BYTE_ARRAY", "binary": "DELTA_BYTE_ARRAY", "fixed": "DELTA_BYTE_ARRAY"}, "rle": {"bool": "RLE"}}.items():
        for version in ("1.0", "2.0"):
            pq.write_table(long.select(list(encodings)), at(f"{name}_{version}.parquet"), use_dictionary=False, column_encoding=encodings,
                           data_page_version=version, data_page_size=1500)
    pq.write_table(long.select(flat), at("fallback.parquet"), dictionary_pagesize_limit=50, data_page_size=500)
    pq.write_table(pa.table({"v": every["timestamp_ns_none"]}), at("int96.parquet"), use_deprecated_int96_timestamps=True)
    pq.write_table(pa.table({"v": every["decimal128_38_10"], "w": every["decimal64_18_4"]}), at("integers.parquet"), store_decimal_as_integer=True)
    # Other writers.
    database = duckdb.connect()
    for name, value in {
        "tinyint": "i::TINYINT", "hugeint": "i::HUGEINT", "uhugeint": "i::UHUGEINT", "real": "(i / 4)::REAL", "decimal": "(i / 4)::DECIMAL(30, 3)", "text": "'t' || i",
        "blob": "('b' || i)::BLOB", "uuid": "('00000000-0000-0000-0000-00000000000' || i)::UUID", "date": "DATE '2024-02-27' + i::INT", "time": "TIME '01:02:03.000004'",
        "timetz": "TIMETZ '01:02:03+02'", "timestamp_s": "TIMESTAMP_S '2024-02-29 01:02:03'", "timestamp_ns": "TIMESTAMP_NS '2024-02-29 01:02:03.000000004'",
        "timestamptz": "TIMESTAMPTZ '2024-02-29 01:02:03+00'", "interval": "INTERVAL (i) MONTH + INTERVAL (i) SECOND", "enum": "'x'::ENUM('x', 'y')", "bit": "'0101'::BIT",
        "list": "[i, NULL]", "array": "[i, 2]::INT[2]", "struct": "{'a': i, 'b': [{'c': 'x' || i}]}", "map": "MAP {'k' || i: i}", "json": "('{\"a\": ' || i || '}')::JSON",
        "union": "union_value(num := i)", "bool": "i % 2 = 0", "null": "NULL", "bignum": "i::BIGNUM", "variant": "i::VARIANT",
    }.items():
        query = f"SELECT i AS n, CASE WHEN i = 2 THEN NULL ELSE {value} END AS v FROM range(5) t(i)"
        try:
            database.execute(f"COPY ({query}) TO '{at(f'duckdb_{name}.parquet')}' (FORMAT parquet)")
        except duckdb.Error:
            pass
        try:
            table = database.execute(query).to_arrow_table()
        except (duckdb.Error, pa.ArrowException):
            continue
        with pa.ipc.new_stream(at(f"duckdb_{name}.arrows"), table.schema) as out:
            out.write_table(table)
    frame = pl.DataFrame({
        "categorical": pl.Series(["a", "b", None], dtype=pl.Categorical), "enum": pl.Series(["x", "y", None], dtype=pl.Enum(["x", "y"])),
        "decimal": pl.Series([D("1.25"), D("-0.5"), None], dtype=pl.Decimal(10, 2)), "duration": pl.Series([dt.timedelta(days=1, microseconds=7), dt.timedelta(0), None]),
        "time": pl.Series([dt.time(1, 2, 3, 4), dt.time(0), None]), "datetime": pl.Series([dt.datetime(2024, 2, 29, 1, 2, 3, 4)] * 2 + [None]),
        "array": pl.Series([[1, 2], [3, 4], None], dtype=pl.Array(pl.Int16, 2)), "list": [["a"], [], None], "struct": [{"a": 1, "b": [1.5]}, {"a": None, "b": []}, None],
        "binary": [b"x", b"", None], "null": [None] * 3, "int128": pl.Series([2**100, -1, None], dtype=pl.Int128),
    })
    for name in frame.columns:
        for ending, save in [("parquet", pl.DataFrame.write_parquet), ("arrows", pl.DataFrame.write_ipc_stream)]:
            save(frame.select(pl.col(name)), at(f"polars_{name}.{ending}"))


class NoJson(Exception):
    """A value that has none."""


def read(path):
    if path.endswith(".arrows"):
        with pa.ipc.open_stream(path) as stream:
            return stream.read_all()
    return pq.ParquetFile(path).read()


def values(array):
    """The values of an array as JSON has them; times are (name, integer)."""
    kind = array.type
    if isinstance(array, pa.ChunkedArray):
        return [value for chunk in array.chunks for value in values(chunk)]
    if isinstance(kind, pa.BaseExtensionType):
        name = kind.extension_name
        if name == "arrow.uuid":
            return [value and str(value) for value in array.to_pylist()]
        if name == "arrow.json":
            return [None if text is None else json.loads(text, parse_float=D) for text in array.storage.to_pylist()]
        if name == "arrow.bool8":
            return array.to_pylist()
        return values(array.storage)
    if pa.types.is_dictionary(kind):
        known = values(array.dictionary)
        return [None if index is None else known[index] for index in array.indices.to_pylist()]
    if pa.types.is_run_end_encoded(kind):
        return values(pc.run_end_decode(array))
    if pa.types.is_map(kind):
        return [None if entry is None else object_of(entry.values) for entry in valid(array)]
    if isinstance(kind, (pa.ListType, pa.LargeListType, pa.FixedSizeListType, pa.ListViewType, pa.LargeListViewType)):
        return [None if entry is None else values(entry.values) for entry in valid(array)]
    if pa.types.is_struct(kind):
        columns = [values(column) for column in array.flatten()]
        names = [field.name for field in kind]
        return [dict(zip(names, row)) if entry is not None else None for entry, row in zip(valid(array), zip(*columns))]
    if pa.types.is_union(kind):
        members = (entry.value if entry.is_valid else None for entry in array)
        return [None if member is None else values(pa.array([member.as_py()], member.type))[0] for member in members]
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind) or pa.types.is_fixed_size_binary(kind):
        try:
            return [value if value is None else value.decode() for value in array.to_pylist()]
        except UnicodeDecodeError:
            raise NoJson("bytes that are no text")
    if pa.types.is_floating(kind):
        found = array.to_pylist()
        if any(value is not None and not math.isfinite(value) for value in found):
            raise NoJson("a number that is not finite")
        return [value if value is None else (str(kind), value) for value in found]
    units = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
    if pa.types.is_timestamp(kind):
        return integers(array, "zoned" if kind.tz else "timestamp", pa.int64(), units[kind.unit])
    if pa.types.is_date(kind):
        days = 86_400 * 10**9
        return integers(array, "timestamp", *((pa.int32(), days) if kind == pa.date32() else (pa.int64(), 10**6)))
    if pa.types.is_time(kind):
        return integers(array, "time", pa.int32() if pa.types.is_time32(kind) else pa.int64(), units[kind.unit])
    if pa.types.is_duration(kind):
        return integers(array, "duration", pa.int64(), units[kind.unit])
    if kind == pa.month_day_nano_interval():
        return [value and ("interval", tuple(value)) for value in array.to_pylist()]
    return array.to_pylist()


def valid(array):
    return (entry if entry.is_valid else None for entry in array)


def object_of(entries):
    keys = values(entries.field(0))
    if len(set(keys)) < len(keys):
        raise NoJson("a key twice")
    return dict(zip(map(str, keys), values(entries.field(1))))


def integers(array, name, kind, scale):
    """Times as nanoseconds."""
    return [value if value is None else (name, value * scale) for value in array.view(kind).to_pylist()]


def nanoseconds(text):
    """Those since 1970 that a date and time in ISO form is, or those since midnight."""
    match = re.fullmatch(r"(?:([+-]?\d+)-(\d\d)-(\d\d))?T?(?:(\d\d):(\d\d):(\d\d)(?:\.(\d+))?)?(Z|[+-]\d\d:\d\d)?", text)
    year, month, day, hours, minutes, seconds, fraction, zone = match.groups()
    days = 0 if year is None else dt.date(int(year), int(month), int(day)).toordinal() - 719_163
    seconds = days * 86_400 + int(hours or 0) * 3_600 + int(minutes or 0) * 60 + int(seconds or 0)
    if zone and zone != "Z":
        seconds -= int(zone[0] + "1") * (int(zone[1:3]) * 3_600 + int(zone[4:]) * 60)
    return seconds * 10**9 + int((fraction or "").ljust(9, "0"))


def is_same(expected, printed):
    """Whether a value of `values` is what JSON says."""
    if isinstance(expected, tuple):
        name, value = expected
        if name in ("halffloat", "float"):
            kind = {"halffloat": pa.float16(), "float": pa.float32()}[name]
            return pa.scalar(float(printed), kind).as_py() == value
        if name == "double":
            return isinstance(printed, (int, D)) and float(printed) == value
        if not isinstance(printed, str):
            return False
        if name == "zoned" and not re.search(r"Z$|[+-]\d\d:\d\d$", printed):
            return False
        if name == "duration":
            form = r"(-?)P(?:(-?\d+)D)?(?:T(?:(-?\d+)H)?(?:(-?\d+)M)?(?:(-?\d+(?:\.\d+)?)S)?)?"
            sign, *parts = re.fullmatch(form, printed).groups(default="0")
            seconds = sum(D(part) * unit for part, unit in zip(parts, (86400, 3600, 60, 1)))
            return (-seconds if sign == "-" else seconds) * 10**9 == value
        if name == "interval":
            parts = {unit: D(number) for number, unit in re.findall(r"(-?\d+(?:\.\d+)?) (\w+)", printed)}
            seconds = parts.get("hours", 0) * 3600 + parts.get("mins", 0) * 60 + parts.get("secs", 0)
            return (parts.get("mons", 0), parts.get("days", 0), seconds * 10**9) == value
        return nanoseconds(printed) == value
    if isinstance(expected, dict):
        return isinstance(printed, dict) and list(expected) == list(printed) and all(is_same(expected[key], printed[key]) for key in expected)
    if isinstance(expected, list):
        return isinstance(printed, list) and len(expected) == len(printed) and all(map(is_same, expected, printed))
    if isinstance(expected, D):
        return isinstance(printed, (int, D)) and not isinstance(printed, bool) and expected == printed
    return type(expected) is type(printed) and expected == printed


def compare(directory):
    wrong, refused = 0, []

    def complain(*what):
        nonlocal wrong
        wrong += 1
        print(*what)

    for name in sorted(os.listdir(directory)):
        path = os.path.join(directory, name)
        if not name.endswith((".arrows", ".parquet")) or ".back." in name:
            continue
        try:
            table = read(path)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            # (Lists of a fixed size by DuckDB, integers of 128 bits by polars.)
            continue
        try:
            expected = [dict(zip(table.column_names, row)) for row in zip(*map(values, table.columns))]
        except NoJson as cause:
            if not os.path.exists(path + ".refused"):
                complain(f"{name}: not refused, with {cause}")
            continue
        if os.path.exists(path + ".refused"):
            with open(path + ".refused") as message:
                message = message.read().strip()
            refused.append(name)
            # (Of dictionaries of decimals the crate says it, which names the type.)
            if name == "dictionary_of_decimals.parquet" and "Dictionary(Int32, Decimal128" in message:
                continue
            if os.path.splitext(name)[0] not in REFUSED or table.column_names[-1] not in message:
                complain(f"{name}: refused: {message}")
            continue
        with open(path + ".ndjson") as lines:
            printed = [json.loads(line, parse_float=D) for line in lines]
        if len(printed) != len(expected):
            complain(f"{name}: {len(printed)} lines of {len(expected)}")
        for number, (ours, theirs) in enumerate(zip(printed, expected)):
            if not is_same(theirs, ours):
                complain(f"{name}: row {number}: {theirs} is printed as {ours}")
                break
        for back in (".back.arrows", ".back.parquet"):
            if os.path.exists(path + back):
                again = read(path + back)
                again = again.select([column for column in again.column_names if column in table.column_names])
                again = [dict(zip(again.column_names, row)) for row in zip(*map(values, again.columns))]
                if again != expected:
                    complain(f"{name}: other values in {back}: {again[:4]} for {expected[:4]}")
    print(f"{len(refused)} refused", file=sys.stderr)
    sys.exit(min(wrong, 100))


{"write": write, "compare": compare}[sys.argv[1]](sys.argv[2])
