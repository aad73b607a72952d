"""Chats that conversations could have been made of, as people have them: for measuring.

    python make_chats.py CONVERSATIONS.parquet OUT.ndjson

OpenAI messages with the reasoning as `thinking`; every fourth chat has two turns, and every eighth calls a tool.
"""

import json
import sys

import pyarrow.parquet as pq

TOOLS = [{"type": "function", "function": {"name": "search", "description": "Searches.", "parameters": {
    "type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}}}]


def text(message):
    content = message["content"]
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def chat(row):
    by_kind = {(m["role"], m.get("channel")): text(m) for m in json.loads(row["messages_json"])["messages"]}
    question = {"role": "user", "content": by_kind.get(("user", None), "")}
    answer = {
        "role": "assistant", "content": by_kind.get(("assistant", "final"), ""),
        "thinking": by_kind.get(("assistant", "analysis"), ""),
    }
    return question, answer


def main():
    source, out = sys.argv[1:]
    before, number = None, 0
    with open(out, "w") as file:
        for batch in pq.ParquetFile(source).iter_batches(2000):
            for row in batch.to_pylist():
                question, answer = chat(row)
                record = {"id": row["synth_id"], "messages": [question, answer]}
                if number % 4 == 0 and before:
                    record["messages"] = [*before, question, answer]
                if number % 8 == 1:
                    call = {"id": "c", "type": "function", "function": {"name": "search", "arguments": json.dumps({"query": question["content"][:80]})}}
                    record["messages"][1:1] = [
                        {"role": "assistant", "tool_calls": [call]},
                        {"role": "tool", "tool_call_id": "c", "content": answer["content"][:200]},
                    ]
                    record["tools"] = TOOLS
                file.write(json.dumps(record, ensure_ascii=False) + "\n")
                before, number = (question, answer), number + 1


main()
