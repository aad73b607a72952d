"""Chats to tokens and masks by transformers alone: chat_tok.py MODEL CHATS [NAME=VALUE...].

Prints a line of JSON a chat: {id, text, tokens, mask}, the mask 1 on tokens that the model would have generated. A turn
begins where the chat before it ends, rendered with the generation prompt, and ends with the first stop token.
Where such a place is inside a token, the text is encoded in pieces cut there.
"""

import json
import sys

from transformers import PreTrainedTokenizerFast


def encoded(tokenizer, text, cuts):
    """The ids of a text, and the bounds of each in characters."""
    ids, offsets = [], []
    for start, end in zip([0, *cuts], [*cuts, len(text)]):
        piece = tokenizer(text[start:end], add_special_tokens=False, return_offsets_mapping=True)
        ids += piece["input_ids"]
        offsets += [(a + start, b + start) for a, b in piece["offset_mapping"]]
    return ids, offsets


def records(model, chats, variables):
    """The id of each chat, its text, its tokens, and their mask."""
    tokenizer = PreTrainedTokenizerFast.from_pretrained(model)
    config = json.load(open(f"{model}/tokenizer_config.json"))
    token = lambda value: value["content"] if isinstance(value, dict) else value
    stop = token(config["eos_token"])
    for line in open(chats):
        chat = json.loads(line)
        messages, tools = chat["messages"], chat.get("tools")
        for message in messages:
            for call in message.get("tool_calls") or []:
                if isinstance(call["function"]["arguments"], str):
                    call["function"]["arguments"] = json.loads(call["function"]["arguments"])
        weights = [message.pop("weight", 1) for message in messages]
        render = lambda messages, prompt: tokenizer.apply_chat_template(
            messages, tools=tools, tokenize=False, add_generation_prompt=prompt, **variables
        )
        text = render(messages, False)
        ranges = []
        for place, message in enumerate(messages):
            if message["role"] != "assistant" or not weights[place]:
                continue
            before = render(messages[:place], True)
            assert text.startswith(before), (chat["id"], place)
            ranges.append((len(before), text.index(stop, len(before)) + len(stop)))
        ids, offsets = encoded(tokenizer, text, [])
        whole = tokenizer.apply_chat_template(messages, tools=tools, tokenize=True, return_dict=False, **variables)
        assert ids == whole, chat["id"]
        ends = {0, *(b for _, b in offsets)}
        cuts = sorted({place for pair in ranges for place in pair if place not in ends})
        if cuts:
            ids, offsets = encoded(tokenizer, text, cuts)
        mask = [int(any(a <= start and end <= b for a, b in ranges)) for start, end in offsets]
        yield chat["id"], text, ids, mask


def main():
    model, chats, *variables = sys.argv[1:]
    variables = {name: json.loads(value) for name, value in (of.split("=", 1) for of in variables)}
    for name, text, ids, mask in records(model, chats, variables):
        print(json.dumps({"id": name, "text": text, "tokens": ids, "mask": mask}))


if __name__ == "__main__":
    main()
