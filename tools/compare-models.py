"""Compares the ids of gristmill-models with those of the Python package tokenizers, by hand:

    cargo build --release -p gristmill-models --examples && tools/models.sh
    python3 tools/compare-models.py [--megabytes 100] [--engines fastest,reference] [MODEL ...]

The texts are what this machine has: translations of programs into a hundred languages (/usr/share/locale),
source code, documentation; then every code point; then random strings of what is easily got wrong. For
each model it prints how many ids there are and how many texts differ, and the first of these. Where tokens
end is compared with the offsets of tokenizers.
"""

import argparse
import gettext
import os
import pathlib
import random
import struct
import subprocess
import sys
import time
import unicodedata

from tokenizers import Tokenizer, processors

ROOT = pathlib.Path(__file__).parent.parent
MODELS = ["qwen3", "llama3_1", "deepseek_v3", "gptoss", "gpt4o", "gemma3", "llama2"]
SOURCES = [
    ("/usr/lib/python3", ".py"), ("/usr/lib/python3.11", ".py"), ("/usr/include", ".h"),
    (str(pathlib.Path("~/.cargo/registry/src").expanduser()), ".rs"),
    (str(pathlib.Path("~/.cargo/registry/src").expanduser()), ".c"),
    (str(pathlib.Path("~/.cargo/registry/src").expanduser()), ".md"),
    *[(os.environ["GRISTMILL_DATA"], ending) for ending in (".ndjson", ".jsonl") if "GRISTMILL_DATA" in os.environ],
    ("/usr/share/doc", ".html"),
    ("/usr/share/perl", ".pm"), ("/usr/share/locale", ".po"),
]  # fmt: skip


def documents(text):
    """Pieces of 3 to 6 kB, cut anywhere between characters."""
    draw = random.Random(len(text))
    at = 0
    while at < len(text):
        size = draw.randrange(1500, 5000)
        yield text[at : at + size].replace("\0", " ")
        at += size


def translations(limit):
    """The translated messages of programs, a document for each few, by language in turns."""
    by_language = {}
    for path in sorted(pathlib.Path("/usr/share/locale").rglob("*.mo")):
        by_language.setdefault(path.parts[4], []).append(path)
    seen, size = set(), 0
    while any(by_language.values()) and size < limit:
        for paths in by_language.values():
            if not paths:
                continue
            try:
                catalog = gettext.GNUTranslations(paths.pop().open("rb"))._catalog
            except (OSError, IndexError, UnicodeError, ValueError, struct.error):
                continue
            texts = [text for text in catalog.values() if text not in seen]
            seen.update(texts)
            for document in documents("\n".join(texts)):
                size += len(document.encode("utf-8", "replace"))
                yield document


