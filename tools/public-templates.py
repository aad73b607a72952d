"""What chat-tok makes of the chat templates that public packages hold, beside tests/oracle/fit.py; by hand:

    tools/venv.sh
    target/venv/bin/python tools/public-templates.py CACHE [--chat-tok target/release/chat-tok] [--only NAME] [--rows FILE]
    target/venv/bin/python tools/public-templates.py CACHE --used lib/template/used.txt

CACHE is a folder, in which the packages of PyPI are kept; it is made. Nothing of it belongs into this repository. With --used it only writes
which filters, tests, methods and functions the templates use, and how many templates use each. Else each
template is run over a tokenizer of single bytes, with the special tokens that the template spells and the stop tokens
that a model with such a template has. (`{% generation %}` is taken out: what a template names is another question.)

For each template it prints a row of what comes of each chat:
  3 abd   chat-tok writes the three records of the definition (without --chat-tok: there are three); their trained
          ranges begin by the rules a, b and d of tests/oracle/fit.py
  refused both refuse; the reasons are below the row
  WRONG   chat-tok differs from the definition, or a trained range of `--turns all` holds a text of another message, the
          generation prompt, or ends before the stop token, or is not the range of the definition where that stands
          in the text. What differs is below the row
"""

import argparse
import ast
import collections
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests/oracle"))

from jinja2 import nodes  # noqa: E402

import fit  # noqa: E402
import fit_cases  # noqa: E402

WHEELS = ["trl", "axolotl", "unsloth", "guidance", "autotrain-advanced", "mlx-lm", "ms-swift", "llamafactory"]
# Their wheels have no templates; the sources are unpacked, not built.
SOURCES = ["llama-cpp-python", "vllm"]
SKIP = re.compile(r"/(score|embed|evaluation|eval|docs|report)/|rerank|classif|embedding")


def fetch(cache):
    """The wheels, and the unpacked sources."""
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--disable-pip-version-check", "--dest", str(cache)]
    for name in WHEELS:
        if not list(cache.glob(name.replace("-", "_") + "-*")):
            subprocess.run([*pip, "--only-binary", ":all:", name], check=False)
    for name in SOURCES:
        folder = cache / "sources" / name
        if not folder.is_dir():
            folder.mkdir(parents=True)
            # It ends with an error, as nothing is there to build with; what it has unpacked stays.
            command = [*pip, "--no-clean", "--no-build-isolation", "--no-binary", ":all:", name]
            subprocess.run(command, check=False, env=os.environ | {"TMPDIR": str(folder)}, capture_output=True)


