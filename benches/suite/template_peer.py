"""What people write in Python: the chat template, then the tokenizer, for each chat.

    python template_peer.py MODEL CHATS.ndjson OUT
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
    else:
        theirs(*sys.argv[1:])


main()
