"""What `apply_chat_template` of transformers makes of a case, beside what the Rust program makes of it.

    templates.py PROGRAM [COUNT [SEED]]

PROGRAM is lib/template/examples/render. First each line of `expressions.txt` is rendered, then COUNT
random chats with the templates of `chat_templates/` and those of the npm packages in target/. Both sides
must give the same text and the same ranges of `{% generation %}`, or both must refuse.
"""

import json
import random
import subprocess
import sys
import unicodedata
from datetime import datetime
from pathlib import Path

import transformers.utils.chat_template_utils as utils
from tokenizers import Tokenizer, models
from transformers import PreTrainedTokenizerFast

import template_chats as chats

HERE = Path(__file__).parent
DATE = "2026-03-09"


class Day(datetime):
    @classmethod
    def now(cls, tz=None):
        return cls.strptime(DATE, "%Y-%m-%d")


utils.datetime = Day
TOKENIZER = PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.WordLevel({"a": 0}, unk_token="a")))


def render(case):
    """The text and the ranges that the template names, in characters; or the error."""
    arguments = dict(
        conversation=case["messages"],
        tools=case.get("tools"),
        documents=case.get("documents"),
        chat_template=case["template"],
        add_generation_prompt=case.get("prompt", False),
        **case.get("set", {}),
    )
    try:
        text = TOKENIZER.apply_chat_template(tokenize=False, **arguments)
        if "endgeneration" not in case["template"]:
            return {"text": text, "generations": []}
        arguments["conversations"] = [utils._normalize_chat_messages(arguments.pop("conversation"))]
        texts, ranges = utils.render_jinja_template(return_assistant_tokens_mask=True, **arguments)
        assert texts == [text]
        return {"text": text, "generations": [list(pair) for pair in ranges[0]]}
    except Exception as error:  # noqa: BLE001 (what is raised is the template's business)
        return {"error": f"{type(error).__name__}: {error}"}


def program(path, cases):
    """What the Rust program makes of the cases."""
    lines = "".join(json.dumps(case) + "\n" for case in cases)
    done = subprocess.run([path], input=lines, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{path} ended with {done.returncode}: {done.stderr}")
    return [json.loads(line) for line in done.stdout.split("\n") if line]


def one_line(text):
    """A text as errors of the crate show it."""
    names = {"\t": "\\t", "\r": "\\r", "\n": "\\n"}
    is_plain = lambda c: unicodedata.category(c) not in ("Cc", "Zl", "Zp")
    return "".join(c if is_plain(c) else names.get(c, f"\\u{{{ord(c):x}}}") for c in text)


def differences(path, cases):
    """The cases in which the two differ."""
    found, raised = [], 0
    for case, ours in zip(cases, program(path, cases), strict=True):
        theirs = render(case)
        raised += "error" in theirs
        if "error" in ours and "error" in theirs:
            # The words of raise_exception must be the same.
            words = "the template refuses the chat: "
            if theirs["error"].startswith("TemplateError: ") or ours["error"].startswith(words):
                if ours["error"].removeprefix(words) != theirs["error"].removeprefix("TemplateError: "):
                    found.append((case, ours, theirs))
        elif ours != theirs:
            found.append((case, ours, theirs))
    return found, raised


def expressions():
    variables = json.loads((HERE / "expressions.json").read_text())
    lines = (HERE / "expressions.txt").read_text().split("\n")
    messages = [{"role": "user", "content": "x"}]
    for line in lines:
        if line and not line.startswith("## "):
            yield {"template": line.replace("⏎", "\n"), "messages": messages, "set": variables, "date": DATE}


def report(name, cases, found, raised):
    for case, ours, theirs in found[:20]:
        shown = {key: value for key, value in case.items() if key != "set"}
        print(f"{name}: {json.dumps(shown, ensure_ascii=False)[:3000]}\n  ours   {ours}\n  theirs {theirs}")
    print(f"{name}: {len(found)} differences of {len(cases)}, {raised} of which both refuse or differ")
    return not found


def main():
    path, count, seed = sys.argv[1], int((sys.argv[2:] + ["2000"])[0]), int((sys.argv[3:] + ["1"])[0])
    cases = list(expressions())
    is_good = report("expressions", cases, *differences(path, cases))
    rng = random.Random(seed)
    templates = chats.templates()
    print(f"{len(templates)} templates")
    cases = [chats.case(rng, templates) | {"date": DATE} for _ in range(count)]
    is_good &= report("chats", cases, *differences(path, cases))
    sys.exit(0 if is_good else 1)


if __name__ == "__main__":
    main()
