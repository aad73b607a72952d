"""chat-tok and its peer: transformers with tokenizers, in Python."""

import sys

from inputs import ROOT
from measuring import chain, pipe
from report import Goal, Section, commands, contenders

PEER = f"{sys.executable} {ROOT}/benches/suite/template_peer.py"
#: Model folders, what is asked in whole processes, and whether their templates show reasoning and calls.
MODELS = [("qwen3", 20, True), ("llama3_1", 20, False), ("deepseek_v3", 20, False), ("gemma3", 5, False)]


def folder_of(model, parts):
    """The folder of a model; None if it is not there, which the page then says."""
    folder = ROOT / "target/models" / model
    if folder.is_dir():
        return folder
    parts.append(f"{model}: not there (tools/models.sh).\n")
    return None


def any_model(bench, inputs, quick):
    """Chats to tokens by the chat template and tokenizer of a model's folder, whole processes on one thread.
    The peer calls `apply_chat_template` and the tokenizer for each chat, and finds no trained ranges; the
    tokens of both are compared. Chats with reasoning and calls go to the template that shows them."""
    rows = 2_000 if quick else 10_000
    parts, goals = [], []
    for model, asked, is_shown in MODELS:
        if not (folder := folder_of(model, parts)):
            continue
        chats = inputs.model_chats(rows, is_shown)
        pipes = {
            "transformers, tokenizers": pipe(f"{PEER} {folder} {chats} peer.ids", TOKENIZERS_PARALLELISM="false"),
            "chat-tok": pipe(f"chat-tok -q --turns all --model {folder} {chats}"),
        }
        results = bench.compare(pipes, min(bench.runs, 3))
        bench.shell(f"{PEER} --ours our.ids < <(chat-tok -q --turns all --model {folder} {chats}); cmp peer.ids our.ids")
        peer, one = results.values()
        title = f"**{model}**, {rows:,} chats"
        parts.append(f"{title}:\n\n" + contenders(results, rows / 1e3, "thousand chats", next(iter(pipes))))
        parts.append(commands(results))
        goals += [
            Goal(f"chat-tok, {model}, against transformers", asked, peer.cpu_median / one.cpu_median, "x"),
            Goal(f"chat-tok, {model}, memory", 150, one.peak / 1e6, "MB", less=True),
        ]
    return Section("Any model", "\n".join(parts), goals)


def same_tools(bench, inputs, quick):
    """Chats that all have the same system text and the same 8 tools, 10 kB, in whole processes on one thread, beside the same
    chats without. The peer and the comparison are as above."""
    rows = 1_000 if quick else 10_000
    if not (folder := folder_of("qwen3", parts := [])):
        return Section("Chats with the same tools", "\n".join(parts), [])
    same, others = inputs.same_chats(rows), inputs.model_chats(rows, True)
    pipes = {
        "transformers, tokenizers": pipe(f"{PEER} {folder} {same} peer.ids", TOKENIZERS_PARALLELISM="false"),
        "chat-tok": pipe(f"chat-tok -q --turns all --model {folder} {same}"),
        "without the system text and the tools": pipe(f"chat-tok -q --turns all --model {folder} {others}"),
    }
    results = bench.compare(pipes, min(bench.runs, 3))
    bench.shell(f"{PEER} --ours our.ids < <(chat-tok -q --turns all --model {folder} {same}); cmp peer.ids our.ids")
    peer, one, other = results.values()
    goals = [
        Goal("chat-tok, the same tools in all chats, against transformers", 50, peer.cpu_median / one.cpu_median, "x"),
        Goal("the same by chats without system text and tools, CPU time", 2, one.cpu_median / other.cpu_median, "x", less=True),
    ]
    text = f"{rows:,} chats:\n\n" + contenders(results, rows / 1e3, "thousand chats", next(iter(pipes)))
    return Section("Chats with the same tools", text + "\n" + commands(results), goals)


#: Models, whether their templates show reasoning and calls, and control tokens that texts spell.
SPELLED = [
    ("qwen3", True, ["<|im_start|>", "<|im_end|>", "<tool_call>", "<|endoftext|>"]),
    ("llama3_1", False, ["<|start_header_id|>", "<|eot_id|>", "<|begin_of_text|>", "<|python_tag|>"]),
]


