"""Raw SYNTH rows to a synth_harmony shard in the published converter's way: Hugging Face datasets,
streaming, a json.dumps for each row, pyarrow's writer with row groups of 1,000.

    python convert_raw.py RAW.parquet OUT.parquet
"""

import json
import sys

import pyarrow as pa
import pyarrow.parquet as pq
from datasets import load_dataset

FIELDS = ["synth_id", "language", "exercise", "model", "constraints", "seed_license"]
FIELDS += ["query_seed_url"]
SYSTEM = {
    "role": "system",
    "content": [
        {
            "type": "system_content",
            "model_identity": "You are vpMoE, a large language model trained by Veer Pareek.",
            "reasoning_effort": "High",
            "conversation_start_date": "2026-01-01",
            "knowledge_cutoff": "2024-06",
            "channel_config": {
                "valid_channels": ["analysis", "commentary", "final"],
                "channel_required": True,
            },
        }
    ],
}
INSTRUCTIONS = """Follow the user's request. When you provide an answer, produce both:
- reasoning in the analysis channel
- the user-facing answer in the final channel"""
DEVELOPER = {
    "role": "developer",
    "content": [{"type": "developer_content", "instructions": INSTRUCTIONS}],
}
GROUP = 1000


def message(role, text, **more):
    return {"role": role, "content": [{"type": "text", "text": text}], **more}


def convert(row):
    query, answer = row.get("query"), row.get("synthetic_answer")
    reasoning = row.get("synthetic_reasoning")
    if not query or not reasoning or not answer:
        return None
    messages = [SYSTEM, DEVELOPER, message("user", query)]
    messages.append(message("assistant", reasoning, channel="analysis"))
    messages.append(message("assistant", answer, channel="final"))
    metadata = {name: row[name] for name in FIELDS if name in row}
    return {
        "messages_json": json.dumps({"messages": messages}, ensure_ascii=True),
        "metadata_json": json.dumps(metadata, ensure_ascii=True),
        **{name: None if row.get(name) is None else str(row[name]) for name in FIELDS},
    }


def main():
    source, out = sys.argv[1:]
    schema = pa.schema([(name, pa.string()) for name in ["messages_json", "metadata_json", *FIELDS]])
    rows = load_dataset("parquet", data_files=source, split="train", streaming=True)
    with pq.ParquetWriter(out, schema, compression="zstd") as writer:
        group = []
        for row in rows:
            made = convert(row)
            if made is not None:
                group.append(made)
            if len(group) == GROUP:
                writer.write_table(pa.Table.from_pylist(group, schema=schema))
                group = []
        if group:
            writer.write_table(pa.Table.from_pylist(group, schema=schema))


main()
