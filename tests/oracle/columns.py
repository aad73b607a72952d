"""Tables of one row and many columns, as Parquet and Arrow: columns.py DIRECTORY COUNT..."""

import sys

import pyarrow as pa
import pyarrow.parquet as pq

directory, *counts = sys.argv[1:]
for count in counts:
    columns = {f"column_{i:06}": pa.array([i], pa.int32()) for i in range(int(count))}
    table = pa.table(columns)
    pq.write_table(table, f"{directory}/{count}.parquet")
    with pa.ipc.new_stream(f"{directory}/{count}.arrows", table.schema) as out:
        out.write_table(table)