def control_tokens(bench, inputs, quick):
    """Chats of which each text spells a control token, which both encode as text, on one thread. The peer is
    `apply_chat_template(..., sanitize_control_tokens=True)`; the ids of both are compared."""
    rows = 2_000 if quick else 10_000
    parts, goals = [], []
    for model, is_shown, tokens in SPELLED:
        if not (folder := folder_of(model, parts)):
            continue
        plain, spelling = inputs.model_chats(rows, is_shown), inputs.spelling_chats(rows, is_shown, tokens)
        of_us = f"chat-tok -q -j 1 --turns all --model {folder}"
        pipes = {
            "transformers": pipe(f"{PEER} --sanitize {folder} {spelling} peer.ids", TOKENIZERS_PARALLELISM="false"),
            "chat-tok": pipe(f"{of_us} {spelling}"),
            "without such texts": pipe(f"{of_us} {plain}"),
            "without, --special token": pipe(f"{of_us} --special token {plain}"),
        }
        results = bench.compare(pipes, min(bench.runs, 3))
        bench.shell(f"{PEER} --ours our.ids < <({of_us} {spelling}); cmp peer.ids our.ids")
        theirs, spelled, text, token = results.values()
        parts.append(f"**{model}**, {rows:,} chats:\n\n" + contenders(results, rows / 1e3, "thousand chats", next(iter(pipes))))
        parts.append(commands(results))
        goals += [
            Goal(f"control tokens in texts, {model}, against transformers", 25, theirs.cpu_median / spelled.cpu_median, "x"),
            Goal(f"no such texts, {model}, by --special token", 1.05, text.cpu_median / token.cpu_median, "x", less=True),
        ]
    return Section("Control tokens in texts", "\n".join(parts), goals)


