"""Real documents as conversations, and whether their tokens are those of tiktoken.

    real_texts.py give PART TEXTS.ndjson > conversations.ndjson
    TIKTOKEN_ENCODINGS_BASE=DIR real_texts.py check PART TEXTS.ndjson < tokens.ndjson
    real_texts.py decoded PART TEXTS.ndjson < decoded.ndjson

TEXTS.ndjson has a JSON string in a line (benches/suite/real_texts.py makes it). Of PART documents
one is taken, drawn with a fixed seed; 1 takes all. `check` compares the tokens records of harmony-tok
with tiktoken's tokens and prints how many documents and tokens there were; `decoded` compares the
texts that `harmony-tok --decode` gives back. DIR holds o200k_base.tiktoken.
"""

import json
import os
import random
import sys

START, END, MESSAGE, EOD = 200006, 200007, 200008, 199999
PATTERN = "|".join(
    [
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    ]
)


def documents(part, path):
    """(id, text) of the documents that are taken."""
    drawn = random.Random(16)
    with open(path, encoding="utf-8") as lines:
        for number, line in enumerate(lines):
            if drawn.random() * part < 1:
                yield str(number), json.loads(line)


def encoding():
    import tiktoken
    from tiktoken.load import load_tiktoken_bpe

    ranks = load_tiktoken_bpe(os.path.join(os.environ["TIKTOKEN_ENCODINGS_BASE"], "o200k_base.tiktoken"))
    return tiktoken.Encoding("o200k", pat_str=PATTERN, mergeable_ranks=ranks, special_tokens={})


def compare(part, path, what, expected):
    """Compares a member of the records on stdin with what is expected of each document."""
    count = size = 0
    for identity, text in documents(part, path):
        line = sys.stdin.readline()
        if not line:
            sys.exit(f"document {identity}: no record")
        record = json.loads(line)
        if record["id"] != identity or record[what] != expected(text):
            sys.exit(f"document {identity}: differs: {text[:200]!r}")
        count, size = count + 1, size + len(record[what])
    if sys.stdin.readline():
        sys.exit("more records than documents")
    print(f"{count} documents, {size} {'tokens' if what == 'tokens' else 'characters'}: equal")


def main():
    command, part, path = sys.argv[1:]
    part = int(part)
    if command == "give":
        for identity, text in documents(part, path):
            message = {"role": "user", "content": text}
            print(json.dumps({"id": identity, "messages": [message]}))
    elif command == "check":
        tiktoken = encoding()
        user = tiktoken.encode_ordinary("user")
        tokens = lambda text: [START, *user, MESSAGE, *tiktoken.encode_ordinary(text), END, EOD]
        compare(part, path, "tokens", tokens)
    else:
        whole = lambda text: f"<|start|>user<|message|>{text}<|end|><|endoftext|>"
        compare(part, path, "text", whole)


main()
