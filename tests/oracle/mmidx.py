"""Reads Megatron indexed datasets (.idx, .bin) with numpy alone, by the format's description:
magic, version, dtype code, counts, lengths, offsets, document indices, modes; all little-endian."""

import json
import sys

import numpy as np

DTYPES = {1: "u1", 2: "i1", 3: "<i2", 4: "<i4", 5: "<i8", 6: "<f8", 7: "<f4", 8: "<u2"}


def read(prefix):
    """The dtype, sequences, document indices and modes (or None) of a dataset; every byte of both
    files is accounted for."""
    index = open(prefix + ".idx", "rb").read()
    assert index[:9] == b"MMIDIDX\0\0", index[:9]
    version = int(np.frombuffer(index, "<u8", 1, 9)[0])
    assert version == 1, version
    dtype = np.dtype(DTYPES[index[17]])
    sequences, documents = (int(n) for n in np.frombuffer(index, "<u8", 2, 18))
    at = 34
    lengths = np.frombuffer(index, "<i4", sequences, at)
    at += 4 * sequences
    offsets = np.frombuffer(index, "<i8", sequences, at)
    at += 8 * sequences
    document_indices = np.frombuffer(index, "<i8", documents, at)
    at += 8 * documents
    modes = None
    if at < len(index):
        modes = np.frombuffer(index, "i1", sequences, at)
        at += sequences
    assert at == len(index), (at, len(index))
    values = open(prefix + ".bin", "rb").read()
    rows = [
        np.frombuffer(values, dtype, int(length), int(offset))
        for length, offset in zip(lengths, offsets)
    ]
    assert sum(row.nbytes for row in rows) == len(values)
    expected = np.concatenate([[0], np.cumsum(lengths.astype("i8") * dtype.itemsize)])
    assert (offsets == expected[:-1]).all()
    assert document_indices[0] == 0 and document_indices[-1] == sequences
    return dtype, rows, document_indices, modes


def triple(prefix):
    """The rows of a masked dataset, as (tokens, loss_mask, span_id)."""
    parts = []
    for suffix, wanted in (("_tokens", "<i4"), ("_lossmask", "u1"), ("_span", "u1")):
        dtype, rows, documents, modes = read(prefix + suffix)
        assert dtype == np.dtype(wanted), (suffix, dtype)
        assert modes is None
        assert list(documents) == list(range(len(rows) + 1)), "a document for each sequence"
        parts.append(rows)
    for tokens, mask, span in zip(*parts, strict=True):
        assert len(tokens) == len(mask) == len(span)
        assert set(mask.tolist()) <= {0, 1} and ((span > 0) == (mask == 1)).all()
    return list(zip(*parts))


if __name__ == "__main__":
    kind, prefix = sys.argv[1:]
    if kind == "triple":
        for tokens, mask, span in triple(prefix):
            row = {"tokens": tokens.tolist(), "loss_mask": mask.tolist(), "span_id": span.tolist()}
            print(json.dumps(row))
    else:
        dtype, rows, documents, modes = read(prefix)
        print(json.dumps({"dtype": dtype.name, "documents": documents.tolist()}))
        for row in rows:
            print(json.dumps({"tokens": row.tolist()}))
