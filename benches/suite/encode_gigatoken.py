"""`encode` (benches/peers) for gigatoken, which has no crate: the same arguments and the same answer,
but for the hash.

    encode_gigatoken.py TEXTS.ndjson PASSES [DIGESTS]

Texts are given as bytes, one by one, as the others get them, and tokens come back as an array.
"""

import hashlib
import json
import pathlib
import sys
import time

import gigatoken


def memory(line):
    status = pathlib.Path("/proc/self/status").read_text()
    [value] = [found for found in status.splitlines() if found.startswith(line)]
    return 1024 * int(value.split()[1])


def main():
    file, passes, *digests = sys.argv[1:]
    texts = [json.loads(line).encode() for line in open(file, encoding="utf-8")]
    before = memory("VmRSS:")
    pathlib.Path("/proc/self/clear_refs").write_text("5")
    start = time.perf_counter()
    # The bench makes this directory for tiktoken's original too (Inputs.vocabulary).
    # With the scheme named, no string is a special token.
    encode = gigatoken.Tokenizer.from_tiktoken("vocabulary/o200k_base.tiktoken", "o200k").encode
    encode(b"a")
    load = time.perf_counter() - start

    rest = len(texts) - len(texts) // 5
    seconds = []
    for number in range(int(passes)):
        start = time.process_time()
        for text in texts[:rest]:
            encode(text)
        middle = time.process_time()
        for text in texts[rest:]:
            encode(text)
        end = time.process_time()
        seconds.append(end - start)
        if number == 0:
            steady = end - middle
    most = memory("VmHWM:")

    tokens = [encode(text) for text in texts]
    if digests:
        digest = lambda ids: hashlib.sha256(ids.astype("<u4").tobytes()).digest()[:8]
        pathlib.Path(digests[0]).write_bytes(b"".join(map(digest, tokens)))
    facts = {"load": load, "passes": seconds, "steady": steady, "memory": most - before}
    facts["steady_bytes"] = sum(map(len, texts[rest:]))
    facts.update(bytes=sum(map(len, texts)), tokens=sum(map(len, tokens)))
    print(json.dumps(facts))


main()
