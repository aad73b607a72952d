"""Random chats for `--turns fit`: what chat-tok writes, beside tests/oracle/fit.py.

    fit_cases.py PROGRAM [--count N] [--seed S] [--only NAME] [--flags "--turns fit"]
    fit_cases.py --ranges DIR [PROGRAM]

PROGRAM is chat-tok; without it (`-`) the reference alone runs. The templates are those of tests/oracle/chat_templates, of
TRL and of the npm packages, over a tokenizer of single bytes with the special tokens that the template spells; and
those of the npm packages over their own tokenizers. Records, ids, tokens and masks must be the same, or both must
refuse. --ranges takes the cases of a folder (cases.jsonl, models.jsonl, NAME.jinja), whose ranges are stated.

Chats have a system message, tools, parallel calls with results, reasoning in some turns, several users' turns, text
beside calls, weights of 0, ends in a call or a question, odd spaces, and content that is null. A tenth of them have
what the template does not show. No text spells an added token or reasoning marks.
"""

import argparse
import collections
import json
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import fit
import template_chats as chats
import templates

OWN = [*range(33, 127), *range(161, 173), *range(174, 256)]
OTHERS = iter(range(256, 512))
CHARACTERS = [chr(byte if byte in OWN else next(OTHERS)) for byte in range(256)]
BYTES = {character: byte for byte, character in enumerate(CHARACTERS)}

# Which tokens end a turn, if a template spells them: the first of each line counts.
STOPS = """
<|return|> <|end|>
<|call|>
<|im_end|>
<|eot_id|>
<|eom_id|>
<|eot|>
<end_of_turn>
<turn|>
</s>
<|END_OF_TURN_TOKEN|>
<|end_of_turn|>
<|end_of_text|>
<|endofturn|>
<|assistant_end|>
<|role_end|>
<|end_of_msg|>
<|message_sep|>
<｜end▁of▁sentence｜>
<end_of_sentence>
<seed:eos>
[e~[
<eos>
[|endofturn|]
<|flush|>
<SPECIAL_12>
<|hy_eos|>
</assistant>
<sep>
<|eos|>
<|EOT|>
<eot>
<|endoftext|>
"""
#: Templates for real tokenizers whose packages have none.
WITHOUT_TEMPLATE = {"gpt4o": "chatml", "gptoss": "harmony", "llama2": "mistral"}
GLM = ["<|user|>", "<|observation|>"]
SPECIAL = re.compile(
    r"<[|｜][^<>|｜\n'\"{}]{1,40}[|｜]?>|<[A-Za-z_]{1,20}[|｜]>|</?s>|<(?:bos|eos|eot|pad|unk|sep|/?assistant|seed:[a-z_:]+|SPECIAL_\d+)>"
    r"|<(?:start|end)_of_[a-z]+>|\[/?[A-Z_]{3,30}\]|\[\|[a-z_]+\|\]|\]~!?b[\[\]]|\[e~\[|\[gMASK\]|<sop>"
)
PLAIN = re.compile(r"</?(?:think|tool_call|tool_response|tool_calls|arg_key|arg_value|answer|reasoning|minimax:tool_call)>")


def guessed(source):
    """(added tokens, eos, bos, stops) of a model that may have this template."""
    bare = re.sub(r"{#.*?#}", "", source, flags=re.DOTALL)
    special = list(dict.fromkeys(SPECIAL.findall(bare)))
    plain = list(dict.fromkeys(PLAIN.findall(bare)))
    stops = [next(token for token in line.split() if token in special) for line in STOPS.split("\n") if set(line.split()) & set(special)]
    if "[gMASK]" in special:
        stops += [token for token in GLM if token in special]
    wide = "<｜end▁of▁sentence｜>" if "｜" in bare else "</s>"
    eos = stops[0] if stops else wide if "eos_token" in bare else "<|endoftext|>"
    bos = "<s>" if "bos_token" in bare else None
    tokens = list(dict.fromkeys([*special, *stops, eos, *([bos] if bos else [])]))
    return [(token, True) for token in tokens] + [(token, False) for token in plain if token not in tokens], eos, bos, stops or [eos]


