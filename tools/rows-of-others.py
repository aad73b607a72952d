"""What ds-check and ds-diff say of rows that Axolotl, LLaMA-Factory and ms-swift prepare by their own code; by hand:

    python3 -m venv target/venv-preparers
    target/venv-preparers/bin/pip install transformers==5.24.0 datasets==5.0.1 torch accelerate peft omegaconf sentencepiece \\
        tiktoken einops addict fire colorama dacite json_repair binpacking modelscope art mistral-common numba pandas scipy
    target/venv-preparers/bin/pip install --no-deps axolotl==0.19.0 llamafactory==0.9.5 ms-swift==4.6.0 trl==0.24.0
    target/venv-preparers/bin/python tools/rows-of-others.py [--programs target/release] [--chats 500] [--only NAME] \\
        [--open-instruct CHECKOUT/open_instruct/dataset_transformation.py]

(LLaMA-Factory and ms-swift want older versions of transformers and trl by their metadata; their preparation runs with these.
open-instruct is not on PyPI: its function `sft_tulu_tokenize_and_truncate_v1` is taken from a checkout.) Each tool prepares the chats for the tokenizers of Qwen 3 and Llama 3.1 of target/models, one
row a chat, and packed; the rows stay in the columns and files in which it keeps them. A row of the table of
docs/check-your-rows.md is printed for each: what ds-check finds, what ds-diff says beside the rows of chat-tok. Then the
kinds of defects of tests/oracle/foreign_rows.py are put into one row at a time, each of which ds-check must find in that row,
and nothing else.
"""

import argparse
import ast
import importlib.metadata
import json
import os
import shutil
import sys
import tempfile
import types
from pathlib import Path

os.environ |= {"HF_HUB_OFFLINE": "1", "DISABLE_VERSION_CHECK": "1", "TOKENIZERS_PARALLELISM": "false"}

import prepared_rows  # noqa: E402
from prepared_rows import ROOT  # noqa: E402

sys.path.insert(0, str(ROOT / "tests/oracle"))

import foreign_rows  # noqa: E402
import torch  # noqa: E402
from datasets import Dataset, load_dataset, load_from_disk  # noqa: E402
from transformers import AutoTokenizer  # noqa: E402

LENGTH = 2048
# (ms-swift's llama3_2 also writes today's date, which the folder's template does not.)
# The model's folder: LLaMA-Factory's template, ms-swift's model and template, its architecture, its stop tokens.
MODELS = {
    "qwen3": ("qwen3", ("qwen3", "qwen3"), ("qwen3", "Qwen3ForCausalLM"), ["<|im_end|>", "<|endoftext|>"]),
    "llama3_1": ("llama3", ("llama", "llama3"), ("llama", "LlamaForCausalLM"), ["<|eot_id|>", "<|eom_id|>", "<|end_of_text|>"]),
}


def axolotl(model, chats, out, is_packed):
    """As `axolotl preprocess` with `type: chat_template`, and `sample_packing`."""
    from axolotl.datasets import wrap_dataset_for_tokenized_prompt
    from axolotl.prompt_strategies.chat_template import load
    from axolotl.utils.dict import DictDefault
    from axolotl.utils.trainer import process_datasets_for_packing

    config = DictDefault(
        {"train_on_inputs": False, "sequence_len": LENGTH, "chat_template": "tokenizer_default", "sample_packing": is_packed, "dataset_num_proc": 1}
    )
    names = {"type": "chat_template", "field_messages": "messages", "message_property_mappings": {"role": "role", "content": "content"}}
    strategy = load(AutoTokenizer.from_pretrained(ROOT / "target/models" / model), config, DictDefault(names))
    made = wrap_dataset_for_tokenized_prompt(strategy, load_dataset("json", data_files=chats, split="train"))
    process_datasets_for_packing(config, made, None)[0].save_to_disk(out)


