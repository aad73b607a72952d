"""Chats as other programs keep them: files and folders for the tests of one's own data.

  shapes.py saved|first_hour DIRECTORY
"""

import gzip
import json
import os
import sys

ROWS = 20


def turns(number, thinking=None):
    said = {"role": "assistant", "content": f"It is {number}. That is certain."}
    return [{"role": "user", "content": f"What is {number}?"}, said | ({"thinking": thinking} if thinking else {})]


def lines(path, records, opened=open):
    with opened(path, "wt") as file:
        file.writelines(json.dumps(record) + "\n" for record in records)


def saved(directory):
    """What `save_to_disk` makes, a set and a set of splits, and the same as JSONL."""
    from datasets import Dataset, DatasetDict

    records = [{"id": f"s{number}", "messages": turns(number)} for number in range(ROWS)]
    lines(os.path.join(directory, "saved.jsonl"), records)
    data = Dataset.from_list(records)
    data.save_to_disk(os.path.join(directory, "saved"), num_shards=3)
    DatasetDict({"train": data, "test": data}).save_to_disk(os.path.join(directory, "splits"))


def first_hour(directory):
    import duckdb
    import pyarrow as pa
    import pyarrow.parquet as pq

    def at(name):
        return os.path.join(directory, name)

    numbers = range(ROWS)
    lines(at("messages.jsonl"), ({"messages": turns(n, "Look at it.")} for n in numbers))
    lines(at("sharegpt.jsonl.gz"), ({"conversations": [
        {"from": "human", "value": f"What is {n}?"}, {"from": "gpt", "value": f"It is {n}. That is certain."},
    ]} for n in numbers), gzip.open)
    lines(at("prompts.jsonl"), ({"prompt": f"What is {n}?", "completion": f"It is {n}. That is certain."} for n in numbers))
    lines(at("alpaca.jsonl"), ({"instruction": "Name it.", "input": str(n), "output": f"It is {n}. That is certain."} for n in numbers))
    lines(at("responses.jsonl"), ({"input": f"What is {n}?", "output": [
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": f"It is {n}. That is certain."}]},
    ]} for n in numbers))
    pq.write_table(pa.table({
        "user": [f"What is {n}?" for n in numbers], "analysis": ["Look."] * ROWS,
        "final": [f"It is {n}. That is certain." for n in numbers],
    }), at("columns.parquet"))
    os.mkdir(at("duckdb"))
    for part, start in enumerate((0, ROWS // 2)):
        duckdb.sql(f"""
            COPY (SELECT n AS id, [{{'role': 'user', 'content': 'What is ' || n}}, {{'role': 'assistant', 'content': 'It is ' || n || '. That is certain.'}}] AS messages
                  FROM (SELECT range::VARCHAR AS n FROM range({start}, {start + ROWS // 2})))
            TO '{at(f"duckdb/part-{part}.parquet")}' (FORMAT parquet)""")
    saved(directory)


if __name__ == "__main__":
    {"saved": saved, "first_hour": first_hour}[sys.argv[1]](sys.argv[2])
