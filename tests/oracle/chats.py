"""Random chats in the shapes that people have, and what openai-harmony and the official template make
of them; Parquet files of chats by four writers; the spans that TRL's training template trains on.

    python chats.py random SEED COUNT DIR      DIR/chats.ndjson, expected.ndjson
    python chats.py tools SEED COUNT DIR       the same of chats with tools of every kind
    python chats.py parquet CASES DIR          DIR/NUMBER.WRITER.parquet, NUMBER.ndjson
    python chats.py trained CASES              one line a case: text, spans [start, end)

CASES are those of data/chat. The vocabulary is found by TIKTOKEN_ENCODINGS_BASE. The templates are those of
the package trl, run by transformers' own code, with the date pinned.
"""

import importlib.util
import json
import os
import pathlib
import random
import sys

os.environ["TRANSFORMERS_VERBOSITY"] = "critical"
DATE = "2026-01-01"

WORDS = """the a kettle grinds 2+2 Où hôtel 你好 🙂 مرحبا naïve​check x<|end|>y <|start|>assistant
<|return|> {"k":1} \\n "quoted" 'it' & <b> # ## [1,2] don't I'm 12345 3.14 ... — … \t""".split(" ")


def texts(rng, most=12):
    parts = [rng.choice(WORDS) for _ in range(rng.randint(1, most))]
    return rng.choice([" ", " ", "\n", ""]).join(parts) or "x"


def value(rng, depth=0):
    kinds = [lambda: rng.randint(-5, 10**9), lambda: rng.random() * 100, lambda: texts(rng, 3), lambda: True, lambda: None]
    if depth < 2:
        kinds += [
            lambda: [value(rng, depth + 1) for _ in range(rng.randint(0, 3))],
            lambda: {f"k{i}": value(rng, depth + 1) for i in range(rng.randint(0, 3))},
        ]
    return rng.choice(kinds)()


def without_nulls(given):
    if isinstance(given, dict):
        return {key: without_nulls(member) for key, member in given.items() if member is not None}
    return [without_nulls(item) for item in given] if isinstance(given, list) else given


FUNCTIONS = [
    {
        "name": "get_weather",
        "description": "Get current weather.",
        "parameters": {
            "type": "object",
            "properties": {
                "location": {"type": "string", "description": "City and country"},
                "unit": {"type": "string", "enum": ["c", "f"], "default": "c"},
            },
            "required": ["location"],
        },
    },
    {"name": "ping", "description": "Ping."},
]


def chat(rng):
    """A chat by its meaning: a list of (kind, fields)."""
    said = []
    if rng.random() < 0.4:
        said.append(("system", {"text": texts(rng)}))
    has_tools = rng.random() < 0.4
    calls = 0
    for _ in range(rng.randint(1, 4)):
        said.append(("user", {"text": texts(rng)}))
        while has_tools and rng.random() < 0.5:
            own = []
            for _ in range(rng.choice([1, 1, 1, 2])):
                calls += 1
                # Nulls of members that no schema has are padding of tables, and are left out.
                arguments = without_nulls({f"a{i}": value(rng) for i in range(rng.randint(0, 3))})
                own.append({"id": f"c{calls}", "name": rng.choice(FUNCTIONS)["name"], "arguments": arguments})
            thinking = texts(rng) if rng.random() < 0.5 else None
            content = texts(rng) if rng.random() < 0.2 else None
            said.append(("call", {"thinking": thinking, "text": content, "calls": own}))
            for one in rng.sample(own, len(own)):
                said.append(("result", {"call": one, "text": texts(rng) if rng.random() < 0.8 else {"v": value(rng)}}))
        said.append(("answer", {"thinking": texts(rng) if rng.random() < 0.5 else None, "text": texts(rng)}))
    return said, has_tools


