"""Sessions of agents, for measuring.

    python make_sessions.py FORM MEGABYTES OUT
    python make_sessions.py --copy FILE...       what any converter in Python does: reads each line, and prints it

Most of their bytes are results of tools, as in real ones: files with numbers of lines, matches of a search, output of
commands, all of Python's own library. OUT is a file of lines, or a folder of files where a file is a session.
"""

import json
import pathlib
import random
import sys
import sysconfig

#: Calls of a session; a result has 5 kB in the mean.
CALLS = 120


def library():
    """The lines of Python's library."""
    folder = pathlib.Path(sysconfig.get_path("stdlib"))
    files = sorted(path for path in folder.glob("*.py") if path.stat().st_size > 4096)
    return [(f"lib/{path.name}", path.read_text(encoding="utf-8").splitlines()) for path in files]


class Results:
    def __init__(self, seed):
        self.rng, self.files = random.Random(seed), library()

    def one(self):
        """The arguments of a call and its result."""
        name, lines = self.rng.choice(self.files)
        first = self.rng.randrange(len(lines))
        lines = lines[first : first + self.rng.randrange(20, 220)]
        kind = self.rng.randrange(3)
        if kind == 0:
            shown = [f"{number:6}\t{line}" for number, line in enumerate(lines, first)]
        elif kind == 1:
            shown = [f"{name}:{number}:{line}" for number, line in enumerate(lines, first)]
        else:
            shown = lines
        return {"command": f"sed -n {first},{first + len(lines)}p {name}"}, "\n".join(shown)

    def says(self, words):
        text = "the file says that it has no test of this name so look for the line where it is set again".split()
        return " ".join(self.rng.choices(text, k=words))

    def steps(self):
        return [(f"call_{number}", *self.one(), self.says(12), self.says(40)) for number in range(CALLS)]


TOOL = {"name": "shell", "description": "Runs a command.", "parameters": {"type": "object", "properties": {"command": {"type": "string"}}}}
TOOLS = [{"type": "function", "function": TOOL}]


