"""What people write in Python: the chat template, then the tokenizer, for each chat; with --datasets as a map of
the package datasets that also asks for the mask of assistants (which is 0 throughout for templates without
`{% generation %}`). With --sanitize, control tokens that texts spell are encoded as text.

    python template_peer.py [--datasets | --sanitize] MODEL CHATS.ndjson OUT
    python template_peer.py --ours OUT < TOKENS.arrows

OUT has the token ids of all chats, 4 bytes each.
"""

import json
import os
import sys

os.environ["HF_HUB_OFFLINE"] = "1"


def theirs(model, chats, out):
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(model)
    with open(chats) as lines, open(out, "wb") as file:
        for line in lines:
            chat = json.loads(line)
            text = tokenizer.apply_chat_template(chat["messages"], tools=chat.get("tools"), tokenize=False)
            write(file, tokenizer(text, add_special_tokens=False)["input_ids"])


def sanitized(model, chats, out):
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(model)
    with open(chats) as lines, open(out, "wb") as file:
        for line in lines:
            chat = json.loads(line)
            ids = tokenizer.apply_chat_template(
                chat["messages"], tools=chat.get("tools"), return_dict=False, sanitize_control_tokens=True
            )
            write(file, ids)


def as_datasets(model, chats, out):
    import datasets
    from transformers import AutoTokenizer

    datasets.disable_progress_bars()
    tokenizer = AutoTokenizer.from_pretrained(model)

    def encode(row):
        chat = json.loads(row["line"])
        encoded = tokenizer.apply_chat_template(
            chat["messages"], tools=chat.get("tools"), return_dict=True, return_assistant_tokens_mask=True
        )
        return {"ids": encoded["input_ids"], "mask": encoded["assistant_masks"]}

    with open(chats) as lines:
        # (Chats as JSON: columns of Arrow would give every call the arguments of all others, as nulls.)
        rows = datasets.Dataset.from_dict({"line": list(lines)})
    rows = rows.map(encode, remove_columns="line")
    with open(out, "wb") as file:
        for batch in rows.with_format("arrow").iter(1000):
            file.write(batch.column("ids").combine_chunks().flatten().to_numpy().astype("i4").tobytes())


def ours(out):
    import pyarrow as pa

    with open(out, "wb") as file:
        for batch in pa.ipc.open_stream(sys.stdin.buffer):
            file.write(batch.column("tokens").flatten().to_numpy().tobytes())


def write(file, ids):
    import array

    file.write(array.array("i", ids).tobytes())


def main():
    if sys.argv[1] == "--ours":
        ours(sys.argv[2])
    elif sys.argv[1] == "--datasets":
        as_datasets(*sys.argv[2:])
    elif sys.argv[1] == "--sanitize":
        sanitized(*sys.argv[2:])
    else:
        theirs(*sys.argv[1:])


main()
