"""Any number of distinct SYNTH rows with the text statistics of a sample: for measuring, where the
sample itself would have to be repeated.

    python make_synth_rows.py SAMPLE.parquet OUT.parquet ROWS SEED

Each row has the messages of a row of the sample, and each text in them as many lines and sentences
as the text there, drawn anew in short runs from the texts of the same place (role and channel) in
all rows. Ids are unique; the other columns are those of the row. Row groups of 2,000, zstd, as in
the published dataset. The same arguments make the same rows.
"""

import json
import random
import re
import sys

import pyarrow as pa
import pyarrow.parquet as pq

GROUP = 2000
# Pieces of a text: up to the end of a line or of a sentence; joined they are the text again.
PIECE = re.compile(r".+?(?:[.!?]\s+|\n+|\Z)|\n+", re.DOTALL)
# Consecutive pieces that stay together.
RUN = 3


def texts(messages):
    """Every text part of other roles than system and developer: its place, and the part."""
    for message in messages:
        if isinstance(message["content"], list):
            for part in message["content"]:
                if part["type"] == "text":
                    yield (message["role"], message.get("channel")), part


def pieces_of(text):
    pieces = PIECE.findall(text)
    assert "".join(pieces) == text
    return pieces


def read(sample):
    """The rows, each with its conversation, and the pieces of each place, in runs."""
    rows, runs = [], {}
    for row in pq.read_table(sample).to_pylist():
        conversation = json.loads(row["messages_json"])
        counts = []
        for place, part in texts(conversation["messages"]):
            pieces = pieces_of(part["text"])
            counts.append(len(pieces))
            runs.setdefault(place, []).extend(
                pieces[at : at + RUN] for at in range(0, len(pieces), RUN)
            )
        rows.append((row, conversation, counts))
    return rows, runs


def make(number, rows, runs, chance):
    """A row, all strings."""
    row, conversation, counts = chance.choice(rows)
    for (place, part), count in zip(texts(conversation["messages"]), counts):
        pieces = []
        while len(pieces) < count:
            pieces += chance.choice(runs[place])
        part["text"] = "".join(pieces[:count])
    return with_id(row, f"made_{number:09d}", json.dumps(conversation))


def with_id(row, synth_id, messages):
    """The row with another id and other messages."""
    made = dict(row, synth_id=synth_id, messages_json=messages)
    if row.get("metadata_json"):
        metadata = json.loads(row["metadata_json"])
        made["metadata_json"] = json.dumps(dict(metadata, synth_id=synth_id))
    return made


def main():
    sample, out, count, seed = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    rows, runs = read(sample)
    schema = pq.read_schema(sample)
    chance = random.Random(seed)
    seen = set()
    with pq.ParquetWriter(out, schema, compression="zstd") as writer:
        group = []
        for number in range(count):
            for _ in range(1000):
                made = make(number, rows, runs, chance)
                if hash(made["messages_json"]) not in seen:
                    break
            else:
                sys.exit(f"{sample}: too few texts for {count} distinct rows")
            seen.add(hash(made["messages_json"]))
            group.append(made)
            if len(group) == GROUP or number + 1 == count:
                writer.write_table(pa.Table.from_pylist(group, schema=schema))
                group = []
    print(count)


if __name__ == "__main__":
    main()
