"""Texts that spell control tokens: the ids of chat-tok beside those of transformers with `sanitize_control_tokens=True`.

    special.py CHAT_TOK [--count N] [--seed S] [--only NAME] [--each]

For every template of fit_cases.py: N random texts in all, of added tokens, pieces of them and words, in random fields of a
chat. --each: each added token of its model in each field, alone and within words, too. Prints what was found.

Known differences, counted by name:
- "keys": transformers does not look at the names of members (of arguments and of parameters); chat-tok encodes them as
  text, too. Compared with transformers alone where the template does not show the name.
- "leaks": a template that prints Python's repr, or JSON of ASCII alone, shows the marks of transformers to the model as
  escapes. Compared with the ids without these escapes.
- "cuts": what is trained on begins or ends inside a token of transformers; chat-tok cuts the text there. The text and
  its control tokens are the same.
- "lengths": a template prints the length of a text, in which marks count.
- "refused": chats that chat-tok does not take, by its reasons (a template that does not show a text, or splits it).
"""

import argparse
import collections
import json
import random
import re
import sys
import tempfile
from pathlib import Path

import fit
import fit_cases
from transformers.utils import chat_template_utils as theirs_of

MARKS = (theirs_of._CONTROL_TOKEN_START, theirs_of._CONTROL_TOKEN_END)
ESCAPED = [json.dumps(mark)[1:-1] for mark in MARKS] + [repr(mark)[1:-1] for mark in MARKS]
ESCAPE = re.compile("|".join(map(re.escape, ESCAPED)))
FIELDS = ["system", "user", "answer", "reasoning", "call answer", "argument", "list", "name", "result", "description", "enum", "key"]


def chat(number, field, text):
    """A chat in which one field is another text."""
    of = lambda name, usual: text if field == name else usual
    tools = [{
        "type": "function",
        "function": {
            "name": "wind", "description": of("description", "The wind at a place"),
            "parameters": {
                "type": "object",
                "properties": {"place": {"type": "string", "description": "a place", "enum": [of("enum", "here")]}},
                "required": ["place"],
            },
        },
    }]  # fmt: skip
    place = {of("key", "place"): of("argument", "Lisse")}
    if field == "list":
        place["more"] = [1, text]
    function = {"name": of("name", "wind"), "arguments": place}
    asked = {"role": "assistant", "content": of("call answer", "I ask."), "tool_calls": [{"id": "call00001", "type": "function", "function": function}]}
    answer = {"role": "assistant", "content": of("answer", "It turns.")}
    if field == "reasoning":
        answer["reasoning_content"] = text
    messages = [{"role": "system", "content": of("system", "Be brief.")}] if field == "system" else []
    messages.append({"role": "user", "content": of("user", "Does it turn?")})
    has_tools = field in ("call answer", "argument", "list", "name", "result", "description", "enum", "key")
    if has_tools:
        messages += [asked, {"role": "tool", "tool_call_id": "call00001", "name": function["name"], "content": of("result", "14 knots")}]
    made = {"id": str(number), "messages": [*messages, answer]}
    return made | {"tools": tools} if has_tools else made


def expected(model, record):
    """The ids of transformers, and the name of a known difference."""
    tools = record.get("tools")
    arguments = {"tools": tools, "chat_template": model.source(tools)}
    messages = json.loads(json.dumps(record["messages"]))
    ids = lambda: model.tokenizer.apply_chat_template(messages, return_dict=False, sanitize_control_tokens=True, **arguments)
    encode = theirs_of.encode_marked_chat
    rendered = []
    module = sys.modules[type(model.tokenizer)._encode_plus.__module__]
    try:
        module.encode_marked_chat = lambda tokenizer, text: rendered.append(text) or encode(tokenizer, text)
        found = ids()
    finally:
        module.encode_marked_chat = encode
    if ESCAPE.search(rendered[0]):
        # (As if they were not escaped.)
        text = ESCAPE.sub(lambda match: MARKS[ESCAPED.index(match[0]) % 2], rendered[0])
        return encode(model.tokenizer, text), "leaks"
    return found, None