def anthropic(number, made):
    messages = [{"role": "user", "content": made.says(30)}]
    for id, arguments, result, text, thought in made.steps():
        use = {"type": "tool_use", "id": id, "name": "shell", "input": arguments}
        thinking = {"type": "thinking", "thinking": thought, "signature": "c2ln" * 60}
        messages.append({"role": "assistant", "content": [thinking, {"type": "text", "text": text}, use]})
        messages.append({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": result}]})
    messages.append({"role": "assistant", "content": [{"type": "text", "text": made.says(30)}]})
    tool = {"name": "shell", "description": "Runs a command.", "input_schema": TOOL["parameters"]}
    return {"id": f"s{number}", "messages": messages, "tools": [tool]}


def claude_code(number, made):
    lines, parent = [], None
    common = {"isSidechain": False, "userType": "external", "cwd": "/work", "sessionId": f"s{number}", "version": "2.1.0", "gitBranch": "main"}

    def line(kind, message, **more):
        nonlocal parent
        uuid = f"{number:08x}-0000-4000-8000-{len(lines):012x}"
        step = {"parentUuid": parent, **common, "type": kind, "message": message, "uuid": uuid, "timestamp": "2026-03-01T10:00:00.000Z", **more}
        lines.append(step)
        parent = uuid

    # An answer has a line for each of its blocks; beside a result stands what the tool itself returned.
    for at, message in enumerate(anthropic(number, made)["messages"]):
        if message["role"] == "assistant":
            for block in message["content"]:
                usage = {"input_tokens": 4, "cache_read_input_tokens": 9000, "output_tokens": 120}
                whole = {"model": "claude", "id": f"msg_{at}", "type": "message", "role": "assistant", "content": [block], "stop_reason": None, "usage": usage}
                line("assistant", whole, requestId=f"req_{at}")
        elif at:
            line("user", message, toolUseResult={"stdout": message["content"][0]["content"], "stderr": "", "interrupted": False, "isImage": False})
        else:
            line("user", message)
    return lines


def codex(number, made):
    line = lambda kind, payload: {"timestamp": "2026-03-01T10:00:00.000Z", "type": kind, "payload": payload}
    item = lambda kind, **members: line("response_item", {"type": kind, **members})
    meta = {"id": f"s{number}", "cwd": "/work", "originator": "codex_cli_rs", "base_instructions": {"text": made.says(100)}}
    said = lambda role, kind, text: item("message", role=role, content=[{"type": kind, "text": text}])
    lines = [line("session_meta", meta), said("user", "input_text", made.says(30))]
    for id, arguments, result, text, thought in made.steps():
        lines.append(item("reasoning", summary=[{"type": "summary_text", "text": thought}], encrypted_content="Z0FB" * 200))
        lines.append(item("function_call", name="shell", arguments=json.dumps(arguments), call_id=id))
        output = json.dumps({"output": result, "metadata": {"exit_code": 0, "duration_seconds": 0.1}})
        lines.append(item("function_call_output", call_id=id, output=output))
        lines.append(line("event_msg", {"type": "token_count", "info": {"total_token_usage": {"input_tokens": 9000}}}))
    return lines + [said("assistant", "output_text", made.says(30))]


def gemini(number, made):
    contents = [{"role": "user", "parts": [{"text": made.says(30)}]}]
    for id, arguments, result, text, thought in made.steps():
        call = {"functionCall": {"id": id, "name": "shell", "args": arguments}, "thoughtSignature": "c2ln" * 60}
        contents.append({"role": "model", "parts": [{"text": thought, "thought": True}, {"text": text}, call]})
        response = {"id": id, "name": "shell", "response": {"output": result}}
        contents.append({"role": "user", "parts": [{"functionResponse": response}]})
    contents.append({"role": "model", "parts": [{"text": made.says(30)}]})
    return {"id": f"s{number}", "contents": contents, "tools": [{"functionDeclarations": [TOOL]}]}


def responses(number, made):
    items = [line["payload"] for line in codex(number, made) if line["type"] == "response_item"]
    return {"id": f"s{number}", "instructions": made.says(100), "input": items[:-1], "output": items[-1:]}


def atif(number, made):
    steps = [{"source": "user", "message": made.says(30)}]
    for id, arguments, result, text, thought in made.steps():
        calls = [{"tool_call_id": id, "function_name": "shell", "arguments": arguments}]
        observation = {"results": [{"source_call_id": id, "content": result}]}
        metrics = {"prompt_tokens": 9000, "completion_tokens": 120}
        steps.append({"source": "agent", "model_name": "m", "message": text, "reasoning_content": thought, "tool_calls": calls, "observation": observation, "metrics": metrics})
    steps.append({"source": "agent", "message": made.says(30)})
    steps = [{"step_id": at, "timestamp": "2026-03-01T10:00:00Z", **step} for at, step in enumerate(steps, 1)]
    return {"schema_version": "ATIF-v1.4", "session_id": f"s{number}", "agent": {"name": "a", "version": "1", "tool_definitions": TOOLS}, "steps": steps}


def swe_agent(number, made):
    about = lambda kind: {"agent": "main", "message_type": kind}
    history = [{"role": "system", "content": made.says(100), **about("system_prompt")}]
    history.append({"role": "user", "content": [{"type": "text", "text": made.says(30)}], **about("observation")})
    trajectory = []
    for id, arguments, result, text, thought in made.steps():
        calls = [call(id, json.dumps(arguments))]
        history.append({"role": "assistant", "content": text, "thought": text, "action": arguments["command"], "tool_calls": calls, **about("action")})
        history.append({"role": "tool", "content": [{"type": "text", "text": result}], "tool_call_ids": [id], **about("observation")})
        trajectory.append({"action": arguments["command"], "observation": result, "response": text, "thought": text, "execution_time": 0.1, "state": {"open_file": "", "working_dir": "/work"}})
    history.append({"role": "assistant", "content": made.says(30), "thought": "", "action": "submit", **about("action")})
    return {"environment": "swe_main", "trajectory": trajectory, "history": history, "info": {"exit_status": "submitted"}, "tools": TOOLS}


def call(id, arguments):
    return {"id": id, "type": "function", "function": {"name": "shell", "arguments": arguments}}


def openai(made):
    messages = [{"role": "system", "content": made.says(100)}, {"role": "user", "content": made.says(30)}]
    for id, arguments, result, text, thought in made.steps():
        messages.append({"role": "assistant", "content": text, "reasoning_content": thought, "tool_calls": [call(id, json.dumps(arguments))]})
        messages.append({"role": "tool", "tool_call_id": id, "name": "shell", "content": result})
    return messages, {"role": "assistant", "content": made.says(30)}


def openhands(number, made):
    messages, answer = openai(made)
    answer = {"id": f"r{number}", "object": "chat.completion", "choices": [{"index": 0, "finish_reason": "stop", "message": answer}]}
    return {"messages": messages, "response": answer, "args": [], "kwargs": {"temperature": 0.0, "tools": TOOLS}, "timestamp": 1.5, "cost": 0.01}


def tau2(number, made):
    messages, answer = openai(made)
    for message in messages:
        if message["role"] == "tool":
            message.update(id=message.pop("tool_call_id"), requestor="assistant", error=False)
            del message["name"]
        for of in message.get("tool_calls", []):
            function = of.pop("function")
            del of["type"]
            of.update(name="shell", arguments=json.loads(function["arguments"]), requestor="assistant")
    return {"id": f"s{number}", "task_id": "1", "messages": messages + [answer], "tools": TOOLS}


#: The forms whose files are sessions, and those of one session a line.
FILES = {"claude-code": claude_code, "codex": codex}
LINES = {"anthropic": anthropic, "gemini": gemini, "responses": responses, "atif": atif, "swe-agent": swe_agent, "openhands": openhands, "tau2": tau2}


def copy(files):
    for file in files:
        with open(file) as lines:
            for line in lines:
                print(json.dumps(json.loads(line), ensure_ascii=False))


def main():
    if sys.argv[1] == "--copy":
        return copy(sys.argv[2:])
    form, megabytes, out = sys.argv[1], int(sys.argv[2]), pathlib.Path(sys.argv[3])
    made, size, number = Results(form), 0, 0
    line = lambda value: json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
    if form in FILES:
        out.mkdir()
    while size < megabytes * 1e6:
        if form in FILES:
            lines = b"".join(map(line, FILES[form](number, made)))
            (out / f"{number:05}.jsonl").write_bytes(lines)
        else:
            lines = line(LINES[form](number, made))
            with open(out, "ab") as file:
                file.write(lines)
        size, number = size + len(lines), number + 1


if __name__ == "__main__":
    main()