def in_shape(rng, said, has_tools):
    """A record of one of the shapes, and the shape's name."""
    has_calls = any(kind == "call" for kind, _ in said)
    fits = ["messages", "messages", "responses"]
    if not has_tools:
        fits += ["sharegpt", "prompt-completion"]
        answers = [kind for kind, _ in said if kind == "answer"]
        if not any(fields.get("thinking") for _, fields in said):
            fits += ["alpaca", "alpaca"]
        elif len(answers) == 1:
            fits += ["columns"]
    shape = rng.choice(fits)
    record = {}
    tools = [{"type": "function", "function": function} for function in FUNCTIONS]
    if has_tools:
        record["tools"] = rng.choice([tools, json.dumps(tools), FUNCTIONS])
    null = (lambda: {"tool_calls": None, "name": None, "refusal": None}) if rng.random() < 0.3 else dict
    parts = rng.random() < 0.2
    content = lambda text: [{"type": "text", "text": text}] if parts and isinstance(text, str) else text
    key = rng.choice(["thinking", "reasoning_content", "reasoning"])
    if shape == "responses":
        items = []
        for kind, fields in said:
            if kind == "system":
                record["instructions"] = fields["text"]
            elif kind == "user":
                items.append({"role": "user", "content": fields["text"]})
            elif kind == "result":
                items.append({"type": "function_call_output", "call_id": fields["call"]["id"], "output": fields["text"]})
            else:
                if fields["thinking"]:
                    items.append({"type": "reasoning", "summary": [{"type": "summary_text", "text": fields["thinking"]}]})
                if fields["text"]:
                    items.append({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": fields["text"]}]})
                for call in fields.get("calls", []):
                    items.append({"type": "function_call", "call_id": call["id"], "name": call["name"], "arguments": json.dumps(call["arguments"], ensure_ascii=False)})
        return {**record, "input": items}, shape
    if shape == "alpaca":
        *before, (_, question), (_, answer) = [one for one in said if one[0] != "system"]
        history = [[a["text"], b["text"]] for (_, a), (_, b) in zip(before[::2], before[1::2])]
        system = [fields["text"] for kind, fields in said if kind == "system"]
        return {
            **record, "instruction": question["text"], "input": "", "output": answer["text"],
            **({"system": system[0]} if system else {}), **({"history": history} if history else {}),
        }, shape
    if shape == "columns":
        by_kind = dict(said)
        return {
            "developer": by_kind.get("system", {}).get("text"), "user": by_kind["user"]["text"],
            "analysis": by_kind["answer"]["thinking"], "final": by_kind["answer"]["text"],
        }, shape
    messages = []
    for kind, fields in said:
        message = {"content": content(fields["text"]), **null()}
        if kind in ("system", "user"):
            message["role"] = kind
        elif kind == "result":
            message.update(role="tool", tool_call_id=fields["call"]["id"])
        else:
            message["role"] = "assistant"
            if fields["thinking"]:
                if kind == "answer" and rng.random() < 0.2 and isinstance(message["content"], str) and fields["thinking"].strip("\n") == fields["thinking"] and not fields["text"].startswith("\n"):
                    message["content"] = f"<think>\n{fields['thinking']}\n</think>\n\n{fields['text']}"
                else:
                    message[key] = fields["thinking"]
            if kind == "call":
                message["tool_calls"] = [
                    {"id": call["id"], "type": "function", "function": {"name": call["name"], "arguments": call["arguments"]}}
                    for call in fields["calls"]
                ]
        messages.append(message)
    if shape == "sharegpt":
        roles = {"system": "system", "user": "human", "assistant": "gpt"}
        record["conversations"] = [
            {"from": roles[m.pop("role")], "value": m.pop("content"), **m} for m in messages
        ]
        return record, shape
    if shape == "prompt-completion":
        return {**record, "prompt": messages[:-1], "completion": messages[-1:]}, shape
    return {**record, "messages": messages}, shape


def dumps(value):
    return json.dumps(value, ensure_ascii=False)


def harmony(said, has_tools, shape):
    """The tokens of openai-harmony, with all thinking."""
    from openai_harmony import (Author, Conversation, DeveloperContent, Message, ReasoningEffort,
                                Role, SystemContent, ToolDescription)
    system = SystemContent.new().with_conversation_start_date(DATE).with_reasoning_effort(ReasoningEffort.MEDIUM)
    messages = [Message.from_role_and_content(Role.SYSTEM, system)]
    developer = DeveloperContent.new()
    instructions = [fields["text"] for kind, fields in said if kind == "system"]
    if instructions:
        developer = developer.with_instructions(instructions[0])
    if has_tools:
        developer = developer.with_function_tools(
            [ToolDescription.new(f["name"], f["description"], parameters=f.get("parameters")) for f in FUNCTIONS]
        )
    if instructions or has_tools:
        messages.append(Message.from_role_and_content(Role.DEVELOPER, developer))
    assistant = lambda text, channel: Message.from_role_and_content(Role.ASSISTANT, text).with_channel(channel)
    for kind, fields in said:
        if kind == "user":
            messages.append(Message.from_role_and_content(Role.USER, fields["text"]))
        elif kind == "result":
            text = fields["text"] if isinstance(fields["text"], str) else dumps(fields["text"])
            author = Author(role=Role.TOOL, name="functions." + fields["call"]["name"])
            message = Message.from_author_and_content(author, text)
            messages.append(message.with_channel("commentary").with_recipient("assistant"))
        elif kind != "system":
            if fields["thinking"]:
                messages.append(assistant(fields["thinking"], "analysis"))
            if kind == "answer":
                messages.append(assistant(fields["text"], "final"))
                continue
            if fields["text"]:
                messages.append(assistant(fields["text"], "commentary"))
            for call in fields["calls"]:
                message = assistant(dumps(call["arguments"]), "commentary")
                message = message.with_recipient("functions." + call["name"])
                messages.append(message.with_content_type("<|constrain|>json"))
    return ENCODING.render_conversation_for_training(Conversation.from_messages(messages), config=CONFIG)


def template_named(name, date):
    home = importlib.util.find_spec("trl").submodule_search_locations[0]
    text = (pathlib.Path(home) / "chat_templates" / name).read_text()
    return text.replace('strftime_now("%Y-%m-%d")', f'"{date}"')


def render(name, record, masks=False, date=DATE, **options):
    from transformers.utils.chat_template_utils import render_jinja_template
    rendered, spans = render_jinja_template(
        conversations=[record["messages"]], tools=record.get("tools"), chat_template=template_named(name, date),
        add_generation_prompt=False, return_assistant_tokens_mask=masks, **options,
    )
    return rendered[0], spans[0] if spans else []


def template_text(said, has_tools):
    """The text of the official template, or None where it loses or refuses what the chat says."""
    messages = []
    for kind, fields in said:
        if kind == "result":
            messages.append({"role": "tool", "content": fields["text"]})
        elif kind == "call":
            if len(fields["calls"]) > 1 or fields["thinking"] and fields["text"]:
                return None
            call = fields["calls"][0]
            message = {"role": "assistant", "content": fields["text"] or "", "tool_calls": [{"function": {"name": call["name"], "arguments": call["arguments"]}}]}
            messages.append({**message, **({"thinking": fields["thinking"]} if fields["thinking"] else {})})
        else:
            message = {"role": "assistant" if kind == "answer" else kind, "content": fields["text"]}
            messages.append({**message, **({"thinking": fields["thinking"]} if fields.get("thinking") else {})})
    tools = [{"type": "function", "function": function} for function in FUNCTIONS]
    return render("gptoss.jinja", {"messages": messages, "tools": tools if has_tools else None})[0]


def random_chats(seed, count, folder):
    global ENCODING, CONFIG
    from openai_harmony import RenderConversationConfig, load_harmony_encoding
    ENCODING = load_harmony_encoding("HarmonyGptOss")
    CONFIG = RenderConversationConfig(auto_drop_analysis=False)
    rng = random.Random(int(seed))
    folder = pathlib.Path(folder)
    with open(folder / "chats.ndjson", "w") as chats, open(folder / "expected.ndjson", "w") as expected:
        for number in range(int(count)):
            said, has_tools = chat(rng)
            record, shape = in_shape(rng, said, has_tools)
            chats.write(json.dumps({"id": f"r{number}", **record}) + "\n")
            line = {"shape": shape, "harmony": harmony(said, has_tools, shape), "exact": template_text(said, has_tools)}
            expected.write(json.dumps(line) + "\n")


def default(rng, depth=0):
    kind = rng.randint(0, 8)
    if kind == 4 and depth < 2:
        return [default(rng, depth + 1) for _ in range(rng.randint(0, 3))]
    if kind == 5 and depth < 2:
        return {f"k{i}": default(rng, depth + 1) for i in range(rng.randint(0, 2))}
    values = [rng.randint(-3, 100), 1.0, 0.5, 1e21, -0.0, 1e-7, True, False, None]
    return rng.choice([*values, "a", 'é"q', "x y", "", "long " * 5])


def schema(rng, depth=0):
    """A schema as people write them, and as nobody should."""
    types = ["string", "number", "integer", "boolean", "object", "array", "null", "weird", None]
    kind = rng.choice([*types, ["string", "null"], ["integer"], [], ["object", "object"], 5])
    made = {} if kind is None else {"type": kind}
    if rng.random() < 0.3:
        made["description"] = rng.choice(["desc", "two\nlines", "", None] * 3 + [5])
    if rng.random() < 0.3:
        made["default"] = default(rng)
    if rng.random() < 0.2:
        made["enum"] = rng.choice([["a", "b"], [1, 2], ["x"], [], [None, True, 1.5]])
    if rng.random() < 0.2:
        made["nullable"] = rng.choice([True, False])
    if depth < 3 and kind == "object" and rng.random() < 0.7:
        names = rng.sample(["a", "type", "items", "b c", "é", "get"], rng.randint(0, 3))
        made["properties"] = {name: schema(rng, depth + 1) for name in names}
        if rng.random() < 0.6:
            made["required"] = [name for name in names if rng.random() < 0.5]
    if depth < 3 and kind == "array" and rng.random() < 0.8:
        made["items"] = rng.choice([schema(rng, depth + 1), schema(rng, depth + 1), {}, True, None])
    if depth < 3 and rng.random() < 0.15:
        made["oneOf"] = [schema(rng, depth + 1) for _ in range(rng.randint(0, 3))]
    return made


def random_tools(seed, count, folder):
    """Chats with tools of every kind, and the template's text, or null where it raises."""
    rng = random.Random(int(seed))
    folder = pathlib.Path(folder)
    with open(folder / "chats.ndjson", "w") as lines, open(folder / "expected.ndjson", "w") as expected:
        for number in range(int(count)):
            tools = []
            for name in range(rng.randint(1, 2)):
                function = {"name": f"f{name}"}
                if rng.random() < 0.95:
                    function["description"] = rng.choice(["d", "multi\nline", ""])
                names = [f"p{i}" for i in range(rng.randint(0, 3))]
                properties = {name: schema(rng, 1) for name in names}
                if rng.random() < 0.9:
                    function["parameters"] = {**schema(rng), "type": "object", "properties": properties}
                tools.append({"type": "function", "function": function})
            messages = [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]
            record = {"id": str(number), "messages": messages, "tools": tools}
            options = {}
            if rng.random() < 0.1:
                names = rng.choice([["browser"], ["python"], ["python", "browser"], ["x"], []])
                record["builtin_tools"] = options["builtin_tools"] = names
            lines.write(json.dumps(record) + "\n")
            try:
                text = render("gptoss.jinja", record, **options)[0]
            except Exception:  # As the template raises: type errors, undefined values.
                text = None
            expected.write(json.dumps({"text": text}) + "\n")


def parquet_files(cases, folder):
    import datasets
    import duckdb
    import polars
    import pyarrow
    import pyarrow.parquet
    datasets.disable_progress_bars()
    for number, line in enumerate(open(cases)):
        record = json.loads(line)["input"]
        path = f"{folder}/{number}"
        open(f"{path}.ndjson", "w").write(json.dumps(record) + "\n")
        read = f"select * from read_json('{path}.ndjson', format='newline_delimited', union_by_name=true)"
        writers = {
            "pyarrow": lambda to: pyarrow.parquet.write_table(pyarrow.Table.from_pylist([record]), to),
            "polars": lambda to: polars.DataFrame([record], infer_schema_length=None).write_parquet(to),
            "datasets": lambda to: datasets.Dataset.from_list([record]).to_parquet(to),
            "duckdb": lambda to: duckdb.sql(f"copy ({read}) to '{to}' (format parquet)"),
        }
        for name, write in writers.items():
            to = f"{path}.{name}.parquet"
            try:
                write(to)
            except Exception:  # A table has one type for each column; not every chat fits one.
                pathlib.Path(to).unlink(missing_ok=True)


def as_messages(record):
    """The simple chats of other shapes as OpenAI messages."""
    system = [{"role": "system", "content": record[key]} for key in ("system", "developer") if record.get(key)]
    user = lambda text: {"role": "user", "content": text}
    assistant = lambda text, **more: {"role": "assistant", "content": text, **more}
    if "messages" in record:
        return record
    if "conversations" in record and "tools" not in record:
        roles = {"human": "user", "gpt": "assistant"}
        said = [(one.get("from") or one["role"], one.get("value") or one["content"]) for one in record["conversations"]]
        return {"messages": system + [{"role": roles.get(role, role), "content": text} for role, text in said]}
    if "prompt" in record and isinstance(record["prompt"], list):
        return {"messages": record["prompt"] + record["completion"]}
    if "instruction" in record:
        before = [one for a, b in record.get("history", []) for one in (user(a), assistant(b))]
        return {"messages": system + before + [user(record["instruction"]), assistant(record["output"])]}
    if "final" in record:
        return {"messages": system + [user(record["user"]), assistant(record["final"], thinking=record["analysis"])]}
    return record


def trained(cases):
    for line in open(cases):
        case = json.loads(line)
        record = as_messages(case["input"])
        options = {**case["options"], **(record.get("chat_template_kwargs") or {})}
        options.pop("add_generation_prompt")
        try:
            text, spans = render("gptoss_training.jinja", record, masks=True, **options)
            print(json.dumps({"text": text, "spans": spans}))
        except Exception as error:
            print(json.dumps({"error": f"{type(error).__name__}: {error}"}))


if __name__ == "__main__":
    mode, *arguments = sys.argv[1:]
    {"random": random_chats, "tools": random_tools, "parquet": parquet_files, "trained": trained}[mode](*arguments)
