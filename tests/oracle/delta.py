"""Texts as DELTA_BYTE_ARRAY, each byte of a page changed: what pyarrow reads, or that it refuses it.

    delta.py DIRECTORY: writes good.parquet, N.parquet and N.json (a list of rows, or null)
"""

import json
import sys

import pyarrow as pa
import pyarrow.parquet as pq

directory = sys.argv[1]
schema = pa.schema([pa.field("a", pa.string(), nullable=False), pa.field("b", pa.string())])


def write(path, version):
    a = [f"game-{i // 3}-{'x' * (i % 5)}" for i in range(60)]
    b = [None if i % 7 == 3 else "content " + "ab" * (i % 4) for i in range(60)]
    table = pa.table([pa.array(a), pa.array(b)], schema=schema)
    pq.write_table(
        table, path, use_dictionary=False, column_encoding="DELTA_BYTE_ARRAY", compression="none",
        data_page_version=version, write_statistics=False, store_schema=False,
    )


def read(path):
    try:
        table = pq.read_table(path)
        table.validate(full=True)
        return table.to_pylist()
    except Exception:
        return None


count = 0
for version in ["1.0", "2.0"]:
    path = f"{directory}/good-{version}.parquet"
    write(path, version)
    good = open(path, "rb").read()
    assert read(path) is not None
    footer = pq.ParquetFile(path).metadata
    for column in range(2):
        chunk = footer.row_group(0).column(column)
        start, end = chunk.data_page_offset, chunk.data_page_offset + chunk.total_compressed_size
        # Behind the header of the page: the block size, the parts of a block, the integers.
        start = good.index(bytes([128, 1, 4]), start)
        assert start < end
        for at in range(start, min(start + 80, end)):
            for change in [0x01, 0xFF]:
                bad = bytearray(good)
                bad[at] ^= change
                with open(f"{directory}/{count}.parquet", "wb") as out:
                    out.write(bad)
                with open(f"{directory}/{count}.json", "w") as out:
                    json.dump(read(f"{directory}/{count}.parquet"), out)
                count += 1
