"""What ds-check and ds-diff say of rows that TRL makes with each of its templates for training; by hand:

    tools/venv.sh
    target/venv/bin/python tools/rows-of-trl.py [--programs target/release] [--chats 500] [--only NAME] [--show]

The templates are those of the installed TRL. Each is run over a tokenizer of single bytes, with the special tokens that
it spells and the stop tokens that a model with such a template has. The rows are made as `assistant_only_loss` makes
them: `apply_chat_template(return_assistant_tokens_mask=True)` of transformers. ds-diff compares them with those that
gristmill makes of the same chats with the same template, without its marks. A row of the table of docs/compared.md is
printed for each template; its kind is what ds-check finds. With --show also the first finding of each check.
"""

import argparse
import collections
import datetime
import importlib.metadata
import importlib.util
import sys
import tempfile
from pathlib import Path

import prepared_rows
from prepared_rows import ROOT

sys.path.insert(0, str(ROOT / "tests/oracle"))

import fit_cases  # noqa: E402
import templates as dates  # noqa: E402
from transformers import AutoTokenizer  # noqa: E402


# The stop token of Idefics 3 and SmolVLM, which fit_cases does not know.
OTHER_STOP = "<end_of_utterance>"
# What ds-check finds, in words.
KINDS = {"foreign.prompt": "prompt", "foreign.stop.behind": "newline"}


def templates():
    for home in importlib.util.find_spec("trl").submodule_search_locations:
        yield from sorted(Path(home, "chat_templates").glob("*_training.jinja"))


def rows(folder, source, chats):
    """The rows of chats, each with the chat; and whether the template reads contents as lists of parts alone."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    for messages in chats:
        parts = [message | {"content": [{"type": "text", "text": message["content"]}]} for message in messages]
        for form in (messages, parts):
            try:
                made = tokenizer.apply_chat_template(
                    form, chat_template=source, tokenize=True, return_dict=True, return_assistant_tokens_mask=True
                )
            except Exception:  # noqa: BLE001 (it refuses such a chat)
                continue
            if messages[-1]["content"] in tokenizer.decode(made["input_ids"]):
                row = {"input_ids": made["input_ids"], "assistant_masks": made["assistant_masks"]}
                yield row, {"messages": messages}, form is parts
                break


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--programs", default=str(ROOT / "target/release"))
    parser.add_argument("--chats", type=int, default=500)
    parser.add_argument("--only", default="")
    parser.add_argument("--show", action="store_true")
    arguments = parser.parse_args()
    today = datetime.date.today().isoformat()
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in ("trl", "transformers"))
    print(f"{versions}, {today}\n")
    print("| template | rows | equal | other tokens | other masks | trained on, too | the first difference |\n|---|---|---|---|---|---|---|")
    totals, count = collections.Counter(), 0
    for path in templates():
        if arguments.only not in path.stem:
            continue
        source = path.read_text()
        with tempfile.TemporaryDirectory() as folder:
            tokens, eos, bos, stops = fit_cases.guessed(source)
            if (OTHER_STOP, True) in tokens:
                eos, stops = OTHER_STOP, [OTHER_STOP]
            fit_cases.write_model(folder, fit_cases.without_generation(source), tokens, eos, bos, stops)
            made = list(rows(folder, source, prepared_rows.chats(arguments.chats)))
            prepared_rows.write_lines(f"{folder}/rows.jsonl", (row for row, _, _ in made))
            prepared_rows.write_lines(f"{folder}/chats.jsonl", (chat for _, chat, _ in made))
            findings, found, told = prepared_rows.checked(arguments.programs, f"{folder}/rows.jsonl", folder)
            # (The clock of the templates is set to that day.)
            flags = ["--date", dates.DATE, *(["--content", "parts"] if any(of for _, _, of in made) else [])]
            paths = [f"{folder}/{name}.jsonl" for name in ("rows", "chats")]
            answer, why = prepared_rows.compared(arguments.programs, *paths, folder, *flags)
        count += 1
        kinds = [word for check, word in KINDS.items() if check in found]
        others = [check for check in found if check not in KINDS]
        kind = " and ".join(kinds) or "nothing"
        totals[kind] += 1
        differences = answer.get("differences", {})
        first = "; ".join(f"`{text}`" for text in prepared_rows.firsts_of(answer)) if answer else why.splitlines()[-1]
        cells = [
            path.stem.removesuffix("_training"), len(made), answer.get("equal", ""), differences.get("tokens", 0), differences.get("mask", 0),
            ", ".join([kind, *others]), first.replace("|", "\\|"),
        ]  # fmt: skip
        print(f"| {' | '.join(map(str, cells))} |", flush=True)
        seen = set()
        for finding in findings if arguments.show else []:
            if finding["check"] not in seen:
                seen.add(finding["check"])
                print(f"    {finding['check']}: {finding['message']}")
    print(f"\nof {count} templates: " + ", ".join(f"{kind} {number}" for kind, number in sorted(totals.items())))


if __name__ == "__main__":
    main()
