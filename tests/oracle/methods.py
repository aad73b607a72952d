"""What the methods of Python's types give, beside what the template crate gives: methods.py PROGRAM

PROGRAM is lib/template/examples/render. Each method is called with every combination of its values; the
results must print equally, or both sides must refuse.
"""

import itertools
import json
import subprocess
import sys
import unicodedata

TEXTS = [
    "", " ", "  ", "a", "ab", "aa", "aaa", "abab", "a b", " a b ", "  a  b  ", "a,b", ",a,,b,", "a, b, c", "aXbXXc",
    "\ta\nb\r\nc\x0bd\x0ce", "\x1ca\x1db\x1e\x1fc", "\x85a\xa0b\u2003c\u3000", "a\u2028b\u2029c\n", "\u200ba\ufeffb",
    "ä ö ü", "äöäö", "é", "e\u0301 e\u0301", "🌾 🌾🌾", "a🌾b🌾c", "日本 語", "ß", "İi", "Σας ΣΑΣ", "ǆ ǅ", "ﬁn", "-5", "+0", "--", "12", "٣", "½", "²",
    "_a1", "A Bc", "they're", "1a", "a\tb\t\tc", "\t", "ab\r\tcd\n\te", "x" * 40, "<a & 'b'>", "{} %s", "\x00\x7f",
]
PARTS = ["", " ", "  ", "a", "b", "ab", "aa", ",", ", ", "X", "XX", "\n", "\r\n", "ä", "🌾", "\u0301", "語", "\u3000", "-", "zz"]
COUNTS = [None, -2, -1, 0, 1, 2, 3, 100, True, 2**70, -(2**70), 1.0]
PLACES = [None, 0, 1, 5, 100, -1, -100, True, 2**70, -(2**70), "0"]
OTHERS = [None, 1, True, 1.5, ["a"], {"a": 1}]
SWITCHES = [True, False, 0, 1, 2, -1, 2**31 - 1, 2**31, -(2**31) - 1, 2**70, 1.0, "", "1", None, [], {"a": 1}]
ABSENT = object()  # the argument and those after it are not given

# A tuple for each argument, with what it may be.
TEXT_METHODS = {
    **{name: ([ABSENT, None, *PARTS, 1], [ABSENT, *COUNTS]) for name in ("split", "rsplit")},
    **{name: ([ABSENT, *PARTS, *OTHERS],) for name in ("strip", "lstrip", "rstrip")},
    **{name: ([ABSENT, *PARTS, *OTHERS],) for name in ("partition", "rpartition", "removeprefix", "removesuffix")},
    **{name: ([ABSENT, *PARTS[:14:2], 1], [ABSENT, *PLACES], [ABSENT, 2, -1, None]) for name in ("find", "rfind", "index", "rindex", "count")},
    **{name: ([ABSENT, *PARTS[1:14:2], ["a"], 1], [ABSENT, *PLACES], [ABSENT, 2, -1]) for name in ("startswith", "endswith")},
    "replace": ([ABSENT, *PARTS[:8], 1], [ABSENT, "", "🌾🌾", None], [ABSENT, *COUNTS]),
    "splitlines": ([ABSENT, *SWITCHES],),
    "join": ([ABSENT, [], ["a"], ["a", "b", "🌾"], ["a", 1], "abc", "", {"k": 1, "l": 2}, 5, None],),
    **{name: ([ABSENT, 1],) for name in (
        "upper", "lower", "title", "capitalize")},
}
LISTS = [[], [1], [1, 2, 1], ["a", "b", "a"], [True, 1, 1.0, "1"], [None, [1], {"a": 1}]]
LIST_METHODS = {
    "count": ([ABSENT, 1, "a", None, True, [1]],),
    "index": ([ABSENT, 1, "a", None, [1]], [ABSENT, 0, 1, -1, -9, 9, None], [ABSENT, 2, -1, 0]),
    "copy": ([ABSENT, 1],),
}
DICTS = [{}, {"a": 1}, {"a": None, "b": [1], "items": 2}]
DICT_METHODS = {
    "get": ([ABSENT, "a", "b", "items", 1, None, ["a"]], [ABSENT, None, "d"]),
    **{name: ([ABSENT, 1],) for name in ("keys", "values", "items", "copy")},
}
NUMBERS = [0, 1, -1, 255, -256, 2**63, -(2**64), True, 0.0, -0.5, 3.0, 1e300]
NUMBER_METHODS = {name: ([ABSENT, 1],) for name in ("bit_length", "bit_count", "conjugate", "is_integer")}
KINDS = [(TEXTS, TEXT_METHODS), (LISTS, LIST_METHODS), (DICTS, DICT_METHODS), (NUMBERS, NUMBER_METHODS)]
# Characters whose case is another in Unicode 16 than in 14.
CHANGED = set("ʕჼꟲꟳꟴꭩƛɤꟓꟕ")
# What the crate says that it does not do.
UNSUPPORTED = {("bit_count", 2**63), ("bit_count", -(2**64))}


