"""The SYNTH pipeline as its contract was first met: openai-harmony renders each conversation,
numpy writes. Slow and independent; tools/bench.sh compares us with it too.

    TIKTOKEN_ENCODINGS_BASE=DIR python synth_kd_original.py SHARD.parquet ROOT NAME FRACTION
"""

import decimal
import hashlib
import json
import os
import struct
import sys

import numpy as np
import pyarrow.parquet as pq
from openai_harmony import Conversation, Message, RenderConversationConfig, load_harmony_encoding

EOD = 199999
START = 200006
CONFIG = RenderConversationConfig(auto_drop_analysis=False)
SPANS = {"analysis": 1, "final": 2}


class Builder:
    """One dataset: values as they come, the index at the end."""

    def __init__(self, prefix, code, dtype):
        self.prefix, self.code, self.dtype = prefix, code, np.dtype(dtype)
        self.bin = open(prefix + ".bin", "wb")
        self.lengths = []

    def add(self, values):
        array = np.asarray(values, dtype=self.dtype)
        self.bin.write(array.tobytes(order="C"))
        self.lengths.append(array.size)

    def finish(self):
        self.bin.close()
        lengths = np.asarray(self.lengths, dtype=np.int32)
        ends = np.cumsum(lengths.astype(np.int64) * self.dtype.itemsize)
        offsets = np.concatenate([[0], ends[:-1]]).astype(np.int64)
        documents = np.arange(len(lengths) + 1, dtype=np.int64)
        with open(self.prefix + ".idx", "wb") as idx:
            idx.write(b"MMIDIDX\x00\x00" + struct.pack("<QB", 1, self.code))
            idx.write(struct.pack("<QQ", len(lengths), len(documents)))
            idx.write(lengths.tobytes() + offsets.tobytes() + documents.tobytes())


def convert(encoding, text):
    """Tokens and spans of one conversation, both without a shift."""
    messages = [Message.from_dict(message) for message in json.loads(text)["messages"]]
    conversation = Conversation.from_messages(messages)
    tokens = encoding.render_conversation_for_training(conversation, config=CONFIG)
    # Text never makes a control token, so each <|start|> begins a message.
    starts = [at for at, token in enumerate(tokens) if token == START]
    assert len(starts) == len(messages) and starts[:1] == [0]
    spans = []
    for message, start, end in zip(messages, starts, starts[1:] + [len(tokens)]):
        assistant = message.author.role.value == "assistant"
        spans += [SPANS[message.channel] if assistant else 0] * (end - start)
    return tokens + [EOD], spans + [0]


def main():
    shard, root, name, fraction = sys.argv[1:5]
    encoding = load_harmony_encoding("HarmonyGptOss")
    decimal.getcontext().prec = 60
    threshold = int(decimal.Decimal(fraction) * 2**64)
    builders = {}
    rows = 0
    file = pq.ParquetFile(shard)
    for batch in file.iter_batches(batch_size=1000, columns=["synth_id", "messages_json"]):
        for row in batch.to_pylist():
            tokens, spans = convert(encoding, row["messages_json"])
            digest = hashlib.blake2b(row["synth_id"].encode(), digest_size=8).digest()
            split = "valid" if int.from_bytes(digest, "big") < threshold else "train"
            if split not in builders:
                os.makedirs(f"{root}/{split}", exist_ok=True)
                prefix = f"{root}/{split}/{name}"
                builders[split] = [
                    Builder(prefix + "_tokens", 4, np.int32),
                    Builder(prefix + "_lossmask", 1, np.uint8),
                    Builder(prefix + "_span", 1, np.uint8),
                ]
            shifted = spans[1:] + [0]
            mask = [1 if span else 0 for span in shifted]
            for builder, values in zip(builders[split], (tokens, mask, shifted)):
                builder.add(values)
            rows += 1
    for split in builders.values():
        for builder in split:
            builder.finish()
    print(rows)


if __name__ == "__main__":
    main()