def write_model(folder, template, tokens, eos=None, bos=None, stops=()):
    """A folder of a model of single bytes: added tokens are pairs (text, whether it is special)."""
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}
    added = [
        {"id": 256 + at, "content": text, "special": special, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
        for at, (text, special) in enumerate(tokens)
    ]  # fmt: skip
    model = {
        "type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None, "end_of_word_suffix": None,
        "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
        "vocab": {character: byte for byte, character in enumerate(CHARACTERS)}, "merges": [],
    }  # fmt: skip
    tokenizer = {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": added, "normalizer": None,
        "pre_tokenizer": level, "post_processor": None, "decoder": level, "model": model,
    }  # fmt: skip
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "clean_up_tokenization_spaces": False, "chat_template": template}
    config |= {name: text for name, text in (("eos_token", eos), ("bos_token", bos)) if text}
    ids = {text: 256 + at for at, (text, _) in enumerate(tokens)}
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    (folder / "generation_config.json").write_text(json.dumps({"eos_token_id": [ids[stop] for stop in stops]}))


def bytes_of(tokenizer, token):
    """The bytes of a token of such a model."""
    text = tokenizer.convert_ids_to_tokens(token)
    return text.encode() if token in tokenizer.added_tokens_decoder else bytes(BYTES[character] for character in text)


def without_generation(source):
    """A template that does not name ranges itself."""
    source = re.sub(r"({%[-+]?\s*)generation(\s*[-+]?%})", r"\1if true\2", source)
    return re.sub(r"({%[-+]?\s*)endgeneration(\s*[-+]?%})", r"\1endif\2", source)


class Writer:
    """Makes chats for a model."""

    def __init__(self, rng, model):
        self.rng, self.model = rng, model
        source = model.source(True)
        self.field = "reasoning" if not re.search(r"reasoning_content|\bthinking\b", source) else "reasoning_content"
        self.tokens = [*(token.content for token in model.added.values()), "think>", "THINK]", "<|", "|>", *STOPS.split()]
        # What the template shows, as small chats tell.
        ask, say = {"role": "user", "content": "zqa"}, {"role": "assistant", "content": "zqb"}
        call = say | {"content": "", "tool_calls": [self.call("zqc001234")]}
        result = {"role": "tool", "tool_call_id": "zqc001234", "name": "get_weather", "content": "zqd"}
        shows = lambda messages, **more: "refused" not in fit.records(model, {"messages": messages} | more)[0]
        self.shows = {
            "system": shows([{"role": "system", "content": "zqs"}, ask, say]),
            "calls": shows([ask, call, result, say], tools=[chats.tool(rng)]),
            "text": shows([ask, call | {"content": "zqe"}], tools=[chats.tool(rng)]),
        }

    def text(self):
        while True:
            text = chats.text(self.rng)
            if not any(token in text for token in self.tokens):
                return text

    def value(self):
        while True:
            value = chats.value(self.rng)
            # (A null argument is one that was not given.)
            if "null" not in json.dumps(value) and not any(token in json.dumps(value, ensure_ascii=False) for token in self.tokens):
                return value

    def call(self, name):
        arguments = {key: self.value() for key in self.rng.sample(["city", "q", "n", "items", "unit"], self.rng.randint(0, 3))}
        function = {"name": self.rng.choice(["get_weather", "search"]), "arguments": arguments}
        return {"id": name, "type": "function", "function": function}

    def may(self, what, share):
        return self.rng.random() < (share if self.shows[what] else share * 0.05)

    def answer(self):
        made = {"role": "assistant", "content": self.text() or self.text()}
        if self.rng.random() < 0.4:
            made[self.field] = self.text()
            if not made[self.field].strip():
                del made[self.field]
        if self.rng.random() < 0.15:
            made["weight"] = 0
        return made

    def chat(self, number):
        rng, made = self.rng, []
        if self.may("system", 0.4):
            made.append({"role": "system", "content": self.text()})
        has_tools = self.may("calls", 0.5)
        for _ in range(rng.choice([1, 1, 2, 2, 3, 4])):
            made.append({"role": "user", "content": self.text()})
            while has_tools and rng.random() < 0.4:
                calls = [self.call(f"call{number % 1000:03}{len(made) % 10}{at}") for at in range(rng.choice([1, 1, 1, 2, 3]))]
                made.append(self.answer() | {"content": rng.choice(["", "", None]), "tool_calls": calls})
                if self.may("text", 0.3):
                    made[-1]["content"] = self.text()
                for call in calls:
                    made.append({"role": "tool", "tool_call_id": call["id"], "name": call["function"]["name"], "content": self.text()})
            made.append(self.answer())
        end = rng.random()
        if end < 0.1:
            made.append({"role": "user", "content": self.text()})
        elif end < 0.25 and has_tools:
            made += [{"role": "user", "content": self.text()}, self.answer() | {"content": "", "tool_calls": [self.call("calllast0")]}]
        answers = [message for message in made if message["role"] == "assistant"]
        if not any(message.get("weight", 1) for message in answers):
            rng.choice(answers).pop("weight")
        chat = {"id": f"c{number}", "messages": made}
        if has_tools:
            chat["tools"] = self.tools()
        return chat

    def tools(self):
        while True:
            tools = [chats.tool(self.rng) for _ in range(self.rng.randint(1, 2))]
            if not any(token in json.dumps(tools, ensure_ascii=False) for token in self.tokens):
                return tools