def calls():
    for values, methods in KINDS:
        for name, parameters in methods.items():
            for value in values:
                for given in itertools.product(*parameters):
                    count = next((place for place, of in enumerate(given) if of is ABSENT), len(given))
                    if all(of is ABSENT for of in given[count:]) and (name, value if isinstance(value, int) else 0) not in UNSUPPORTED:
                        yield value, name, given[:count]


def characters():
    """The tests and cases of every character that this Python knows, a text of it for each call."""
    names = ["upper", "lower", "title", "capitalize"]
    for name in names:
        yield from ((character, name) for point in range(0x110000) if unicodedata.category(character := chr(point)) not in ("Cn", "Cs", "Co") and character not in CHANGED | {"|"})


def python(value, name, given):
    try:
        return str([getattr(value, name)(*given)])
    except Exception:  # noqa: BLE001 (whatever is wrong with the call)
        return None


def program(path, cases):
    lines = "".join(json.dumps(case) + "\n" for case in cases)
    done = subprocess.run([path], input=lines, capture_output=True, text=True, check=True)
    return [json.loads(line).get("text") for line in done.stdout.split("\n") if line]


def main():
    messages = [{"role": "user", "content": "x"}]
    all_calls = list(calls())
    cases = []
    for value, name, given in all_calls:
        arguments = {f"a{place}": of for place, of in enumerate(given)}
        template = "{{ [v." + name + "(" + ", ".join(arguments) + ")] }}"
        cases.append({"template": template, "messages": messages, "set": {"v": value, **arguments}})
    wrong = [
        (call, ours, theirs)
        for call, ours in zip(all_calls, program(sys.argv[1], cases), strict=True)
        if ours != (theirs := python(*call))
    ]
    shown = {}
    for call, ours, theirs in wrong:
        shown[call[1]] = shown.get(call[1], 0) + 1
        if shown[call[1]] <= 5:
            print(f"{call}\n  ours   {ours}\n  theirs {theirs}")
    print(f"{len(wrong)} differences of {len(all_calls)} calls")
    # Many characters in one text: a call for each would take minutes.
    by_name = {}
    for character, name in characters():
        by_name.setdefault(name, []).append(character)
    differing = {}
    for name, all_characters in by_name.items():
        template = "{% for c in v %}{{ c." + name + "() }}\n{% endfor %}"
        case = {"template": template.replace("\n", "|"), "messages": messages, "set": {"v": all_characters}}
        ours = program(sys.argv[1], [case])[0].split("|")
        theirs = [str(getattr(character, name)()) for character in all_characters]
        theirs = "|".join([*theirs, ""]).split("|")
        bad = [character for character, one, other in zip(all_characters, ours, theirs) if one != other]
        if bad or len(ours) != len(theirs):
            differing[name] = bad
            print(f"{name}: {len(bad)} of {len(all_characters)} characters differ: {bad[:12]}")
    sys.exit(1 if wrong or differing else 0)


if __name__ == "__main__":
    main()
