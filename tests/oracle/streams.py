"""Writes and compares streams and Parquet files with pyarrow."""

import json
import sys

import pyarrow as pa
import pyarrow.ipc as ipc
import pyarrow.parquet as pq


def row_groups(source, target, size):
    """The same rows in row groups of another size."""
    pq.write_table(pq.read_table(source), target, row_group_size=int(size), compression="zstd")


COMMANDS = {"row-groups": row_groups}

if __name__ == "__main__":
    COMMANDS[sys.argv[1]](*sys.argv[2:])
