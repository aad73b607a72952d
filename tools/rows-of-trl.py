"""What ds-check says of rows that TRL makes with each of its templates for training; by hand:

    tools/venv.sh
    target/venv/bin/python tools/rows-of-trl.py [--ds-check target/release/ds-check] [--chats 20] [--only NAME] [--show]

The templates are those of the installed TRL. Each is run over a tokenizer of single bytes, with the special tokens that
it spells and the stop tokens that a model with such a template has. The rows are made as `assistant_only_loss` makes
them: `apply_chat_template(return_assistant_tokens_mask=True)` of transformers. A row is printed for each template: what
was found, by check, in how many of its rows. With --show also the first finding of each check.
"""

import argparse
import collections
import importlib.util
import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests/oracle"))

import fit_cases  # noqa: E402
from transformers import AutoTokenizer  # noqa: E402


# The stop token of Idefics 3 and SmolVLM, which fit_cases does not know.
OTHER_STOP = "<end_of_utterance>"


def templates():
    for home in importlib.util.find_spec("trl").submodule_search_locations:
        yield from sorted(Path(home, "chat_templates").glob("*_training.jinja"))


def chats(count):
    """Chats of one to three turns, every other one with a system message."""
    for number in range(count):
        messages = [{"role": "system", "content": f"You are helper {number}."}] if number % 2 else []
        for turn in range(1 + number % 3):
            messages.append({"role": "user", "content": f"What is {number} plus {turn}?"})
            messages.append({"role": "assistant", "content": f"It is {number + turn}, I think."})
        yield messages


def rows(folder, source, count):
    tokenizer = AutoTokenizer.from_pretrained(folder)
    for messages in chats(count):
        # (Some templates read contents as lists of parts only.)
        parts = [message | {"content": [{"type": "text", "text": message["content"]}]} for message in messages]
        for form in (messages, parts):
            try:
                made = tokenizer.apply_chat_template(
                    form, chat_template=source, tokenize=True, return_dict=True, return_assistant_tokens_mask=True
                )
            except Exception:  # noqa: BLE001 (it refuses such a chat)
                continue
            shown = messages[-1]["content"] in tokenizer.decode(made["input_ids"])
            if shown:
                yield {"input_ids": made["input_ids"], "assistant_masks": made["assistant_masks"]}
                break


def checked(program, path, folder):
    command = [program, path, "--model", folder, "--format", "json"]
    run = subprocess.run(command, capture_output=True, text=True)
    lines = [json.loads(line) for line in run.stdout.splitlines()]
    if not lines:
        raise SystemExit(run.stderr)
    return lines[:-1], lines[-1]["summary"], run.stderr


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--ds-check", default=str(ROOT / "target/release/ds-check"))
    parser.add_argument("--chats", type=int, default=20)
    parser.add_argument("--only", default="")
    parser.add_argument("--show", action="store_true")
    arguments = parser.parse_args()
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
            made = list(rows(folder, source, arguments.chats))
            file = Path(folder, "rows.jsonl")
            file.write_text("".join(json.dumps(row) + "\n" for row in made))
            findings, summary, told = checked(arguments.ds_check, str(file), folder)
        found = summary["errors_by_check"] | summary["warnings_by_check"]
        count += 1
        totals.update(found.keys() or ["nothing"])
        if found.keys() & {"foreign.prompt", "foreign.shifted"} and "foreign.stop.behind" in found:
            totals["foreign.prompt and foreign.stop.behind"] += 1
        shown = ", ".join(f"{check} {number}" for check, number in sorted(found.items())) or "nothing"
        print(f"{path.stem.removesuffix('_training'):24} {len(made):3} rows: {shown}", flush=True)
        seen = set()
        for finding in findings if arguments.show else []:
            if finding["check"] not in seen:
                seen.add(finding["check"])
                print(f"    {finding['check']}: {finding['message']}")
    print(f"\nof {count} templates: " + ", ".join(f"{check} {number}" for check, number in sorted(totals.items())))


if __name__ == "__main__":
    main()
