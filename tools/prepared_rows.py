"""What the scripts share that look at rows which other tools prepare: chats, ds-check and ds-diff, kinds of defects."""

import json
import subprocess
from pathlib import Path

ROOT = Path(__file__).parent.parent
TOPICS = ["plus", "minus", "times", "over"]
ENDINGS = ["I think.", "für sicher.", "of course 😀", "as 日本語 says."]


def chats(count):
    """Chats of one to three turns, every other one with a system message; all of them differ."""
    for number in range(count):
        messages = [{"role": "system", "content": f"You are helper {number}."}] if number % 2 else []
        for turn in range(1 + number % 3):
            topic, ending = TOPICS[(number + turn) % 4], ENDINGS[number // 3 % 4]
            lines = "\n\nSo:\n- " + "\n- ".join(str(number * step) for step in range(1, 2 + number % 4)) if number % 5 == 0 else ""
            messages.append({"role": "user", "content": f"What is {number} {topic} {turn}?"})
            messages.append({"role": "assistant", "content": f"It is {number + turn}, {ending}{lines}"})
        yield messages


def write_lines(path, records):
    Path(path).write_text("".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records))


def checked(programs, path, folder):
    """The findings of ds-check, how often each check found something, and what it said besides."""
    run = subprocess.run([f"{programs}/ds-check", path, "--model", folder, "--format", "json"], capture_output=True, text=True)
    lines = [json.loads(line) for line in run.stdout.splitlines()]
    if not lines:
        raise SystemExit(run.stderr)
    summary = lines[-1]["summary"]
    return lines[:-1], summary["errors_by_check"] | summary["warnings_by_check"], run.stderr


def compared(programs, rows, chats, folder, *flags):
    """The answer of ds-diff; its reason, where it has none."""
    command = [f"{programs}/ds-diff", rows, chats, "--model", folder, "--turns", "all", "--format", "json", *flags]
    run = subprocess.run(command, capture_output=True, text=True)
    return (json.loads(run.stdout) if run.stdout else {}), run.stderr.strip()


def firsts_of(answer):
    """The first difference of each kind that is shown, as one line: the token in [[ ]], and what each side does."""
    seen = set()
    for first in answer.get("first", []):
        if first["kind"] in seen or not first["shown"]:
            continue
        seen.add(first["kind"])
        place, a, b = first["shown"][:3]
        a, b = a.removeprefix("A: "), b.removeprefix("B: ")
        yield f"{place.split(': ', 1)[1]} {a}" if first["kind"] == "mask" else f"{a} / {b}"