def mask_of(record):
    """What is trained on in a record of chat-tok."""
    mask = [0] * len(record["tokens"])
    for segment in record["segments"]:
        if segment.get("channel") is not None and segment.get("train") is not False:
            mask[segment["start"] : segment["end"]] = [1] * (segment["end"] - segment["start"])
    return mask


def problem(theirs, ours, reason):
    """What differs between the records of the reference and those of chat-tok, which has none if it refused the chat."""
    refused = theirs[0].get("refused")
    if refused or not ours:
        return None if refused and not ours else f"refused by the reference alone: {refused}" if refused else f"refused by chat-tok alone: {reason}"
    if [record["id"] for record in theirs] != [record["id"] for record in ours]:
        return f"records {[record['id'] for record in ours]}, not {[record['id'] for record in theirs]}"
    for their, our in zip(theirs, ours):
        if their["tokens"] != our["tokens"]:
            at = next((at for at, pair in enumerate(zip(their["tokens"], our["tokens"])) if pair[0] != pair[1]), "the end")
            return f"{our['id']}: other tokens, from {at} on of {len(their['tokens'])}, in {their['text']!r}"
        if their["mask"] != mask_of(our):
            at = next(at for at, pair in enumerate(zip(their["mask"], mask_of(our))) if pair[0] != pair[1])
            return f"{our['id']}: another mask, from {at} on; the reference trains on {[their['text'][a:b] for a, b in their['ranges']]} of {their['text']!r}"
    return None


def run(program, folder, lines, flags):
    """The records of chat-tok by chat, the reasons of those that it refuses, and what it says."""
    with tempfile.TemporaryDirectory() as scratch:
        rejects = Path(scratch, "rejects.ndjson")
        command = [program, "--model", folder, "--date", templates.DATE, "--to", "ndjson", "--arguments", "object", *flags]
        command += ["--on-error", "skip", "--rejects", rejects]
        text = "".join(json.dumps(chat) + "\n" for chat in lines)
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"{program} ended with {done.returncode}: {done.stderr}")
        lines = rejects.read_text().split("\n") if rejects.exists() else []
        reasons = {reject["id"]: reject["reason"] for reject in (json.loads(line) for line in lines if line)}
    made = collections.defaultdict(list)
    for line in filter(None, done.stdout.split("\n")):
        record = json.loads(line)
        made[record["id"].split("#")[0]].append(record)
    return made, reasons, done.stderr


def models(folder, rng):
    """Names, and folders of models; small ones are made."""
    for name, source in chats.templates().items():
        tokens, eos, bos, stops = guessed(source)
        write_model(folder / name, without_generation(source), tokens, eos, bos, stops)
        yield name, folder / name
    for path in sorted(chats.MODELS.glob("*/tokenizer_config.json")):
        config, name = json.loads(path.read_text()), path.parent.name
        if isinstance(config.get("chat_template"), str):
            yield f"real_{name}", path.parent
        elif name in WITHOUT_TEMPLATE:
            made = folder / f"real_{name}"
            made.mkdir()
            (made / "tokenizer.json").symlink_to((path.parent / "tokenizer.json").resolve())
            template = chats.templates()[WITHOUT_TEMPLATE[name]]
            (made / "tokenizer_config.json").write_text(json.dumps(config | {"chat_template": without_generation(template)}))
            yield made.name, made


