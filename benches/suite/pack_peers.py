"""Inputs of the section of packing, and its peers.

    pack_peers.py make PREFIX SEQUENCES [holes]     a triple with lengths like those of chats; `holes`: real
                                                    indices over .bin files without content
    pack_peers.py trl ROWS.parquet N OUT.parquet    TRL's pack_dataset, a thousand rows at a time, as it is used
    pack_peers.py trl-lengths PREFIX N              its best fit on the whole table: bins of lengths
    pack_peers.py bridge-lengths PREFIX N           Megatron-Bridge's first fit decreasing: bins of lengths
"""

import importlib.util
import pathlib
import struct
import sys

import numpy as np

EOD = 199_999
#: Sequences whose tokens are drawn at once.
CHUNK = 20_000


def lengths_of(sequences):
    """Mean 855, up to 30,000: many of a page, a few long ones."""
    draws = np.random.default_rng(0).lognormal(6.45, 0.75, sequences)
    return np.clip(draws, 20, 30_000).astype(np.int32)


def make(prefix, sequences, holes=""):
    lengths = lengths_of(int(sequences))
    ends = np.cumsum(lengths, dtype=np.int64)
    for member, code, size in [("tokens", 4, 4), ("lossmask", 1, 1), ("span", 1, 1)]:
        header = struct.pack("<9sQBQQ", b"MMIDIDX\0\0", 1, code, len(lengths), len(lengths) + 1)
        with open(f"{prefix}_{member}.idx", "wb") as file:
            file.write(header + lengths.tobytes())
            file.write(((ends - lengths) * size).tobytes())
            file.write(np.arange(len(lengths) + 1).tobytes())
    paths = [f"{prefix}_{member}.bin" for member in ("tokens", "lossmask", "span")]
    tokens, masks, spans = (open(path, "wb") for path in paths)
    if holes:
        for file, size in ((tokens, 4), (masks, 1), (spans, 1)):
            file.truncate(int(ends[-1]) * size)
        return
    random = np.random.default_rng(1)
    for start in range(0, len(lengths), CHUNK):
        own = lengths[start : start + CHUNK]
        last = np.cumsum(own) - 1
        values = random.integers(0, 199_000, int(own.sum()), dtype=np.int32)
        values[last] = EOD
        # The second half of each is the answer.
        at = np.arange(len(values)) - np.repeat(last - own + 1, own)
        mask = (at >= np.repeat(own // 2, own)).astype(np.uint8)
        mask[last] = mask[last - 1] = 0
        tokens.write(values.tobytes())
        masks.write(mask.tobytes())
        spans.write((2 * mask).tobytes())


def read_lengths(prefix):
    head = pathlib.Path(f"{prefix}_tokens.idx").read_bytes()
    return np.frombuffer(head, "<i4", struct.unpack_from("<Q", head, 18)[0], 34)


def trl(rows, size, out):
    from datasets import load_dataset
    from trl import pack_dataset

    data = load_dataset("parquet", data_files=rows, split="train", keep_in_memory=True)
    data = data.select_columns(["input_ids", "labels"])
    packed = pack_dataset(data, int(size), "bfd", map_kwargs={"keep_in_memory": True})
    packed.to_parquet(out)
    print(len(packed))


def trl_lengths(prefix, size):
    import pyarrow as pa
    from trl.data_utils import _pack_bfd

    lengths = read_lengths(prefix) - 1
    values = pa.array(np.zeros(int(lengths.sum()), np.uint8))
    offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64))
    table = pa.table({"a": pa.LargeListArray.from_arrays(offsets, values)})
    print(len(_pack_bfd(table, int(size))))


def bridge_lengths(prefix, size):
    spec = importlib.util.find_spec("megatron")
    folder = pathlib.Path(next(iter(spec.submodule_search_locations)))
    path = folder / "bridge/data/datasets/packing_utils.py"
    spec = importlib.util.spec_from_file_location("packing_utils", path)
    theirs = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(theirs)
    size = int(size)
    # What it counts is one less than the tokens.
    lengths = np.minimum(read_lengths(prefix) - 2, size)
    histogram = np.bincount(lengths, minlength=size + 1).tolist()
    assignments, _ = theirs.create_packing_strategy(histogram, size, "first_fit_decreasing")
    print(len(assignments))


if __name__ == "__main__":
    name, *arguments = sys.argv[1:]
    globals()[name.replace("-", "_")](*arguments)
