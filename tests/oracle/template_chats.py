"""Random chats and the templates that they are rendered with."""

import importlib.util
import json
from pathlib import Path

HERE = Path(__file__).parent
MODELS = HERE.parent.parent / "target" / "models"

WORDS = [
    "Hi", "hello", "Weather", "in", "Paris", "42", "é", "日本語", "😀", "<b>", "&amp;", "\"quoted\"", "it's", "a\\b",
    "{{ x }}", "{% if %}", "<think>", "</think>", "<|im_start|>assistant\n", "<|im_end|>", "\n\n", "\t", "assistant",
    "<|eot_id|>", "<tool_call>", "[INST]", "</s>", "<|User|>", "user\n", "<start_of_turn>model\n", "<end_of_turn>",
    "\u00a0", "\u2028", "e", "a", "%s", "{}", "\x07", "\\n", "null", "None", "True", "3.14", "##", "* x",
]
SPACES = ["", "", "", "", " ", "\n", "\n\n", "  ", "\t", " \n "]
STOPS = ["</s>", "<|im_end|>", "<|eot_id|>", "<end_of_turn>", "<|eos|>", "<|end|>", "<|call|>", "<|return|>", "<|endoftext|>", "<eot>"]


def templates():
    """Sources by name."""
    found = {path.stem: path.read_text() for path in sorted((HERE / "chat_templates").glob("*.jinja"))}
    for path in sorted(MODELS.glob("*/tokenizer_config.json")):
        template = json.loads(path.read_text()).get("chat_template")
        if isinstance(template, str):
            found["npm_" + path.parent.name] = template
    # The templates of about 30 models, most of them in two forms: as the model has it, and for training.
    for home in importlib.util.find_spec("trl").submodule_search_locations:
        for path in sorted(Path(home, "chat_templates").glob("*.jinja")):
            found["trl_" + path.stem] = path.read_text()
    return found


def text(rng, hostile=0.25):
    kind = rng.random()
    if kind < 0.06:
        return ""
    if kind < 0.1:
        return rng.choice([" ", "\n", "\n\n \n", "\t"])
    pool = WORDS if rng.random() < hostile else WORDS[:7]
    body = rng.choice([" ", " ", ""]).join(rng.choice(pool) for _ in range(rng.randint(1, 6)))
    return rng.choice(SPACES) + body + rng.choice(SPACES)


def value(rng, depth=0):
    kind = rng.randrange(9 if depth < 2 else 6)
    if kind == 0:
        return rng.choice([True, False, None])
    if kind == 1:
        return rng.choice([0, -1, 7, 2**31, 10**25, -(10**20)])
    if kind == 2:
        return rng.choice([0.5, 1.0, -2.25, 1e21, 1e-7, 100.0])
    if kind < 6:
        return text(rng)
    if kind == 6:
        return [value(rng, depth + 1) for _ in range(rng.randint(0, 3))]
    return {key: value(rng, depth + 1) for key in rng.sample(["a", "b", "items", "name", "é", "x y"], rng.randint(0, 3))}


def calls(rng):
    made = []
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        arguments = {key: value(rng) for key in rng.sample(["city", "q", "n", "items", "unit"], rng.randint(0, 3))}
        if rng.random() < 0.1:
            arguments = json.dumps(arguments)
        function = {"name": rng.choice(["get_weather", "search", "f"]), "arguments": arguments}
        if rng.random() < 0.3:
            function = dict(reversed(function.items()))
        call = {"type": "function", "function": function}
        made.append({"id": "call_1"} | call if rng.random() < 0.3 else call)
    return made


def assistant(rng, with_calls):
    message = {"role": "assistant", "content": text(rng)}
    if rng.random() < 0.3:
        message[rng.choice(["reasoning_content", "reasoning_content", "thinking", "reasoning"])] = text(rng)
    if with_calls:
        message["tool_calls"] = calls(rng)
        message["content"] = rng.choice(["", None, text(rng)])
        if rng.random() < 0.1:
            del message["content"]
    if rng.random() < 0.05:
        message["tool_calls"] = message.get("tool_calls")
    return message


def messages(rng):
    made = []
    if rng.random() < 0.4:
        made.append({"role": "system", "content": text(rng)})
    for _ in range(rng.choice([1, 1, 2, 2, 3, 4])):
        made.append({"role": "user", "content": text(rng)})
        while rng.random() < 0.2:
            made.append(assistant(rng, True))
            for _ in range(rng.choice([1, 1, 2])):
                made.append({"role": "tool", "content": text(rng)})
                if rng.random() < 0.3:
                    made[-1]["tool_call_id"] = "call_1"
        made.append(assistant(rng, rng.random() < 0.05))
    if rng.random() < 0.05:
        made.insert(rng.randrange(len(made)), {"role": rng.choice(["user", "tool", "assistant"]), "content": text(rng)})
    if rng.random() < 0.03:
        at = rng.randrange(len(made))
        parts = [{"type": "text", "text": text(rng)}, {"type": "image"}]
        made[at]["content"] = rng.choice([parts, None, 5, {"a": 1}, {"k": {"x": [text(rng), 7]}}, [text(rng), text(rng)]])
    if rng.random() < 0.05:
        made[rng.randrange(len(made))]["name"] = "bob"
    return made


def tool(rng):
    properties = {}
    for name in rng.sample(["city", "q", "n", "items", "unit"], rng.randint(0, 3)):
        spec = {"type": rng.choice(["string", "integer", "array", "object", ["string", "null"]])}
        if rng.random() < 0.5:
            spec["description"] = text(rng)
        if spec["type"] == "array" and rng.random() < 0.6:
            spec["items"] = {"type": rng.choice(["string", "number"])}
        if rng.random() < 0.2:
            spec["enum"] = ["a", "b"]
        if rng.random() < 0.2:
            spec["default"] = value(rng, 2)
        properties[name] = spec
    function = {"name": rng.choice(["get_weather", "search"]), "description": text(rng)}
    if rng.random() < 0.8:
        function["parameters"] = {"type": "object", "properties": properties, "required": list(properties)[:1]}
    return {"type": "function", "function": function}


def variables(rng):
    made = {"bos_token": "<s>", "eos_token": "</s>"}
    for name, choices in {
        "enable_thinking": [True, False],
        "reasoning_effort": ["low", "high"],
        "date_string": ["26 Jul 2024"],
        "tools_in_user_message": [True, False],
        "thinking": [True],
    }.items():
        if rng.random() < 0.2:
            made[name] = rng.choice(choices)
    return made


def case(rng, sources):
    made = {
        "template": sources[rng.choice(sorted(sources))],
        "messages": messages(rng),
        "prompt": rng.random() < 0.4,
        "set": variables(rng),
    }
    if rng.random() < 0.35:
        made["tools"] = [tool(rng) for _ in range(rng.randint(1, 2))]
    if rng.random() < 0.05:
        made["documents"] = [{"title": text(rng), "text": text(rng)}]
    return made
