"""Random preference data: the pairs of `chat-tok --take pair`, beside transformers and TRL's own preparation.

    pairs.py PROGRAM MODEL [--count N] [--seed S] [--template FILE] [--flags "--date 2026-01-01"]

PROGRAM is chat-tok, MODEL a folder; trl:NAME is a template of TRL. Of each pair that chat-tok makes:
- the prompt is transformers' apply_chat_template(add_generation_prompt=True) of the messages before the answers; where this
  is not the beginning of the prompt with its answers, it may be the prompt with the other value of the template's own
  switch (enable_thinking, thinking), which then is their beginning;
- where TRL's preparation (DPOTrainer._prepare_dataset of 1.16, by its own functions) does not warn, both answers are TRL's, but
  for what the template prints behind the stop token, which the model does not generate: white space alone.
A pair is refused if and only if both answers are the same, or one has no text, or what comes before the answers differs,
or an answer is several messages; each case is among the records.

The records have the shapes that people bring: strings, lists, whole conversations, messages with a rejected answer,
ShareGPT, a question with its answers; with system messages, tools, calls and results, reasoning.
"""

import argparse
import collections
import importlib.util
import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

from transformers import PreTrainedTokenizerFast

import templates  # noqa: F401 (the day that strftime_now gives)

WORDS = ["hello", " the cat", "\n", "  ", "Grüße", "é😀", "日本", "<b>&'\"", "{% x %}", "12,345", "\t", "user", "final", "a", "\n\n"]


def of_trl(*names):
    """Functions of trl.data_utils, which imports torch."""
    home = os.path.dirname(importlib.util.find_spec("trl").origin)
    source = Path(home, "data_utils.py").read_text()
    found = {"ProcessorMixin": ()}
    for name in names:
        start = source.index(f"def {name}(")
        end = source.find("\n\n\n", start)
        exec("from __future__ import annotations\n" + source[start:end], found)
    return [found[name] for name in names]


TOKENIZE, COMMON, EXTRACT = of_trl("_tokenize", "common_prefix_length", "extract_prompt")


def text(rng, most=6):
    made = "".join(rng.choice(WORDS) for _ in range(rng.randint(1, most))).strip()
    return made or "x"


def say(role, content):
    return {"role": role, "content": content}


def answer(rng, features):
    made = say("assistant", text(rng, 12))
    if "reasoning" in features and rng.random() < 0.4:
        made["reasoning_content"] = text(rng)
    return made


def call(rng):
    function = {"name": "look", "arguments": {"at": text(rng, 3), "n": rng.randint(0, 9)}}
    return say("assistant", "") | {"tool_calls": [{"type": "function", "id": "c1", "function": function}]}