def llama_factory(model, chats, out, is_packed):
    """As `tokenized_path` saves them; packed with `neat_packing`."""
    from llamafactory.data import get_dataset, get_template_and_fix_tokenizer
    from llamafactory.hparams import get_train_args
    from llamafactory.model import load_tokenizer

    tags = {f"{role}_tag": role for role in ("role", "content", "user", "assistant", "system")}
    about = {"file_name": chats, "formatting": "sharegpt", "columns": {"messages": "messages"}, "tags": tags}
    folder = Path(tempfile.mkdtemp())
    (folder / "dataset_info.json").write_text(json.dumps({"chats": about}))
    arguments = {
        "model_name_or_path": str(ROOT / "target/models" / model), "stage": "sft", "do_train": True, "finetuning_type": "full",
        "dataset": "chats", "dataset_dir": str(folder), "template": MODELS[model][0], "cutoff_len": LENGTH, "tokenized_path": out,
        "output_dir": str(folder / "out"), "overwrite_cache": True, "use_cpu": True, "packing": is_packed, "neat_packing": is_packed,
    }  # fmt: skip
    of_model, of_data, training, _, _ = get_train_args(arguments)
    tokenizer = load_tokenizer(of_model)
    template = get_template_and_fix_tokenizer(tokenizer["tokenizer"], of_data)
    get_dataset(template, of_model, of_data, training, stage="sft", **tokenizer)


def ms_swift(model, chats, out, is_packed):
    """As its trainer encodes them; packed as `--packing` does it."""
    from swift.dataset import EncodePreprocessor, PackingDataset
    from swift.model import get_processor
    from swift.template import get_template

    (kind, template), (config, architecture) = MODELS[model][1:3]
    folder = Path(tempfile.mkdtemp()) / model
    shutil.copytree(ROOT / "target/models" / model, folder)
    (folder / "config.json").write_text(json.dumps({"model_type": config, "architectures": [architecture], "max_position_embeddings": LENGTH, "torch_dtype": "bfloat16"}))
    template = get_template(get_processor(str(folder), model_type=kind), max_length=LENGTH, template_type=template)
    template.set_mode("train")
    made = EncodePreprocessor(template=template)(load_dataset("json", data_files=chats, split="train"), num_proc=1)
    if is_packed:
        packs = PackingDataset(template, made)
        made = Dataset.from_list([template.packing_row(packs[at]) for at in range(len(packs))])
    made.save_to_disk(out)


def open_instruct(model, chats, out, source):
    """As its SFT data are made; the function wants the tensors that older versions of transformers return."""
    function = "sft_tulu_tokenize_and_truncate_v1"
    own = next(node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef) and node.name == function)
    names = {"torch": torch, "INPUT_IDS_KEY": "input_ids", "LABELS_KEY": "labels", "ATTENTION_MASK_KEY": "attention_mask"}
    exec("from __future__ import annotations\n" + ast.get_source_segment(source, own), names)
    tokenizer = AutoTokenizer.from_pretrained(ROOT / "target/models" / model)
    render = lambda **settings: tokenizer.apply_chat_template(**settings, return_dict=False)  # noqa: E731
    encode = lambda row: names[function](row, types.SimpleNamespace(apply_chat_template=render), LENGTH)  # noqa: E731
    made = load_dataset("json", data_files=chats, split="train").map(encode)
    made.select_columns(["input_ids", "labels", "attention_mask"]).save_to_disk(out)


TOOLS = {"axolotl": axolotl, "llamafactory": llama_factory, "ms-swift": ms_swift}


def rows_of(folder):
    """The rows of a folder, without columns that are not of their tokens."""
    saved = load_from_disk(folder)
    saved = saved["train"] if "train" in saved else saved
    for row in saved:
        yield {name: row[name] for name in ("input_ids", "labels", "attention_mask") if row.get(name) is not None}


def without_newlines(row, stops):
    """The row without what is trained on behind stop tokens."""
    ids, labels = row["input_ids"], list(row["labels"])
    for at in range(1, len(ids)):
        if ids[at - 1] in stops:
            labels[at] = -100
    return row | {"labels": labels}


