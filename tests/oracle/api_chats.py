"""Chats as OpenAI's API and `json.dump` write them, for every template that shows tools.

    api_chats.py CHAT_TOK

A chat with two parallel calls, their results and an answer: with the content of the call empty, null, and not there; as the
API returns messages (refusal, annotations, audio, function_call: null); on a line without a newline, as an array, over
many lines. Where a model takes the first, it takes all, and their tokens are the same.
"""

import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import fit_cases

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": f"The {name} at a place",
            "parameters": {"type": "object", "properties": {"place": {"type": "string", "description": "a place"}}, "required": ["place"]},
        },
    }
    for name in ("wind", "rain")
]


def chat(content, **more):
    calls = [
        {"id": f"call0000{at}", "type": "function", "function": {"name": name, "arguments": json.dumps({"place": "Kinderdijk"})}}
        for at, name in enumerate(("wind", "rain"))
    ]
    asked = {"role": "assistant", "tool_calls": calls, **content, **more}
    results = [{"role": "tool", "tool_call_id": f"call0000{at}", "name": name, "content": text} for at, (name, text) in enumerate((("wind", "14 knots"), ("rain", "none")))]
    answer = {"role": "assistant", "content": "It turns.", **more}
    return {"id": "x", "messages": [{"role": "user", "content": "Does it turn?"}, asked, *results, answer], "tools": TOOLS}


def tokens(program, folder, text, flags):
    run = subprocess.run([program, "-q", "--model", str(folder), *flags], input=text.encode(), capture_output=True)
    if run.returncode != 0:
        return run.stderr.decode()
    return [json.loads(line)["tokens"] for line in run.stdout.splitlines()]


def main():
    program = sys.argv[1]
    empty = json.dumps(chat({"content": ""})) + "\n"
    nothing = {"refusal": None, "annotations": [], "audio": None, "function_call": None}
    others = {
        "null": json.dumps(chat({"content": None})) + "\n",
        "absent": json.dumps(chat({})) + "\n",
        "api": json.dumps(chat({"content": None}, **nothing)) + "\n",
        "parts": json.dumps(chat({"content": []})) + "\n",
        "no newline": json.dumps(chat({"content": None})),
        "array": json.dumps([chat({"content": None})]),
        "dump": json.dumps([chat({"content": None})], indent=2),
        "lines": json.dumps(chat({"content": None}), indent=1),
    }
    taken, refused, bad = 0, 0, []
    with tempfile.TemporaryDirectory() as place:
        for name, folder in fit_cases.models(Path(place), random.Random(1)):
            date = ["--date", "2026-01-01"]
            wanted = tokens(program, folder, empty, date)
            if isinstance(wanted, str):
                refused += 1
                continue
            taken += 1
            for form, text in others.items():
                found = tokens(program, folder, text, date)
                if found != wanted:
                    bad.append(f"{name}, {form}: {found if isinstance(found, str) else 'other tokens'}")
    print(json.dumps({"taken": taken, "refused": refused, "bad": bad}))


main()