def case(rng, features):
    """(record, prompt, chosen, rejected, tools, whether it must be refused) with messages as transformers takes them."""
    prompt, tools = [], None
    if rng.random() < 0.3 and "system" in features:
        prompt.append(say("system", text(rng)))
    for _ in range(rng.choice([0, 0, 1, 2])):
        prompt += [say("user", text(rng)), answer(rng, features)]
    prompt.append(say("user", text(rng)))
    if "tools" in features and rng.random() < 0.3:
        parameters = {"type": "object", "properties": {"at": {"type": "string"}, "n": {"type": "integer"}}}
        tools = [{"type": "function", "function": {"name": "look", "description": "Looks.", "parameters": parameters}}]
    before = []
    if tools and rng.random() < 0.5:
        # Both answers begin with the same call and its result: these belong to the prompt.
        before = [call(rng), {"role": "tool", "tool_call_id": "c1", "name": "look", "content": text(rng)}]
    chosen, rejected = answer(rng, features), answer(rng, features)
    if tools and not before and rng.random() < 0.4:
        chosen = call(rng)
    refused = None
    kind = rng.random()
    if kind < 0.03:
        rejected, refused = dict(chosen), "same"
    elif kind < 0.06:
        rejected, refused = say("assistant", rng.choice(["", " \n"])), "no text"
    elif kind < 0.09 and not before:
        refused = "several"
    elif kind < 0.12:
        refused = "contexts"
    if refused is None and chosen == rejected:
        refused = "same"
    whole = [*prompt, *before]
    more = [say("user", "and?"), answer(rng, features)] if refused == "several" else []
    own = [*before, chosen], [*before, rejected, *more]
    is_plain = not before and not more and all(set(one) == {"role", "content"} for one in (chosen, rejected))
    shapes = ["lists", "whole"]
    if is_plain:
        shapes += ["messages", "sharegpt"] + ["strings", "question"] * (len(prompt) == 1)
    shape = "whole" if refused == "contexts" else rng.choice(shapes)
    match shape:
        case "lists":
            record = {"prompt": prompt, "chosen": own[0], "rejected": own[1]}
        case "whole":
            record = {"chosen": prompt + own[0], "rejected": prompt + own[1]}
            if refused == "contexts":
                other = [dict(one) for one in prompt]
                other[-1]["content"] += " else"
                record["rejected"] = other + own[1]
        case "messages":
            record = {"messages": prompt + own[0], "rejected_response": rejected["content"]}
        case "sharegpt":
            names = {"system": "system", "user": "human", "assistant": "gpt"}
            turn = lambda one: {"from": names[one["role"]], "value": one["content"]}
            prompt = [say(one["role"], one["content"]) for one in prompt]
            whole = prompt
            record = {"conversations": [turn(one) for one in prompt], "chosen": turn(chosen), "rejected": turn(rejected)}
        case "strings":
            record = {"prompt": prompt[0]["content"], "chosen": chosen["content"], "rejected": rejected["content"]}
        case "question":
            record = {"instruction": prompt[0]["content"], "chosen": chosen["content"], "rejected": rejected["content"]}
    if tools:
        record["tools"] = tools
    return record, whole, chosen, rejected, tools, refused


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("model")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--template")
    parser.add_argument("--flags", default="")
    arguments = parser.parse_args()
    tokenizer = PreTrainedTokenizerFast.from_pretrained(arguments.model)
    extra = []
    if arguments.template:
        name = arguments.template.removeprefix("trl:")
        if name != arguments.template:
            home = os.path.dirname(importlib.util.find_spec("trl").origin)
            arguments.template = os.path.join(home, "chat_templates", name + ".jinja")
        tokenizer.chat_template = Path(arguments.template).read_text()
        extra = ["--template", arguments.template]
    source = tokenizer.chat_template
    features = {"system"} | ({"tools"} if "tool_calls" in source and "tools" in source else set())
    features |= {"reasoning"} if "reasoning_content" in source else set()
    rng = random.Random(arguments.seed)
    cases = [case(rng, features) for _ in range(arguments.count)]
    with tempfile.TemporaryDirectory() as folder:
        records = Path(folder, "pairs.jsonl")
        lines = ({"id": str(number)} | of[0] for number, of in enumerate(cases))
        records.write_text("".join(json.dumps(line) + "\n" for line in lines))
        rejects = Path(folder, "rejects.ndjson")
        run = subprocess.run(
            [arguments.program, "--model", arguments.model, "--take", "pair", "--rejects", str(rejects), "--on-error", "skip",
             "--to", "ndjson", *extra, *arguments.flags.split(), str(records)],
            capture_output=True, text=True,
        )  # fmt: skip
        assert run.returncode == 0, run.stderr
        made = {pair["id"]: pair for pair in map(json.loads, run.stdout.splitlines())}
        reasons = [json.loads(line) for line in rejects.read_text().splitlines()] if rejects.exists() else []
    reasons = {one["id"]: one["reason"] for one in reasons}
    assert len(made) + len(reasons) == len(cases), (len(made), len(reasons))
    counts = collections.Counter()
    wrong = []
    for number, (record, prompt, chosen, rejected, tools, refused) in enumerate(cases):
        pair = made.get(str(number))
        has_reasoning = {"reasoning_content" in one for one in (chosen, rejected)}
        if refused is None and len(has_reasoning) == 2 and "the model gets another prompt" in reasons.get(str(number), ""):
            # (A template with a switch: the one answer is given behind another prompt than the other.)
            counts["refused: two prompts"] += 1
            continue
        if (pair is None) != (refused is not None):
            wrong.append((number, refused, reasons.get(str(number)), record))
            continue
        if pair is None:
            counts["refused: " + refused] += 1
            continue
        kwargs = {"tools": tools}
        prompt_ids = TOKENIZE(tokenizer, prompt, add_generation_prompt=True, **kwargs)["input_ids"]
        wholes = [TOKENIZE(tokenizer, [*prompt, one], **kwargs)["input_ids"] for one in (chosen, rejected)]
        is_begin = lambda ids: all(COMMON(ids, whole) == len(ids) for whole in wholes)
        if pair["prompt"] != prompt_ids and not is_begin(prompt_ids):
            switches = [{name: value} for name in ("enable_thinking", "thinking") for value in (False, True) if name in source]
            others = [TOKENIZE(tokenizer, prompt, add_generation_prompt=True, **kwargs, **turned)["input_ids"] for turned in switches]
            if pair["prompt"] in filter(is_begin, others):
                counts["the prompt of a switch"] += 1
                continue
        if pair["prompt"] != prompt_ids:
            wrong.append((number, "prompt", record))
            continue
        counts["pairs"] += 1
        if not is_begin(prompt_ids):
            counts["TRL warns"] += 1
            continue
        for name, whole in zip(("chosen", "rejected"), wholes):
            theirs, ours = whole[len(prompt_ids) :], pair[name]
            rest = tokenizer.decode(theirs[len(ours) :])
            if theirs[: len(ours)] != ours or rest.strip():
                wrong.append((number, name, tokenizer.decode(ours), tokenizer.decode(theirs), record))
                break
            counts["answers as TRL has them" if not rest else "answers as TRL has them, without white space behind the stop"] += 1
    for one in wrong[:5]:
        print(*one, file=sys.stderr)
    print(dict(counts) | {"differ": len(wrong)})


if __name__ == "__main__":
    main()
