"""Texts that make careless encoders slow: long words, long runs, scripts without spaces. Each is a
function of its size in bytes (roughly) and of a generator of numbers that is seeded."""

import base64


def repeated(unit):
    return lambda size, chance: unit * (size // len(unit.encode()))


def drawn(alphabet, width=1):
    """Characters drawn from an alphabet; `width`: bytes of one."""
    return lambda size, chance: "".join(chance.choices(alphabet, k=size // width))


def random_bytes(size, chance):
    """Random bytes made valid: what is not UTF-8 becomes U+FFFD, which is three bytes."""
    return chance.randbytes(size // 2).decode("utf-8", errors="replace")


def code_points(size, chance):
    points = (chance.randrange(0x110000) for _ in range(size // 4))
    return "".join(chr(point) for point in points if not 0xD800 <= point < 0xE000)


def long_words(size, chance):
    """Words of 100 kB."""
    letters = "etaoinshrdlucmfwypvbgkjqxz"
    word = lambda: "".join(chance.choices(letters, k=min(100_000, size)))
    return " ".join(word() for _ in range(max(1, size // 100_000)))


KINDS = {
    "one letter": repeated("a"),
    "one upper-case letter": repeated("A"),
    "spaces": repeated(" "),
    "line breaks": repeated("\n"),
    "digits": drawn("0123456789"),
    "one sign (=)": repeated("="),
    "Aa, again and again": repeated("Aa"),
    "'s, again and again": repeated("'s"),
    "base64": lambda size, chance: base64.b64encode(chance.randbytes(size * 3 // 4)).decode(),
    "hexadecimal": drawn("0123456789abcdef"),
    "DNA": drawn("ACGT"),
    "words of 100 kB": long_words,
    "CJK without spaces": drawn([chr(0x4E00 + at) for at in range(3000)], 3),
    "one CJK character": repeated("中"),
    "combining marks": repeated("\u0301"),
    "emoji joined": repeated("👩\u200d👩\u200d👧\u200d👦"),
    "random bytes": random_bytes,
    "random code points": code_points,
}