def in_python(source):
    """Texts of a Python program that look like templates."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return
    seen = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.BinOp, ast.Constant)) and id(node) not in seen:
            try:
                text = evaluated(node)
            except ValueError:
                continue
            seen.update(id(inner) for inner in ast.walk(node))
            yield text


def evaluated(node):
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return evaluated(node.left) + evaluated(node.right)
    raise ValueError


def in_file(name, text):
    """(name, template) of a file."""
    if name.endswith(".jinja"):
        yield Path(name).stem, text
    elif name.endswith(".py") and "messages" in text and "{%" in text:
        for number, found in enumerate(in_python(text)):
            if "{%" in found and re.search(r"\bmessages\b", found) and "for " in found and len(found) > 60:
                yield f"{Path(name).stem}:{number}", found


def files(cache):
    for wheel in sorted(cache.glob("*.whl")):
        with zipfile.ZipFile(wheel) as archive:
            for name in archive.namelist():
                if name.endswith((".jinja", ".py")):
                    yield wheel.name.split("-")[0], name, archive.read(name).decode(errors="ignore")
    for folder in sorted((cache / "sources").glob("*")):
        for path in sorted(folder.rglob("*.jinja")) + sorted(folder.rglob("llama_chat_format.py")):
            yield folder.name, str(path), path.read_text(errors="ignore")
    for home in importlib.util.find_spec("transformers").submodule_search_locations:
        for path in sorted(Path(home).rglob("convert_*.py")):
            yield "transformers", str(path), path.read_text()
    for path in sorted((ROOT / "target/models").glob("*/tokenizer_config.json")):
        template = json.loads(path.read_text()).get("chat_template")
        if isinstance(template, str):
            yield "npm", path.parent.name + ".jinja", template


def public(cache):
    """Sources by name, each once."""
    found, known = {}, set()
    for package, path, text in files(cache):
        if SKIP.search(path):
            continue
        for name, source in in_file(path, text):
            source = fit_cases.without_generation(source)
            bare = re.sub(r"\s+", " ", source).strip()
            if bare not in known:
                known.add(bare)
                name = f"{package}/{name}"
                found[name if name not in found else f"{name}~{len(found)}"] = source
    return found


def used(sources):
    """The filters, tests, methods and functions of templates, with the number of templates that use each."""
    counts = collections.Counter()
    for source in sources:
        try:
            tree = fit.Environment(extensions=["jinja2.ext.loopcontrols"]).parse(source)
        except Exception:  # noqa: BLE001 (a fragment of a program)
            continue
        macros = {node.name for node in tree.find_all(nodes.Macro)}
        found = {("filter", node.name) for node in tree.find_all(nodes.Filter)}
        found |= {("test", node.name) for node in tree.find_all(nodes.Test)}
        # What `map`, `select` and their like are given by name.
        for node in tree.find_all(nodes.Filter):
            at = {"map": 0, "select": 0, "reject": 0, "selectattr": 1, "rejectattr": 1}.get(node.name)
            if at is not None and len(node.args) > at and isinstance(node.args[at], nodes.Const):
                found.add(("filter" if node.name == "map" else "test", node.args[at].value))
        for node in tree.find_all(nodes.Call):
            if isinstance(node.node, nodes.Getattr):
                found.add(("method", node.node.attr))
            elif isinstance(node.node, nodes.Name) and node.node.name not in macros:
                found.add(("function", node.node.name))
        found |= {("loop", node.attr) for node in tree.find_all(nodes.Getattr) if node.node == nodes.Name("loop", "load")}
        counts.update(found)
    return counts


def words():
    """Texts that stand nowhere else."""
    number = 0
    while True:
        number += 1
        yield f"wq{number:03}z"


TOOLS = [{
    "type": "function",
    "function": {
        "name": "get_weather", "description": "The weather of a city",
        "parameters": {
            "type": "object", "required": ["city"],
            "properties": {"city": {"type": "string", "description": "A city"}, "days": {"type": "integer", "description": "Days"}},
        },
    },
}]  # fmt: skip


WORD = re.compile(r"wq\d{3}z")


def chats():
    word = words()
    user = lambda: {"role": "user", "content": f"{next(word)} or {next(word)}?"}
    answer = lambda: {"role": "assistant", "content": f"{next(word)} and {next(word)}."}
    thought = lambda message: message | {"reasoning_content": f"{next(word)} so {next(word)}."}
    counter = iter(range(1, 1000))

    def call(content=""):
        function = {"name": "get_weather", "arguments": {"city": next(word), "days": next(counter)}}
        return {"role": "assistant", "content": content, "tool_calls": [{"id": f"call{next(counter):05}", "type": "function", "function": function}]}

    def result(call):
        return {"role": "tool", "tool_call_id": call["tool_calls"][0]["id"], "name": "get_weather", "content": f"{next(word)} is {next(word)}"}

    def called(*with_):
        made = call(*with_)
        return [made, result(made)]

    said = lambda: f"{next(word)} first {next(word)}."
    made = {
        "plain": [user(), answer(), user(), answer(), user(), answer()],
        "system": [{"role": "system", "content": f"{next(word)} {next(word)}"}, user(), answer(), user(), answer()],
        "tools": [user(), *called(), *called(), answer(), user(), *called(), answer()],
        "beside": [user(), *called(said()), answer()],
        "call_last": [user(), answer(), user(), call()],
        "reasoning": [user(), thought(answer())],
        "reasonings": [user(), thought(answer()), user(), answer(), user(), thought(answer())],
        "think+call": [user(), *(lambda pair: [thought(pair[0]), pair[1]])(called()), thought(answer()), user(), thought(answer())],
    }
    return [
        {"id": name, "messages": messages} | ({"tools": TOOLS} if any(message.get("tool_calls") for message in messages) else {})
        for name, messages in made.items()
    ]


def stretches(text, record, tokenizer):
    """What a record of chat-tok trains on: a list of (begin, end) in the characters of its text."""
    found, at, ends = [], 0, {}
    for place, character in enumerate(text):
        ends[at] = place
        at += len(character.encode())
    ends[at] = len(text)
    at = 0
    for token, is_trained in zip(record["tokens"], fit_cases.mask_of(record)):
        size = len(fit_cases.bytes_of(tokenizer, token))
        if is_trained and found and found[-1][1] == at:
            found[-1][1] = at + size
        elif is_trained:
            found.append([at, at + size])
        at += size
    return [(ends[start], ends[end]) for start, end in found]


def wrong_in_all(model, chat, record):
    """What is wrong with a record of `--turns all`."""
    made = fit.Fit(model, chat, {})
    text = b"".join(fit_cases.bytes_of(model.tokenizer, token) for token in record["tokens"]).decode()
    if text != made.text(len(made.messages) - 1):
        return "another text"
    spans = stretches(text, record, model.tokenizer)
    inside = lambda pair: text[pair[0] : pair[1]]
    all_words = set(WORD.findall(json.dumps(made.messages)))
    for at, message in enumerate(made.messages):
        if message["role"] != "assistant":
            continue
        own = set(WORD.findall(json.dumps(message)))
        others = all_words - own
        mine = [pair for pair in spans if own & set(WORD.findall(inside(pair)))]
        shown = f"{[inside(pair) for pair in mine]}"
        if any(others & set(WORD.findall(inside(pair))) for pair in mine):
            return f"message {at}: a text of another message is trained on: {shown}"
        try:
            said = made.said(at)
        except fit.Refused:
            said = None
        for pair in mine:
            # (Where R(i) has no stop token at all, nothing is generated that one may be found behind white space.)
            is_stated = said and pair[1] == said[1] and text.startswith(made.text(at)[: said[1]])
            stop = None if is_stated else model.stop(text, pair[1])
            is_own = stop and not others & set(WORD.findall(text[pair[1] : stop.start()]))
            if is_own and not any(inside(pair).endswith(token) for token in model.stops):
                return f"message {at}: it ends before the stop: {shown}"
        if not said:
            continue
        begin, end = said
        prompt = made.asked(at)[fit.common(made.asked(at), made.text(at - 1)) :].strip()
        if prompt and any(prompt in inside(pair) for pair in mine) and prompt not in made.text(at)[begin:end]:
            return f"message {at}: the generation prompt is trained on: {shown}"
        if text.startswith(made.text(at)[:end]):
            stop = model.stop(text, end)
            if stop and stop.start() == end and not model.stop(text, begin, end):
                end = stop.end()
            if (begin, end) not in spans:
                return f"message {at}: {shown}, not {text[begin:end]!r}"
    return None


def row(name, source, program):
    """What comes of each chat: (shown, detail)."""
    tokens, eos, bos, stops = fit_cases.guessed(source)
    with tempfile.TemporaryDirectory() as folder:
        fit_cases.write_model(folder, source, tokens, eos, bos, stops)
        model = fit.Model(folder)
        lines = chats()
        ours = {turns: fit_cases.run(program, folder, lines, ["--turns", turns]) for turns in ("fit", "all")} if program else None
        for chat in lines:
            theirs = fit.records(model, chat)
            refused = theirs[0].get("refused")
            detail = refused
            shown = "refused" if refused else f"{len(theirs)} {''.join(sorted(theirs[0]['rules']))}"
            if program:
                records, reason = (part.get(chat["id"]) for part in ours["fit"])
                problem = fit_cases.problem(theirs, records, reason)
                whole = ours["all"][0].get(chat["id"])
                if not problem and whole:
                    problem = wrong_in_all(model, chat, whole[0])
                    problem = problem and f"all: {problem}"
                if problem:
                    shown, detail = "WRONG", problem
            yield chat["id"], shown, detail, theirs


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("cache", type=Path)
    parser.add_argument("--chat-tok")
    parser.add_argument("--only", default="")
    parser.add_argument("--rows", type=Path, help="writes what the reference gives, as lines of JSON")
    parser.add_argument("--used", type=Path, help="writes what the templates use, and ends")
    arguments = parser.parse_args()
    arguments.cache.mkdir(parents=True, exist_ok=True)
    fetch(arguments.cache)
    sources = {name: source for name, source in public(arguments.cache).items() if arguments.only in name}
    if arguments.used:
        lines = [f"{kind} {name} {count}\n" for (kind, name), count in sorted(used(sources.values()).items())]
        arguments.used.write_text("".join(lines))
        return
    kinds = [chat["id"] for chat in chats()]
    totals, reasons, rules, broken = collections.defaultdict(collections.Counter), collections.Counter(), collections.Counter(), []
    print(f"{'':52}" + "".join(f"{kind:12}" for kind in kinds))
    with open(arguments.rows or "/dev/null", "w") as out:
        for name, source in sources.items():
            try:
                fit.Environment(extensions=["jinja2.ext.loopcontrols"]).parse(source)
            except Exception as error:  # noqa: BLE001
                broken.append(f"{name}: {error}")
                continue
            cells, details = [], []
            for kind, shown, detail, theirs in row(name, source, arguments.chat_tok):
                cells.append(f"{shown:12}")
                outcome = shown if shown in ("refused", "WRONG") else "ok"
                totals[kind][outcome] += 1
                if detail:
                    details.append(f"    {kind}: {detail}")
                    if outcome == "refused":
                        reasons[re.sub(r"message \d+", "message", detail)[:70]] += 1
                rules.update(theirs[0].get("rules", {}))
                json.dump({"template": name, "chat": kind, "records": theirs}, out)
                out.write("\n")
            print(f"{name[:51]:52}" + "".join(cells))
            print("\n".join(details), end="\n" if details else "")
    print(f"\n{len(sources)} templates, {len(broken)} of which do not parse: {broken}")
    for kind in kinds:
        print(f"{kind:12}", dict(totals[kind]))
    print("begins by rule:", dict(rules))
    print("\n".join(f"{count:5} {reason}" for reason, count in reasons.most_common(40)))
    sys.exit(any(total["WRONG"] for total in totals.values()))


if __name__ == "__main__":
    main()
