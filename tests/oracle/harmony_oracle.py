"""Random Harmony conversations and what openai-harmony 0.0.8 makes of them.

    TIKTOKEN_ENCODINGS_BASE=DIR python harmony_oracle.py SEED COUNT > cases.jsonl
    TIKTOKEN_ENCODINGS_BASE=DIR python harmony_oracle.py --edges > cases.jsonl

One line per conversation: `messages_json`; `tokens` (without the end-of-document token) or
`error`, as the package alone decides; `synth` (is it accepted by the SYNTH pipeline's rules).
DIR holds o200k_base.tiktoken. With --edges, the conversations are those of harmony_edges.py.
"""

import json
import random
import struct
import sys

import harmony_edges
from openai_harmony import (
    Conversation,
    Message,
    RenderConversationConfig,
    load_harmony_encoding,
)

ENCODING = load_harmony_encoding("HarmonyGptOss")
CONFIG = RenderConversationConfig(auto_drop_analysis=False)
RETURN = 200002


class Raw(str):
    """JSON text that is written unchanged."""


class Obj(list):
    """An object as a list of (key, value), duplicates included."""


# --- the oracle ---------------------------------------------------------------------------


def read(text):
    value = json.loads(text)
    messages = value.get("messages")
    if not isinstance(messages, list):
        raise ValueError("messages_json must contain a list field 'messages'.")
    return messages


def chat(text):
    messages = [Message.from_dict(message) for message in read(text)]
    conversation = Conversation.from_messages(messages)
    return ENCODING.render_conversation_for_training(conversation, config=CONFIG)


def synth(text):
    """The rules of the pipeline: raises where it refused."""
    messages = read(text)
    roles = [message.get("role") for message in messages]
    for message, role in zip(messages, roles):
        if role not in ("system", "developer", "user", "assistant"):
            raise ValueError(f"Unsupported role: {role}")
        if role == "assistant" and message.get("channel") not in ("analysis", "final"):
            raise ValueError("Assistant message missing/invalid channel")
    if "assistant" not in roles:
        raise ValueError("No assistant messages found in conversation.")
    whole = chat(text)
    parts = []
    for message in messages:
        parts.extend(ENCODING.render(Message.from_dict(message)))
    if messages[-1]["role"] == "assistant" and messages[-1].get("channel") == "final":
        parts[-1] = RETURN
    if whole != parts:
        raise ValueError("Message render does not match conversation render.")
    return whole


def judge(text):
    line = {"messages_json": text}
    try:
        line["tokens"] = chat(text)
    except (Exception, RecursionError) as error:
        line["error"] = f"{type(error).__name__}: {error}".replace("\n", " ")[:300]
    try:
        line["synth"] = synth(text) == line.get("tokens")
    except (Exception, RecursionError):
        line["synth"] = False
    return line


# --- random conversations -----------------------------------------------------------------

WORDS = [
    "the", "answer", " is", "42", "12345", "don't", "IT'S", "\n", "\n\n", "  ", "\t", "\r\n", ".",
    "...", "http://a.b/c?d=e", "é", "日本語", "😀", "👩‍💻", "مرحبا", "हिन्दी", "<|end|>", "<|start|>",
    "<|constrain|>", "{", "}", "\"", "\\", "/", "\u0000", "\u001f", "\u007f", "\u0085", "\u2028",
    "\ufeff", "\ufffd", "\U0010ffff", "null", "to=", ":", "a" * 70, "ſ", "'ſ", "\u0301", "中AB",
]
SURROGATES = [r"\ud800", r"\udc00", r"\udbff", r"\ud83d", r"\ude00\ud83d", r"\ud83d\ud83d\ude00"]
NUMBERS = [
    "0", "-0", "1", "-1", "2", "1.0", "0.0", "-0.0", "1e0", "10e-1", "1E3", "1.10", "0.1", "1e21", "1e22",
    "1e16", "1e15", "123456789012345678", "9223372036854775807", "9223372036854775808",
    "-9223372036854775808", "-9223372036854775809", "18446744073709551615", "18446744073709551616",
    "100000000000000000000000", "0.1e-6", "1e-5", "0.0001", "0.00001234", "1e-7", "5e-324", "1e-400",
    "1.7976931348623157e308", "1e308", "1e309", "1e400", "-1e400", "NaN", "Infinity", "-Infinity",
    "0.30000000000000004", "1e23", "3.14159265358979", "1" + "0" * 308, "1" + "0" * 309, "9" * 4300,
    "9" * 4301, "0.1" + "0" * 50 + "1", "2.2250738585072014e-308", "4.35", "0.000001", "1e5", "1E+5",
]