def long_chats(bench, inputs, quick):
    """Traces of agents: one chat of many calls with results, beside eight chats with an eighth of the calls, and beside
    transformers. Qwen 3 keeps the reasoning of calls, so that each chat is one sequence, whose ids are compared."""
    calls = 800 if quick else 3_200
    if not (folder := folder_of("qwen3", parts := [])):
        return Section("Long chats", "\n".join(parts), [])
    one, eight = inputs.trace(1, calls), inputs.trace(8, calls // 8)
    peer = "transformers, tokenizers"
    pipes = {
        peer: pipe(f"{PEER} {folder} {one} peer.ids", TOKENIZERS_PARALLELISM="false"),
        f"chat-tok, 8 chats of {calls // 8:,} calls": pipe(f"chat-tok -q -j 1 --model {folder} {eight}"),
        f"chat-tok, one chat of {calls:,} calls": pipe(f"chat-tok -q -j 1 --model {folder} {one}"),
        "the same, --turns all": pipe(f"chat-tok -q -j 1 --turns all --model {folder} {one}"),
    }
    results = bench.compare(pipes, bench.runs)
    bench.shell(f"{PEER} --ours our.ids < <(chat-tok -q --model {folder} {one}); cmp peer.ids our.ids")
    theirs, short, long, whole = results.values()
    goals = [
        Goal("one long chat by 8 short ones, CPU time", 1.6, long.cpu_median / short.cpu_median, "x", less=True),
        Goal("one long chat, --turns fit by all, CPU time", 1.1, long.cpu_median / whole.cpu_median, "x", less=True),
        Goal("one long chat, against transformers", 10, theirs.cpu_median / long.cpu_median, "x"),
    ]
    text = contenders(results, calls / 1e3, "thousand calls", peer)
    return Section("Long chats", text + "\n" + commands(results), goals)


def other_rows(bench, inputs, quick):
    """Rows of another tool, checked with the model that they are for, on one thread. The peer decodes each row and encodes
    its text again (`tokenizers`), and compares labels with tokens; it looks at no message."""
    rows = 2_000 if quick else 20_000
    if not (folder := folder_of("qwen3", parts := [])):
        return Section("Rows of other tools", "\n".join(parts), [])
    path = inputs.other_rows(rows, folder)
    peer = f"{sys.executable} {ROOT}/benches/suite/rows_peer.py check {folder} {path}"
    pipes = {
        "tokenizers": pipe(peer, TOKENIZERS_PARALLELISM="false"),
        "ds-check": pipe(f"ds-check -q -j 1 --model {folder} {path}"),
        "ds-check, without foreign.text": pipe(f"ds-check -q -j 1 --skip foreign.text --model {folder} {path}"),
    }
    results = bench.compare(pipes, min(bench.runs, 3))
    count = "import pyarrow.parquet as pq, sys; print(sum(map(len, pq.read_table(sys.argv[1]).column(0).to_pylist())))"
    millions = int(bench.output([sys.executable, "-c", count, path])) / 1e6
    theirs, own, quick_check = (result.cpu_median for result in results.values())
    goals = [
        Goal("ds-check of rows of another tool, -j 1", 10, millions / own, "M tokens/s"),
        Goal("the same without foreign.text", 20, millions / quick_check, "M tokens/s"),
        Goal("the same check, against tokenizers", 10, theirs / own, "x"),
    ]
    text = contenders(results, millions, "M tokens", "tokenizers")
    return Section("Rows of other tools", text + "\n" + commands(results), goals)


def tokens_and_masks(bench, inputs, quick):
    """Chats to tokens and masks in whole processes. The peer maps `apply_chat_template` over the rows of a dataset, and
    its masks are 0 throughout, since the template of Qwen 3 does not say what is generated. The tokens of chat-tok are
    compared with those of the peer; Harmony has other ones for the same chats."""
    rows = 2_000 if quick else 10_000
    if not (folder := folder_of("qwen3", parts := [])):
        return Section("Chats to tokens and masks", "\n".join(parts), [])
    chats = inputs.model_chats(rows, True)
    by_model = f"chat-tok -q --turns all --model {folder} {chats}"
    pipes = {
        "datasets, transformers": pipe(f"{PEER} --datasets {folder} {chats} peer.ids"),
        "chat-tok": chain(f"{by_model} | span-mask -q"),
        "chat-harmony": chain(f"chat-harmony -q --turns all {chats} | harmony-tok -q | span-mask -q"),
    }
    results = bench.compare(pipes, min(bench.runs, 3))
    bench.shell(f"{PEER} --ours our.ids < <({by_model}); cmp peer.ids our.ids")
    peer, model, harmony = results.values()
    goals = [
        Goal("chats to tokens and masks, Qwen 3, against datasets", 80, peer.cpu_median / model.cpu_median, "x"),
        Goal("chats to tokens and masks, Harmony, against datasets", 80, peer.cpu_median / harmony.cpu_median, "x"),
    ]
    text = f"{rows:,} chats:\n\n" + contenders(results, rows / 1e3, "thousand chats", next(iter(pipes)))
    return Section("Chats to tokens and masks", text + "\n" + commands(results), goals)


def preference_pairs(bench, inputs, quick):
    """Preference data to pairs in whole processes, on one thread. The peer maps the functions with which TRL 1.16 prepares
    the dataset of DPOTrainer over its rows: three renderings and three tokenizations a row. The ids of both are
    compared, but for what the template prints behind the stop token."""
    rows = 2_000 if quick else 10_000
    parts, goals = [], []
    peer = f"{sys.executable} {ROOT}/benches/suite/pair_peer.py"
    for model in ("qwen3", "llama3_1"):
        if not (folder := folder_of(model, parts)):
            continue
        pairs = inputs.pairs(rows)
        of_us = f"chat-tok -q -j 1 --take pair --model {folder} {pairs}"
        pipes = {
            "TRL's preparation": pipe(f"{peer} trl {folder} {pairs} peer.ids", TOKENIZERS_PARALLELISM="false"),
            "chat-tok": pipe(of_us),
            "chat-tok, seq-pack": chain(f"{of_us} | seq-pack -q --form trl-dpo -o pairs.parquet --overwrite"),
        }
        results = bench.compare(pipes, min(bench.runs, 3))
        bench.shell(f"{peer} ours our.ids < <({of_us} --to arrow); cmp peer.ids our.ids")
        theirs, one, packed = results.values()
        parts.append(f"**{model}**, pairs of {rows:,} chats:\n\n" + contenders(results, rows / 1e3, "thousand pairs", next(iter(pipes))))
        parts.append(commands(results))
        goals += [
            Goal(f"pairs, {model}, against TRL's preparation", 30, theirs.cpu_median / one.cpu_median, "x"),
            Goal(f"rows of pairs, {model}, against TRL's preparation", 30, theirs.cpu_median / packed.cpu_median, "x"),
        ]
    return Section("Preference pairs", "\n".join(parts), goals)
