"""Random trajectories in ATIF: what chat-harmony makes of them, beside Harbor's own validator and exporter (Harbor 0.26).

    atif.py CHAT_HARMONY [--count N] [--seed S]

Needs Python 3.12, harbor (without its dependencies) and pydantic: pip install --no-deps harbor; pip install pydantic.
Every trajectory passes Harbor's validator. Its exporter makes a row of each step of the agent, with all before it;
chat-harmony makes one conversation. Both are compared message by message, in the exporter's form:
- it gives instructions as the user, calls as text in the answer, all results of a step as one message of the user;
- it leaves out what the last step observed;
- it makes no row of a step that is copied: that is the answer that chat-harmony does not train on.
Where the exporter differs in more than its form (REASONS), it gets the trajectory without the reason, and such trajectories
are counted.
"""

import argparse
import collections
import json
import random
import subprocess
import sys
import tempfile
import types
from pathlib import Path

# (The exporter imports all agents to see which of them can be exported; none is run here.)
sys.modules["harbor.agents.factory"] = types.SimpleNamespace(AgentFactory=None)

from harbor.utils.traces_utils import extract_conversations_from_trajectory  # noqa: E402
from harbor.utils.trajectory_validator import TrajectoryValidator  # noqa: E402

WORDS = ["hello", " the cat", "\n", "  ", "Grüße", "é😀", "日本", "<b>&'\"", "{% x %}", "12,345", "\t", "user", "final", "a", "\n\n"]
TOOLS = [{"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {"at": {"type": "string"}}}}}]
RUN = {"agent_name": "a", "model_name": "m", "model_provider": "p", "start_time": "", "run_id": "r"}

PARTS = "the exporter shows the first part of a content alone, or a message as a list"
DISPATCH = "the exporter makes a row of a step that no model made"
REASONS = [PARTS, DISPATCH]


def text(rng):
    return rng.choice("abc") + "".join(rng.choices(WORDS, k=rng.randint(0, 6)))


def content(rng, reasons):
    """A text, or its parts."""
    if rng.random() < 0.9:
        return text(rng)
    reasons.add(PARTS)
    return [{"type": "text", "text": text(rng)} for _ in range(rng.randint(1, 3))]


def trajectory(rng, number):
    steps, reasons = [], set()
    if rng.random() < 0.7:
        steps.append({"source": "system", "message": text(rng)})
    for _ in range(rng.randint(1, 5)):
        steps.append({"source": "user", "message": content(rng, reasons)})
        for _ in range(rng.choice([0, 0, 1, 3])):
            ids = [f"c{len(steps)}_{at}" for at in range(rng.choice([0, 1, 1, 2]))]
            step = {"source": "agent", "message": text(rng)}
            step["tool_calls"] = [{"tool_call_id": id, "function_name": "look", "arguments": {"at": text(rng)}} for id in ids] or None
            results = [{"source_call_id": id, "content": content(rng, reasons)} for id in ids]
            step["observation"] = {"results": results or [{"content": content(rng, reasons)}]}
            steps.append(step)
        steps.append({"source": "agent", "message": text(rng)})
    for step in steps:
        if step["source"] != "agent":
            continue
        if rng.random() < 0.5:
            step["reasoning_content"] = text(rng)
        elif rng.random() < 0.1:
            step["llm_call_count"] = 0
            reasons.add(DISPATCH)
        if rng.random() < 0.1:
            step["is_copied_context"] = True
    steps = [{"step_id": at, **{key: value for key, value in step.items() if value is not None}} for at, step in enumerate(steps, 1)]
    agent = {"name": "a", "version": "1", "tool_definitions": TOOLS}
    return {"schema_version": "ATIF-v1.7", "session_id": f"s{number}", "agent": agent, "steps": steps}, reasons


def without_reasons(record):
    """The trajectory with texts in place of parts, and with steps that no model made as copied ones."""
    joined = lambda given: given if isinstance(given, str) else "".join(part["text"] for part in given)
    record = json.loads(json.dumps(record))
    for step in record["steps"]:
        step["message"] = joined(step["message"])
        for result in step.get("observation", {}).get("results", []):
            result["content"] = joined(result["content"])
        if step.get("llm_call_count") == 0:
            step["is_copied_context"] = True
    return record


def exported(record):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "trajectory.json")
        path.write_text(json.dumps(record))
        rows = extract_conversations_from_trajectory(path, RUN, embed_tools_in_conversation=False)
    return [row["conversations"] for row in rows]


def ours(conversation):
    """The rows of a conversation in the exporter's form: a row for each answer that is trained on."""
    messages, is_trained, answer, results = [], [], [], []

    def end():
        if answer:
            messages.append({"role": "assistant", "content": "\n".join(answer)})
        if results:
            messages.append({"role": "user", "content": "\n".join(results)})
        answer.clear(), results.clear()

    for message in conversation["messages"]:
        role, [part] = message["role"], message["content"]
        if role == "system":
            continue
        if role == "assistant":
            if results or message.get("channel") == "analysis":
                end()
            if not answer:
                is_trained.append(message.get("train", True))
            if message.get("channel") == "analysis":
                answer.append(f"<think>{part['text']}</think>")
            elif "recipient" in message:
                call = {"name": message["recipient"].removeprefix("functions."), "arguments": json.loads(part["text"])}
                answer.append(f"<tool_call>\n{json.dumps(call, ensure_ascii=False)}\n</tool_call>")
            else:
                answer.append(part["text"])
        elif role == "tool":
            results.append(part["text"])
        elif role == "developer":
            if part.get("instructions"):
                messages.append({"role": "user", "content": part["instructions"]})
        else:
            end()
            messages.append({"role": "user", "content": part["text"]})
    end()
    answers = [at for at, message in enumerate(messages) if message["role"] == "assistant"]
    assert len(answers) == len(is_trained), (answers, is_trained)
    return [messages[: at + 1] for at, trained in zip(answers, is_trained) if trained]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    made = [trajectory(rng, number) for number in range(options.count)]
    for record, _ in made:
        validator = TrajectoryValidator()
        if not validator.validate(record):
            sys.exit(f"not valid: {validator.errors}\n{json.dumps(record)}")
    lines = "".join(json.dumps(record) + "\n" for record, _ in made)
    command = [options.program, "-q", "--turns", "all", "--set", "keep_reasoning=true", "--id-field", "session_id", "--to", "ndjson", "-"]
    done = subprocess.run(command, input=lines.encode(), stdout=subprocess.PIPE, check=True)
    counts = collections.Counter()
    for (record, reasons), line in zip(made, done.stdout.splitlines(), strict=True):
        rows, own = exported(without_reasons(record)), ours(json.loads(line))
        counts.update(reasons or ["as it is"])
        if rows != own:
            sys.exit(f"differs:\n{json.dumps(record)}\nHarbor: {json.dumps(rows)}\nours:   {json.dumps(own)}")
    for reason, count in counts.most_common():
        print(f"{count:6} {reason}")
    print(f"{options.count} trajectories, all valid; equal, but for the stated reasons")


if __name__ == "__main__":
    main()