def defects(model, folder, work, programs):
    """How many kinds of defects there are, and those that are not found, or not alone."""
    tokenizer = AutoTokenizer.from_pretrained(ROOT / "target/models" / model)
    stops = set(tokenizer.convert_tokens_to_ids(MODELS[model][3]))
    rows = [without_newlines(row, stops) for row in rows_of(folder)]
    bos = tokenizer.convert_tokens_to_ids(tokenizer.bos_token) if tokenizer.bos_token else None
    asked = tokenizer.encode("What", add_special_tokens=False)[0]
    cases = {}
    for at, row in enumerate(rows[1:], 1):
        made = list(foreign_rows.defects(row, rows, stops, bos, len(tokenizer)))
        if made:
            made.append(("foreign.role", "", foreign_rows.label(row, [row["input_ids"].index(asked)])))
        for check, kind, damaged in made:
            cases.setdefault((check, kind), (at, damaged))
    wrong = []
    for (check, kind), (at, damaged) in [((None, "no defect"), (0, rows[0])), *cases.items()]:
        path = f"{work}/defect"
        shutil.rmtree(path, ignore_errors=True)
        changed = [*rows[:at], damaged, *rows[at + 1 :]]
        columns = dict.fromkeys(name for row in changed for name in row)
        Dataset.from_dict({name: [row.get(name) for row in changed] for name in columns}).save_to_disk(path)
        findings, _, _ = prepared_rows.checked(programs, path, ROOT / "target/models" / model)
        found = [(finding["check"], finding["record"]) for finding in findings]
        if check is None and found:
            # (A defect is not alone in rows that have others.)
            return 0, []
        if found != ([(check, at + 1)] if check else []):
            wrong.append(f"{check} {kind}: {found[:3]}")
    return len(cases), wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--programs", default=str(ROOT / "target/release"))
    parser.add_argument("--chats", type=int, default=500)
    parser.add_argument("--only", default="")
    parser.add_argument("--open-instruct", type=Path)
    arguments = parser.parse_args()
    lines, tools = [], dict(TOOLS)
    if arguments.open_instruct:
        source = arguments.open_instruct.read_text()
        tools["open-instruct"] = lambda model, chats, out, _: open_instruct(model, chats, out, source)
    with tempfile.TemporaryDirectory() as work:
        chats = f"{work}/chats.jsonl"
        prepared_rows.write_lines(chats, ({"messages": messages} for messages in prepared_rows.chats(arguments.chats)))
        for tool, prepare in tools.items():
            version = importlib.metadata.version(tool) if tool in TOOLS else "(checkout)"
            for model in MODELS:
                for is_packed in (False, True) if tool in TOOLS else (False,):
                    name = f"{tool} {model} {'packed' if is_packed else 'rows'}"
                    if arguments.only not in name:
                        continue
                    out = f"{work}/{name.replace(' ', '_')}"
                    prepare(model, chats, out, is_packed)
                    folder = ROOT / "target/models" / model
                    _, found, _ = prepared_rows.checked(arguments.programs, out, folder)
                    answer, why = prepared_rows.compared(arguments.programs, out, chats, folder, "--date", "2024-07-26")
                    kinds, wrong = (0, []) if is_packed else defects(model, out, work, arguments.programs)
                    first = "; ".join(f"`{text}`" for text in prepared_rows.firsts_of(answer)) if answer else why
                    cells = [
                        f"{tool} {version}", f"{model}{', packed' if is_packed else ''}",
                        ", ".join(f"`{check}` {count}" for check, count in found.items()) or "nothing", answer.get("equal"),
                        answer.get("differences", {}).get("tokens", 0), answer.get("differences", {}).get("mask", 0),
                        first.replace("|", "\\|"), f"{kinds - len(wrong)} of {kinds}" if kinds else "",
                    ]  # fmt: skip
                    lines.append(f"| {' | '.join(map(str, cells))} |")
                    print(lines[-1], *wrong, sep="\n    ", flush=True)
    print("\n| tool | tokenizer | `ds-check` finds | equal | other tokens | other masks | the first differences | defects found |\n|---|---|---|---|---|---|---|---|")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
