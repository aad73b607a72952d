"""Whether shards of conversations have the schema and the form of the published ones.

    python synth_shards.py OURS THEIRS GROUP_ROWS
"""

import json
import pathlib
import sys

import pyarrow as pa
import pyarrow.parquet as pq

ours, theirs, group_rows = sys.argv[1], sys.argv[2], int(sys.argv[3])
shards = sorted(pathlib.Path(ours).glob("*.parquet"))
for path in shards:
    published = pq.ParquetFile(pathlib.Path(theirs) / path.name)
    file = pq.ParquetFile(path)
    bare = pa.schema([pa.field(f.name, f.type, f.nullable) for f in file.schema_arrow])
    assert bare.equals(published.schema_arrow), (bare, published.schema_arrow)
    assert file.schema.equals(published.schema), (file.schema, published.schema)
    rows = file.metadata.num_rows
    groups = [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]
    expected = [group_rows] * (rows // group_rows) + [rows % group_rows] * (rows % group_rows > 0)
    assert groups == expected, groups
    column = file.metadata.row_group(0).column(0)
    assert column.compression == "ZSTD", column
    metadata = file.metadata.metadata
    counts = json.loads(metadata[b"gristmill.counts"])
    assert counts["read"] == rows + sum(counts["skipped"].values()), counts
    assert b"gristmill.parameters" in metadata and b"ARROW:schema" in metadata
    assert file.read().cast(published.schema_arrow).equals(published.read())
print(f"{len(shards)} shards")