# System and developer messages that are repeated exactly.
COMMON = [
    Raw('{"role": "system", "content": [{"type": "system_content", "model_identity": "You are M.", '
        '"reasoning_effort": "High", "channel_config": {"valid_channels": ["analysis", "final"], '
        '"channel_required": true}}]}'),
    Raw('{"role":"system","content":[{"type":"system_content"}]}'),
    Raw('{"role": "system", "content": "plain"}'),
    Raw('{"role": "system", "content": "plain", "channel": "final"}'),
    Raw('{"role": "developer", "content": [{"type": "developer_content", "instructions": "Be brief."}]}'),
    Raw('{"role": "developer", "name": "n", "content": [{"type": "developer_content", "tools": '
        '{"functions": {"name": "functions", "tools": [{"name": "t", "description": "d"}]}}}]}'),
]


class Writer:
    """Writes JSON in many of its spellings."""

    def __init__(self, rng):
        self.rng = rng
        self.ascii = rng.random() < 0.5
        self.odd = rng.random() < 0.3
        self.spaces = rng.random() < 0.2

    def space(self):
        return self.rng.choice(["", "", " ", "\n", "\t", "\r\n "]) if self.spaces else ""

    def string(self, text):
        if isinstance(text, Raw):
            return str(text)
        out = json.dumps(text, ensure_ascii=self.ascii)
        if self.odd and self.rng.random() < 0.3:
            chars = []
            for char in text:
                if self.rng.random() < 0.3:
                    units = char.encode("utf-16-be", "surrogatepass")
                    for at in range(0, len(units), 2):
                        form = self.rng.choice(["\\u%04x", "\\u%04X"])
                        chars.append(form % int.from_bytes(units[at : at + 2], "big"))
                elif char == "/" and self.rng.random() < 0.5:
                    chars.append("\\/")
                else:
                    chars.append(json.dumps(char, ensure_ascii=self.ascii)[1:-1])
            out = '"' + "".join(chars) + '"'
        return out

    def value(self, value):
        space = self.space
        if isinstance(value, Raw):
            return str(value)
        if isinstance(value, str):
            return self.string(value)
        if isinstance(value, dict):
            value = Obj(value.items())
        if isinstance(value, Obj):
            fields = [
                f"{space()}{self.string(key)}{space()}:{space()}{self.value(item)}{space()}"
                for key, item in value
            ]
            return "{" + (",".join(fields) or space()) + "}"
        if isinstance(value, list):
            items = [space() + self.value(item) + space() for item in value]
            return "[" + (",".join(items) or space()) + "]"
        return json.dumps(value)


