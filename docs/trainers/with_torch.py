"""Plain torch on CPU: rows from the triple itself and an index, two steps of AdamW, with the span loss.

python docs/trainers/with_torch.py ROOT/train/shard_00 packs.parquet
"""

import sys

import numpy as np
import torch
from gristmill_data.loss import span_normalized_loss
from gristmill_data.packed import PackedStream, PackedTriples, packed_span_loss, token_losses

import tiny

prefix, index = sys.argv[1:]
of = tiny.sequences(prefix)
spans = np.split(np.fromfile(f"{prefix}_span.bin", "u1"), np.cumsum([len(t) for t, _ in of])[:-1])
stream = PackedStream(PackedTriples(prefix, index), seed=1)
model = tiny.model(of).train()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)


def losses_of(row):
    # Positions begin anew at each seam: so transformers lets no attention cross one, but only without a
    # cache of keys.
    inputs = {name: row[name][None] for name in ("input_ids", "position_ids")}
    logits = model(**inputs, use_cache=False).logits
    return token_losses(logits[0], row["labels"])


def one_by_one(pieces):
    """The mean of the span losses of the sequences, from the masks of the triple."""
    values = []
    for sequence, start, length in pieces:
        (tokens, mask), span = of[sequence], spans[sequence]
        tokens = torch.from_numpy(tokens[start : start + length].astype(np.int64))
        logits = model(input_ids=tokens[None]).logits[0]
        losses = torch.nn.functional.cross_entropy(logits[:-1], tokens[1:], reduction="none")
        own = slice(start, start + length - 1)
        mask, span = (torch.from_numpy(of[own].astype(np.int64)) for of in (mask, span))
        values.append(span_normalized_loss(losses, mask, span).loss.item())
    return float(np.mean(values))


for step, row in zip(range(2), stream):
    signals = (row[name] for name in ("labels", "span_id", "seq_lengths"))
    loss = packed_span_loss(losses_of(row), *signals).loss
    with torch.no_grad():
        wanted = one_by_one(stream.rows.pieces(row["row"]))
    tiny.same(f"row {row['row']}", [loss.item()], [wanted])
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