def real_texts(limit):
    size = 0
    for document in translations(limit // 2):
        size += len(document.encode())
        yield document
    each = (limit - size) // len(SOURCES) * 2
    for folder, ending in SOURCES:
        taken = 0
        paths = sorted(pathlib.Path(folder).rglob("*" + ending)) if pathlib.Path(folder).is_dir() else []
        random.Random(1).shuffle(paths)
        for path in paths:
            if taken > each or size > limit:
                break
            try:
                text = path.read_text(encoding="utf-8", errors="ignore")[:400_000]
            except OSError:
                continue
            for document in documents(text):
                length = len(document.encode())
                taken += length
                size += length
                yield document


def every_code_point():
    """Each in a few surroundings."""
    for first in range(1, 0x110000, 64):
        points = [chr(point) for point in range(first, first + 64) if not 0xD800 <= point < 0xE000 and point < 0x110000]
        if points:
            yield "".join(f"a{point}b {point}B{point}{point}1{point} !{point}\n" for point in points)
            yield "".join(points)


PIECES = (
    ["a", "B", "ab", "The", "'s", "'S", "'ll", "'LL", "'ſ", "'", "’s", "1", "12", "1234567", "٣", "½", "Ⅷ", "²", " ", "  ", "   ", "\t", "\n", "\r\n"]
    + ["\n\n", "\u00a0", "\u3000", "\u0085", "\u2028", "\u200b", "\ufeff", "\x1c", ".", "...", "//", "!", "(", "<", "<|", "|>", "é", "e\u0301", "\u0301", "\u0300\u0327"]
    + ["中", "文字", "の", "カ\u3099", "한국", "\u1112\u1161\u11ab", "ไทย", "क\u093c", "द्ध", "ʰ", "ǅ", "Б", "ж", "ß", "ﬁ", "Å", "\u212b", "\u2126", "😀", "❤️", "👨‍👩‍👧", "𠀀"]
    + ["龦", "龥", "゛", "\u309f", "\u0338=", "\u0344", "\u0958", "\ufb2a", "\u2adc", "\x00".replace("\x00", "\x01"), "\x7f", "$", "€", "+", "^", "`", "~", "\\", "_", "a_b"]
    + ["can't", "DON'T", "x'd", "I'M", "we've", "\u1e9b\u0323", "\U0001d15e", "\U00011099\U000110ba", "\U0001e900", "\u088f", "\U00016121", "\ue000", "\uffff", "\u0378"]
    + ["▁", "▁▁", " ▁", ">", "> ", ">▁</", "</", "<0x0A>", "<0x", "0A>", "\t\t"]
)  # fmt: skip


def odd_texts(tokens, count, seed):
    draw = random.Random(seed)
    for number in range(count):
        kinds = draw.sample(PIECES, draw.randrange(1, 12)) if number % 2 else PIECES
        parts = [draw.choice(kinds) for _ in range(draw.randrange(1, 40))]
        for _ in range(draw.randrange(3)):
            token = draw.choice(tokens)
            cut = draw.randrange(len(token)) if draw.random() < 0.3 else 0
            parts.insert(draw.randrange(len(parts) + 1), token[cut:])
        if number % 7 == 0:
            parts = [draw.choice(kinds) * draw.randrange(1, 100)] + parts
        if number % 11 == 0:
            parts = [chr(draw.choice([draw.randrange(1, 0x3000), draw.randrange(1, 0xD800), draw.randrange(0xE000, 0x110000)])) for _ in range(30)]
        yield "".join(parts).encode("utf-8", "replace").decode()


def ours(model, engine, special, texts):
    command = [ROOT / "target/release/examples/ids", ROOT / "target/models" / model, engine, special]
    data = b"".join(text.encode() + b"\0" for text in texts)
    out = subprocess.run(command, input=data, stdout=subprocess.PIPE, check=True).stdout
    numbers, at = memoryview(out).cast("I"), 0
    for _ in texts:
        count = numbers[at]
        yield numbers[at + 1 : at + 1 + count].tolist(), numbers[at + 1 + count : at + 1 + 2 * count].tolist()
        at += 1 + 2 * count
    assert at == len(numbers)


def byte_ends(text, offsets):
    """Ends in characters as ends in bytes that never fall."""
    places = [0]
    for character in text:
        places.append(places[-1] + len(character.encode()))
    last, ends = 0, []
    # What the normalizer left out belongs to the token in front of it.
    following = [start for start, _ in offsets[1:]] + [len(text)]
    for (_, end), start in zip(offsets, following):
        last = max(last, places[end], places[start])
        ends.append(last)
    return ends


def compare(model, engines, special, name, texts):
    tokenizer = Tokenizer.from_file(str(ROOT / "target/models" / model / "tokenizer.json"))
    tokenizer.encode_special_tokens = special == "text"
    # It takes white space out of offsets.
    tokenizer.post_processor = processors.Sequence([])
    begin = time.time()
    count, different = 0, dict.fromkeys(engines, 0)
    for start in range(0, len(texts), 4000):
        some = texts[start : start + 4000]
        expected = tokenizer.encode_batch(some, add_special_tokens=False)
        count += sum(len(theirs.ids) for theirs in expected)
        wanted = [byte_ends(text, theirs.offsets) for text, theirs in zip(some, expected)]
        for engine in engines:
            found = ours(model, engine, special, some)
            for text, theirs, their_ends, (ids, ends) in zip(some, expected, wanted, found, strict=True):
                if ids != theirs.ids or ends != their_ends:
                    different[engine] += 1
                    if different[engine] <= 3:
                        show(text, theirs, their_ends, ids, ends)
    size = sum(len(text.encode()) for text in texts) / 1e6
    seconds = time.time() - begin
    print(f"{model} {special} {name}: {size:.1f} MB, {count} ids, texts that differ: {different} ({seconds:.0f} s)", flush=True)
    return sum(different.values())


def show(text, theirs, their_ends, ids, ends):
    """The first difference."""
    what, mine, other = ("ids", ids, theirs.ids) if ids != theirs.ids else ("ends", ends, their_ends)
    at = next((at for at, (left, right) in enumerate(zip(mine, other)) if left != right), len(mine))
    near = slice(max(0, at - 3), at + 4)
    print(f"  {what} at {at} of {text[:60]!r}: {mine[near]}, not {other[near]} {theirs.tokens[near]}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("models", nargs="*", default=MODELS)
    parser.add_argument("--megabytes", type=float, default=100)
    parser.add_argument("--odd", type=int, default=20000)
    parser.add_argument("--points", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--engines", default="fastest,reference")
    arguments = parser.parse_args()
    engines = arguments.engines.split(",")
    real = list(real_texts(int(arguments.megabytes * 1e6))) if arguments.megabytes else []
    print(f"{len(real)} texts, normal: {sum(unicodedata.is_normalized('NFC', text) for text in real)}")
    different = 0
    for model in arguments.models:
        tokenizer = Tokenizer.from_file(str(ROOT / "target/models" / model / "tokenizer.json"))
        tokens = [token.content for token in tokenizer.get_added_tokens_decoder().values()]
        for special in ["tokens", "text"]:
            odd = list(odd_texts(tokens, arguments.odd, arguments.seed))
            different += compare(model, engines, special, "odd", odd)
        if arguments.points:
            different += compare(model, engines, "tokens", "every code point", list(every_code_point()))
        if real:
            different += compare(model, engines, "tokens", "real", real)
    sys.exit(different > 0)


main()