class Maker:
    def __init__(self, rng):
        self.rng = rng
        # How often a value is replaced by something wrong; often never.
        self.wrong = rng.choice([0, 0, 0, 0.01, 0.03, 0.1])
        self.surrogates = rng.choice([0, 0, 0, 0, 0.02])

    def chance(self, p):
        return self.rng.random() < p

    def pick(self, items):
        return self.rng.choice(items)

    def text(self, most=12):
        if self.chance(self.surrogates):
            return Raw('"a' + self.pick(SURROGATES) + self.pick(["b", r"\n", ""]) + '"')
        return "".join(
            self.pick(WORDS) if self.chance(0.5) else " " + self.pick(["hello", "World", "foo", "x"])
            for _ in range(self.rng.randrange(most))
        )

    def junk(self, depth=0):
        kind = self.rng.randrange(12)
        if kind == 0:
            return None
        if kind == 1:
            return self.pick([True, False])
        if kind in (2, 3):
            return Raw(self.pick(NUMBERS))
        if kind in (4, 5, 6):
            return self.pick(["", "x", "null", "true", "all", self.text(4)])
        if kind == 7:
            return {}
        if kind == 8:
            return []
        if depth > 3:
            return None
        if kind in (9, 10):
            return [self.junk(depth + 1) for _ in range(self.rng.randrange(4))]
        return Obj((self.pick(["a", "b", "type", "text", "name"]), self.junk(depth + 1)) for _ in range(3))

    def spoil(self, value):
        """Mostly the value itself."""
        return self.junk() if self.chance(self.wrong) else value

    def object(self, fields):
        """Fields are (key, value, chance to be there); some are doubled, wrong or unknown."""
        out = Obj()
        for key, value, chance in fields:
            if self.chance(self.wrong / 2):
                continue
            if self.chance(chance):
                if self.chance(self.wrong):
                    out.append((key, self.junk()))
                    if self.chance(0.7):
                        out.append((key, value))
                else:
                    out.append((key, value))
        if self.chance(0.05):
            unknown = self.pick(["extra", "id", "Role", "texts", "", Raw(r'"\ud800"'), "self", "author"])
            value = self.pick([self.junk(), Raw("NaN"), Raw(r'"\ud800"'), None])
            out.insert(self.rng.randrange(len(out) + 1), (unknown, value))
        if self.chance(0.1):
            self.rng.shuffle(out)
        return out

    def number(self):
        """The text of a number of any shape."""
        kind = self.rng.randrange(7)
        digits = lambda most: "".join(self.pick("0123456789") for _ in range(self.rng.randrange(1, most)))
        sign = self.pick(["", "", "-"])
        whole = self.pick(["0", self.pick("123456789") + digits(3), self.pick("123456789") + digits(30)])
        if kind == 0:
            return Raw(self.pick(NUMBERS))
        if kind == 1:
            value = struct.unpack("<d", self.rng.randbytes(8))[0]
            return Raw(json.dumps(value))
        if kind == 2:
            return Raw(repr(self.rng.uniform(-1, 1) * 10 ** self.rng.randrange(-10, 25)))
        if kind == 3:
            return Raw(sign + whole)
        if kind == 4:
            return Raw(f"{sign}{whole}.{digits(30)}")
        exponent = self.pick(["e", "E"]) + self.pick(["", "+", "-"]) + self.pick([digits(3), digits(4), "0" + digits(3)])
        return Raw(sign + whole + (self.pick([".0", "." + digits(20), ""])) + exponent)

    # Tools

    def schema(self, depth=0):
        kind = self.rng.randrange(13 if depth < 4 else 8)
        fields = [
            ("title", self.text(3), 0.1),
            ("description", self.pick(["A thing", "Two\nlines", "", self.text(5)]), 0.4),
            ("nullable", self.pick([True, False, None, "true", 1]), 0.15),
            ("examples", self.pick([["a", "b"], [], [1, "x"], [1, None], "x", [self.text(3)]]), 0.1),
            ("format", "date", 0.05),
        ]
        simple = ["string", "number", "integer", "boolean", "null", "any", "weird", "array", "object"]
        default = self.pick([self.text(3), "x", None, True, [1, Raw("2.50"), "é"], self.number(), self.number(), [self.number()], Raw(self.pick(NUMBERS[:34])),
                             {"b": 1, "a": [None, {}]}, Obj([("a", Raw("1e400")), ("a", "\n\"")])])
        fields.append(("default", default, 0.25))
        values = self.pick([["a", "b"], [], ["only"], [1, 2], ["a", 1, None, "é\n"], "no", [self.text(3)]])
        fields.append(("enum", values, 0.2))
        if kind == 0:
            fields.append(("type", self.pick([["string", "null"], ["integer"], [], [1], ["number", 2, "string"]]), 1))
        elif kind < 7:
            fields.append(("type", self.pick(simple), 0.95))
        elif kind == 7:
            fields.append(("$ref", "#/defs/x", 0.5))
            fields.append(("anyOf", [{"type": "string"}, {"type": "null"}], 0.5))
        elif kind == 8:
            fields += [("type", "array", 0.95), ("items", self.spoil(self.schema(depth + 1)), 0.9)]
        elif kind == 9:
            variants = [self.spoil(self.schema(depth + 1)) for _ in range(self.rng.randrange(4))]
            if variants and self.chance(0.3):
                same = self.text(3)
                variants[0] = {"type": "string", "description": same}
                fields.append(("description", same, 1))
            fields += [("oneOf", self.pick([variants, variants, variants, None, "x", {}]), 1)]
            fields.append(("type", self.pick(simple), 0.3))
        else:
            names = [self.pick(["a", "b", "c", "location", "é", "", "x y", "type", "\n"]) for _ in range(self.rng.randrange(5))]
            properties = Obj((name, self.spoil(self.schema(depth + 1))) for name in names)
            needed = self.pick([["a"], [], ["a", "b", 1, None], "a", None, ["location", "zz"]])
            fields += [("type", "object", 0.95), ("properties", self.spoil(properties), 0.95), ("required", needed, 0.6)]
        return self.object(fields)

    def deep(self):
        count = self.pick([50, 110, 115, 116, 117, 118, 119, 120, 130, 200])
        inner = self.pick(["1", "[]", "{}", '"x"'])
        if self.chance(0.5):
            return Raw('{"a":' * count + inner + "}" * count)
        return Raw('{"type":"object","default":' + "[" * count + inner + "]" * count + "}")

    def tools(self):
        namespaces = Obj()
        for _ in range(self.pick([0, 1, 1, 1, 2, 3])):
            key = self.pick(["functions", "functions", "browser", "a", "Z", "é", "", "functions "])
            tools = []
            for _ in range(self.pick([0, 1, 1, 2, 3])):
                parameters = self.pick([None, {}, self.schema(), self.schema(), self.schema()])
                if self.chance(0.03):
                    parameters = self.deep()
                tools.append(self.spoil(self.object([
                    ("name", self.pick(["get", "t", "", self.text(3)]), 1),
                    ("description", self.pick(["Gets.", "Two\nlines\n", "", "\n\n", "a\r\nb\rc", self.text(6)]), 1),
                    ("parameters", self.spoil(parameters), 0.8),
                ])))
            namespaces.append((key, self.spoil(self.object([
                ("name", self.pick([key, key, "renamed", ""]), 1),
                ("description", self.pick([None, "", "One", "Two\nlines", "\r\n x \n", self.text(6)]), 0.6),
                ("tools", self.spoil(tools), 1),
            ]))))
        return self.spoil(namespaces)

    # Messages

    def system_content(self):
        channels = self.pick([["analysis", "commentary", "final"], ["final"], [], [self.text(3), "", "a, b"]])
        needed = self.pick([True, True, False, 1, 0, "yes", "OFF", "t", "N", Raw("1.0"), Raw("0e5"), "on"])
        if self.chance(self.wrong):
            needed = self.pick([2, "2", "", " true", None, [], {}, Raw("1e400"), Raw("NaN"), "tru", "ſ", -1, Raw("0.5"), Raw("1" + "0" * 30)])
        config = self.object([("valid_channels", self.spoil(channels), 1), ("channel_required", needed, 1)])
        effort = self.pick(["Low", "Medium", "High", None])
        if self.chance(self.wrong):
            effort = self.pick(["low", "HIGH", "", "High ", 1, ["Low"], Raw(r'"\ud800"')])
        return self.object([
            ("type", "system_content", 1),
            ("model_identity", self.pick([None, "You are X.", "", self.text()]), 0.6),
            ("reasoning_effort", effort, 0.6),
            ("conversation_start_date", self.pick([None, "2026-01-01", "", self.text(3)]), 0.5),
            ("knowledge_cutoff", self.pick([None, "2024-06", "", self.text(3)]), 0.5),
            ("channel_config", self.spoil(self.pick([None, config, config])), 0.6),
            ("tools", self.pick([None, self.tools(), self.tools()]), 0.3),
        ])

    def developer_content(self):
        return self.object([
            ("type", "developer_content", 1),
            ("instructions", self.pick([None, "Be brief.", "", self.text()]), 0.7),
            ("tools", self.pick([None, self.tools(), self.tools()]), 0.5),
        ])

    def part(self, role):
        if role == "system" and self.chance(0.8):
            return self.system_content()
        if role == "developer" and self.chance(0.8):
            return self.developer_content()
        if self.chance(self.wrong):
            return self.pick([self.system_content(), self.developer_content(), self.junk(), {"type": "image"}])
        return self.object([("type", "text", 1), ("text", self.spoil(self.text(20)), 1)])

    def content(self, role):
        if self.chance(0.15):
            return self.text(20)
        if self.chance(0.02):
            return {}
        return [self.spoil(self.part(role)) for _ in range(self.pick([1, 1, 1, 1, 1, 0, 2, 3]))]

    def message(self, role):
        channel, name, recipient, content_type = None, None, None, None
        channels = ["analysis", "commentary", "final", "Final", "", "other", "final ", "analysis\n", self.text(3)]
        if role == "assistant":
            channel = self.pick(["analysis", "final"]) if self.chance(0.85) else self.pick(channels)
            if self.chance(0.2):
                recipient = self.pick(["functions.get", "all", "", "user", "browser.search", self.text(3)])
                content_type = self.pick(["<|constrain|>json", "json", "code", "", "<|constrain|>", " <|constrain|>json",
                                          "<|constrain|> json", "<|constrain|><|constrain|>", "<|constrain|", self.text(3)])
        elif self.chance(0.1):
            channel = self.pick(channels)
        if role == "tool":
            name = self.pick(["functions.get", "browser", "", "user", None, self.text(3)])
            recipient = self.pick(["assistant", "all", None])
        elif self.chance(0.08):
            name = self.pick(["bob", "", "a:b", self.text(3)])
        if self.chance(0.05):
            recipient = self.pick(["all", "assistant", "", "x y"])
        if self.chance(0.05):
            content_type = self.pick(["text", "<|constrain|>x", ""])
        written = role
        if self.chance(self.wrong / 2):
            written = self.pick(["function", "", "User", "user ", 5, None, [], {}, True, Raw(r'"\u0075ser"'), Raw('"\\ud800"')])
        return self.object([
            ("role", written, 1),
            ("name", self.spoil(name), 1 if name is not None else 0.05),
            ("channel", self.spoil(channel), 1 if channel is not None else 0.1),
            ("recipient", self.spoil(recipient), 1 if recipient is not None else 0.1),
            ("content_type", self.spoil(content_type), 1 if content_type is not None else 0.1),
            ("content", self.spoil(self.content(role)), 1),
        ])

    def conversation(self):
        roles = []
        if self.chance(0.6):
            roles.append("system")
        if self.chance(0.5):
            roles.append("developer")
        for _ in range(self.rng.randrange(4)):
            roles.append(self.pick(["user", "assistant", "assistant", "tool" if self.chance(0.4) else "user"]))
        if self.chance(0.9):
            roles += ["assistant"]
        if self.chance(0.1):
            self.rng.shuffle(roles)
        messages = [self.spoil(self.message(role)) for role in roles]
        if self.chance(0.3):
            messages = self.rng.sample(COMMON, self.rng.randrange(1, 4)) + messages
        return self.object([("messages", self.spoil(messages), 1), ("id", self.junk(), 0.05)])

    def text_of(self):
        if self.chance(0.004):
            count = self.pick([500, 900, 980, 2000, 100000])
            nested = "[" * count + "]" * count
            return '{"x":%s,"messages":[{"role":"assistant","channel":"final","content":"x"}]}' % nested
        text = Writer(self.rng).value(self.conversation())
        if self.chance(0.06):
            for _ in range(self.pick([1, 1, 2])):
                at = self.rng.randrange(len(text) + 1)
                kind = self.rng.randrange(4)
                if kind == 0:
                    text = text[:at] + text[at + 1 :]
                elif kind == 1:
                    extra = ['"', "\\", ",", "{", "}", "[", "]", ":", "\n", "\u0001", "0", "x", "é", "\ufeff", "\u00a0", "\u000c", "-", ".", "e", "\\u12", "null"]
                    text = text[:at] + self.pick(extra) + text[at:]
                elif kind == 2:
                    text = text[:at]
                else:
                    text = self.pick(["\ufeff", " \n", "\u000b", "x", ""]) + text + self.pick(["", " ", "\u0000", "x", "{}"])
        return text


def main():
    write = sys.stdout.write
    if sys.argv[1] == "--edges":
        for text in harmony_edges.texts():
            write(json.dumps(judge(text)) + "\n")
        return
    seed, count = int(sys.argv[1]), int(sys.argv[2])
    for index in range(count):
        rng = random.Random(f"{seed}/{index}")
        write(json.dumps(judge(Maker(rng).text_of())) + "\n")


main()
