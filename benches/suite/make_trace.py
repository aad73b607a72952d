"""Traces of agents, for measuring: make_trace.py CHATS CALLS > OUT.ndjson."""

import json
import random
import sys

WORDS = "the file says that it has no test of this name so look for the line where error value is set in main again".split()


def main():
    chats, calls = map(int, sys.argv[1:])
    rng = random.Random(1)
    words = lambda most: " ".join(rng.choices(WORDS, k=rng.randint(4, most)))
    parameters = {"type": "object", "properties": {"path": {"type": "string"}, "lines": {"type": "integer"}}}
    tool = {"name": "read", "description": "Reads a file.", "parameters": parameters}
    number = 0
    for chat in range(chats):
        messages = [{"role": "user", "content": words(40)}]
        for _ in range(calls):
            number += 1
            function = {"name": "read", "arguments": {"path": f"src/{words(4)}", "lines": number}}
            call = {"id": f"c{number}", "type": "function", "function": function}
            messages.append({"role": "assistant", "content": "", "reasoning_content": words(30), "tool_calls": [call]})
            messages.append({"role": "tool", "tool_call_id": f"c{number}", "content": words(60)})
        messages.append({"role": "assistant", "content": words(20), "reasoning_content": words(20)})
        record = {"id": f"t{chat}", "messages": messages, "tools": [{"type": "function", "function": tool}]}
        print(json.dumps(record))


if __name__ == "__main__":
    main()