def compare(program, count, seed, only, flags, limit=20):
    rng = random.Random(seed)
    outcomes, rules, reasons, shown = collections.Counter(), collections.Counter(), collections.Counter(), 0
    with tempfile.TemporaryDirectory() as folder:
        all_models = [pair for pair in models(Path(folder), rng) if only in pair[0]]
        for name, path in all_models:
            model = fit.Model(path)
            writer = Writer(random.Random(f"{seed} {name}"), model)
            lines = [writer.chat(number) for number in range(-(-count // len(all_models)))]
            ours, why, _ = run(program, path, lines, flags) if program != "-" else ({}, {}, "")
            for chat in lines:
                theirs = fit.records(model, chat)
                found = None if program == "-" else problem(theirs, ours[chat["id"]], why.get(chat["id"]))
                refused = theirs[0].get("refused")
                outcomes["refused" if refused else "one record" if len(theirs) == 1 else "several records"] += 1
                outcomes["differ"] += found is not None
                rules.update(theirs[0].get("rules", {}))
                if refused:
                    reasons[re.sub(r"message \d+", "message", refused)[:60]] += 1
                if found and shown < limit:
                    shown += 1
                    print(f"{name}: {found[:1500]}\n    {json.dumps(chat, ensure_ascii=False)[:1500]}")
    print(f"{len(all_models)} models: {dict(outcomes)}; begins by rule: {dict(rules)}")
    print("\n".join(f"{number:6} {reason}" for reason, number in reasons.most_common(12)))
    return not outcomes["differ"]


TOOLS = [{
    "type": "function",
    "function": {
        "name": "get_weather", "description": "Weather of a city",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}},
    },
}]  # fmt: skip


def stated_ranges(program, folder):
    """Checks the stated ranges of data/ranges."""
    made, count, wrong = {}, 0, 0
    with tempfile.TemporaryDirectory() as small:
        for line in (folder / "models.jsonl").read_text().splitlines():
            stated = json.loads(line)
            name = stated["template"]
            source = (folder / f"{name}.jinja").read_text()
            write_model(Path(small, name), source, stated["tokens"], stated["eos"], stated["bos"], stated["stops"])
            made[name] = fit.Model(Path(small, name))
        for line in (folder / "cases.jsonl").read_text().splitlines():
            case = json.loads(line)
            model = made[case["template"]]
            chat = {"id": case["chat"]} | case["input"]
            if chat.get("tools") == "TOOLS":
                chat["tools"] = TOOLS
            theirs = fit.records(model, chat)
            found = problem_of_case(case, theirs)
            if not found and program:
                ours, why, _ = run(program, Path(small, case["template"]), [chat], ["--turns", "fit"])
                found = problem(theirs, ours[chat["id"]], why.get(chat["id"]))
            count += 1
            if found:
                wrong += 1
                print(f"{case['template']} {case['chat']}: {found}")
    print(f"{count} cases, {wrong} wrong")
    return not wrong


def problem_of_case(case, theirs):
    refused = theirs[0].get("refused")
    if "refuse" in case or refused:
        is_right = "refuse" in case or "or_refuse" in case
        return None if refused and is_right else f"refused: {refused}, stated: {case.get('refuse')}"
    if theirs[-1]["text"] != case["text"]:
        return f"another text: {theirs[-1]['text']!r}"
    said = sorted((at, record["text"][slice(*pair)]) for record in theirs for at, pair in zip(record["messages"], record["ranges"]))
    stated = [case["text"][start:end] for start, end in case.get("ranges", [])]
    is_same = len(theirs) > 1 or theirs[0]["ranges"] == case.get("ranges")
    return None if "ranges" not in case or is_same and [text for _, text in said] == stated else f"{said}, not {stated}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program", nargs="?")
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--flags", default="--turns fit")
    parser.add_argument("--ranges", type=Path)
    arguments = parser.parse_args()
    if arguments.ranges:
        is_good = stated_ranges(arguments.program, arguments.ranges)
    else:
        is_good = compare(arguments.program or "-", arguments.count, arguments.seed, arguments.only, arguments.flags.split())
    sys.exit(0 if is_good else 1)


if __name__ == "__main__":
    main()
