"""Chats for templates of any model, out of those of make_chats.py: for measuring.

    python make_model_chats.py CHATS.ndjson OUT.ndjson [--plain] [--same] [--spelling TOKEN...]

Reasoning as `reasoning_content` and arguments as objects, as transformers advises. With --plain only texts of
users and answers, for templates that show nothing else. With --same all chats have one system text of 2.5 kB, and the same
8 tools, 8 kB. With --spelling each text spells one of these tokens.
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


NAMES = "search_documents get_weather send_email create_event list_files run_query translate_text book_room".split()
PARAMETERS = [
    ("query", "string", "The words that are looked for, in the language of the user, without quotes."),
    ("limit", "integer", "How many results are returned at most; 10 if it is left out."),
    ("language", "string", "The code of the language of the results: en, de, fr or another of ISO 639-1."),
    ("since", "string", "Only what is newer than this day, in the form YYYY-MM-DD; all days if it is left out."),
    ("exact", "boolean", "Whether the words must stand in this order."),
    ("order", "string", "The order of the results: newest, oldest or best."),
]


def system():
    text = "You are the assistant of a small company that sells tools for gardens. Answer in the language of the user. " * 6
    rules = (f"{rule}. Never promise what rule {rule} of the company forbids; say that you ask a colleague." for rule in range(1, 24))
    return {"role": "system", "content": text + "\n\nRules:\n" + "\n".join(rules)}


def tool(name):
    description = f"Does the work of {name.replace('_', ' ')}: it returns a list of results, each with a title, a short text and"
    description += " the address where the whole can be read. Call it only if the answer is not known already."
    properties = {parameter: {"type": kind, "description": text} for parameter, kind, text in PARAMETERS}
    parameters = {"type": "object", "properties": properties, "required": ["query"]}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


def main():
    source, out, *options = sys.argv[1:]
    tokens = options[options.index("--spelling") + 1 :] if "--spelling" in options else []
    plain, same, rng = "--plain" in options, "--same" in options, random.Random(1)
    first, tools = system(), [tool(name) for name in NAMES]
    with open(source) as lines, open(out, "w") as file:
        for line in lines:
            chat = json.loads(line)
            given = [one for one in chat["messages"] if not plain or is_text(one)]
            made = {"id": chat["id"], "messages": [message(one, plain) for one in given]}
            for one in made["messages"] if tokens else []:
                one["content"] = one["content"] and spelling(one["content"], tokens, rng)
            if not plain and "tools" in chat:
                made["tools"] = chat["tools"]
            if same:
                made |= {"messages": [first, *made["messages"]], "tools": tools}
            file.write(json.dumps(made, ensure_ascii=False) + "\n")


main()
