"""What the tests of this folder share: the reference data, torch and Megatron, triples to break.

Without torch or megatron-core, or without GRISTMILL_DATA, one line on stderr says which tests do
nothing.
"""

import os
import struct
import sys
import unittest
from collections import OrderedDict
from pathlib import Path

import numpy as np

import megatron_shim  # noqa: F401  (before anything of Megatron)

DATA = Path(os.environ["GRISTMILL_DATA"]) if os.environ.get("GRISTMILL_DATA") else None

try:
    import torch
except ImportError:
    torch = None
try:
    import megatron.core.datasets.gpt_dataset as _gpt_dataset
except ImportError:
    _gpt_dataset = None


def _needs(there, what, why):
    if not there:
        print(f"skipped {what}: {why}", file=sys.stderr)
    return unittest.skipUnless(there, why)


needs_data = _needs(DATA, "tests on reference data", "GRISTMILL_DATA is not set")
needs_torch = _needs(torch, "tests with torch", "torch is not installed")
needs_megatron = _needs(
    torch and _gpt_dataset, "tests with Megatron", "torch is not installed, or megatron-core is not"
)


class Tokenizer:
    """As Megatron's, for what its datasets ask: two ids and a name for the caches."""

    def __init__(self, pad=-1, eod=199_999, path="tokenizer/o200k_base.tiktoken"):
        self.pad = pad
        self.eod = eod
        self.vocab_size = 201_088
        self.unique_identifiers = OrderedDict(
            [
                (
                    "class",
                    "megatron.core.tokenizers.text.models.default_tokenizer.DefaultTokenizerText",
                ),
                ("tokenizer_path", path),
            ]
        )


def link_roots(directory):
    """Makes the reference data reachable under the relative names in their configs."""
    roots = [*(DATA / "kd_dataset/prefixes").iterdir(), *(DATA / "synth_kd").iterdir()]
    roots += [path for path in (DATA / "kd_wild").iterdir() if path.is_dir()]
    for root in roots:
        (Path(directory) / root.name).symlink_to(root)


# Writing triples.

CODES = {np.dtype("u1"): 1, np.dtype("<i4"): 4, np.dtype("<i8"): 5, np.dtype("<u2"): 8}


def write_member(prefix, sequences, dtype, documents=None, modes=None):
    """One dataset of a triple, as Megatron's IndexedDatasetBuilder writes it."""
    dtype = np.dtype(dtype)
    lengths = np.array([len(sequence) for sequence in sequences], "<i4")
    offsets = np.cumsum(np.concatenate([[0], lengths[:-1]]), dtype="<i8") * dtype.itemsize
    if documents is None:
        documents = np.arange(len(lengths) + 1)
    documents = np.asarray(documents, "<i8")
    with open(f"{prefix}.idx", "wb") as file:
        header = (b"MMIDIDX\0\0", 1, CODES[dtype], len(lengths), len(documents))
        file.write(struct.pack("<9sQBQQ", *header))
        for array in (lengths, offsets[: len(lengths)], documents):
            file.write(array.tobytes())
        if modes is not None:
            file.write(np.asarray(modes, "i1").tobytes())
    with open(f"{prefix}.bin", "wb") as file:
        for sequence in sequences:
            file.write(np.asarray(sequence, dtype).tobytes())


def write_triple(prefix, sequences):
    """`sequences`: (tokens, loss_mask, span_id) each."""
    for member, values, dtype in zip(
        ("tokens", "lossmask", "span"), zip(*sequences), ("<i4", "u1", "u1")
    ):
        write_member(f"{prefix}_{member}", values, dtype)


def plain_sequence(random, length):
    """Tokens without messages, with EOD last, and masks as a conversation has."""
    tokens = random.integers(0, 100_000, length)
    span = np.sort(random.integers(0, 3, length))
    span[max(length - 2, 0) :] = 0
    if length:
        tokens[-1] = 199_999
    return tokens, (span > 0).astype(np.uint8), span.astype(np.uint8)


def plain_sequences(lengths, seed=0):
    random = np.random.default_rng(seed)
    return [plain_sequence(random, length) for length in lengths]
