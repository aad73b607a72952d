"""Chats for templates of any model, out of those of make_chats.py: for measuring.

    python make_model_chats.py CHATS.ndjson OUT.ndjson [--plain] [--spelling TOKEN...]

Reasoning as `reasoning_content` and arguments as objects, as transformers advises. With --plain only texts of
users and answers, for templates that show nothing else. With --spelling each text spells one of these tokens.
"""

import json
import random
import sys


def message(given, is_plain):
    made = {"role": given["role"], "content": given.get("content") or ""}
    if not is_plain and given.get("thinking"):
        made["reasoning_content"] = given["thinking"]
    if given.get("tool_calls"):
        calls = [call["function"] for call in given["tool_calls"]]
        made["tool_calls"] = [
            {"type": "function", "function": {"name": call["name"], "arguments": json.loads(call["arguments"])}}
            for call in calls
        ]
    return made


def is_text(given):
    return given["role"] in ("user", "assistant") and not given.get("tool_calls")


def spelling(text, tokens, rng):
    words = text.split(" ")
    words.insert(rng.randrange(len(words) + 1), rng.choice(tokens))
    return " ".join(words)


def main():
    source, out, *options = sys.argv[1:]
    tokens = options[options.index("--spelling") + 1 :] if "--spelling" in options else []
    plain, rng = "--plain" in options, random.Random(1)
    with open(source) as lines, open(out, "w") as file:
        for line in lines:
            chat = json.loads(line)
            given = [one for one in chat["messages"] if not plain or is_text(one)]
            made = {"id": chat["id"], "messages": [message(one, plain) for one in given]}
            for one in made["messages"] if tokens else []:
                one["content"] = one["content"] and spelling(one["content"], tokens, rng)
            if not plain and "tools" in chat:
                made["tools"] = chat["tools"]
            file.write(json.dumps(made, ensure_ascii=False) + "\n")


main()