def texts(rng, tokens):
    pieces = [*tokens, *(token[: len(token) // 2] for token in tokens), *(token[len(token) // 2 :] for token in tokens)]
    words = ["the mill", " ", "\n", "\n\n", "  ", "é", "日本", "x", "1", "{}", '"', "\\", "'", "<", ">", "|", "\u2028"]
    return "".join(rng.choice(pieces if rng.random() < 0.6 else words) for _ in range(rng.randint(1, 8)))


def is_cut(tokenizer, ours, theirs):
    added = lambda ids: [token for token in ids if token in tokenizer.added_tokens_decoder]
    return tokenizer.decode(ours) == tokenizer.decode(theirs) and added(ours) == added(theirs) and len(ours) != len(theirs)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--only", default="")
    parser.add_argument("--each", action="store_true")
    given = parser.parse_args()
    found, bad = collections.Counter(), []
    reasons = collections.Counter()
    with tempfile.TemporaryDirectory() as place:
        models = [pair for pair in fit_cases.models(Path(place), random.Random(1)) if given.only in pair[0]]
        for name, folder in models:
            rng = random.Random(f"{given.seed} {name}")
            model = fit.Model(folder)
            added = [token.content for token in model.added.values()]
            control = model.tokenizer._get_control_tokens(model.source([1]))
            tokens = added if len(added) < 40 else [*control][:30] + rng.sample(added, 10)
            lines = [chat(f"{at}", field, before + token + after) for at, (field, token, before, after) in enumerate(
                (field, token, *around) for field in FIELDS for token in tokens for around in (("", ""), ("a", "b"), ("\n", "\n")) if given.each)]  # fmt: skip
            lines += [chat(f"r{at}", rng.choice(FIELDS), texts(rng, tokens)) for at in range(-(-given.count // len(models)))]
            ours, why, _ = fit_cases.run(given.program, folder, lines, ["-q", "--turns", "all"])
            for record in lines:
                made = ours[record["id"]]
                if not made:
                    found["refused"] += 1
                    reasons[re.sub(r"\d+|'.*'|\".*\"", "N", why[record["id"]])[:70]] += 1
                    continue
                try:
                    ids, difference = expected(model, record)
                except Exception as error:
                    found["refused by transformers alone"] += 1
                    reasons[f"transformers: {error}"[:70]] += 1
                    continue
                is_key = any("place" not in call["function"]["arguments"] for of in record["messages"] for call in of.get("tool_calls", []))
                kind = difference or ("keys" if is_key else "same")
                if made[0]["tokens"] == ids:
                    found[kind] += 1
                elif is_key:
                    # As text, no control token more than of the chat with another key.
                    usual = expected(model, chat("x", "argument", "Lisse"))[0]
                    controls = {model.tokenizer.convert_tokens_to_ids(token) for token in control}
                    of = lambda ids: [token for token in ids if token in controls]
                    assert of(made[0]["tokens"]) == of(usual), f"{name}: {json.dumps(record)}"
                    found["keys otherwise"] += 1
                elif name == "recursive" and model.tokenizer.decode(ids)[:12] == model.tokenizer.decode(made[0]["tokens"])[:12]:
                    found["lengths"] += 1
                elif is_cut(model.tokenizer, made[0]["tokens"], ids):
                    found["cuts"] += 1
                else:
                    found["differ"] += 1
                    decode = lambda ids: model.tokenizer.convert_ids_to_tokens(ids)
                    bad.append(f"{name}: {json.dumps(record, ensure_ascii=False)}\n  {decode(made[0]['tokens'])}\n  {decode(ids)}")
    print(json.dumps({"models": len(models), "found": found, "reasons": reasons.most_common(30), "bad": bad[:20]}, ensure_ascii=False))


main()
