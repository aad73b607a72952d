"""Rows as other tools make them, good ones and ones with a defect, and what ds-check must find in them.

    foreign_rows.py make DIR [--count N] [--seed S] [--only NAME,NAME]
    foreign_rows.py good DIR --ds-check PROGRAM [--count N] [--seed S] [--only NAME,NAME]
    foreign_rows.py write DIR
    foreign_rows.py compare DIR [--count N] [--seed S] [--only NAME,NAME]

The chats are those of fit_cases.py, the templates those of tests/oracle/chat_templates and of TRL. Tokens and masks of the
good rows are those of fit.py, which shares no code with the filters. `make` writes for each template a folder DIR/NAME
with the model, `good.jsonl`, and for each kind of defect a copy of the rows in which one row has it; each line of
DIR/cases.jsonl is {"model", "file", "check", "line"}, `check` null for the good rows. `good` makes the good rows alone and
prints what PROGRAM finds in them. `write` writes the rows of DIR/rows.jsonl in all encodings, into DIR/all. `compare` writes
for each template the model, `chats.jsonl`, and in `rows.jsonl` the rows of these chats, in order.
"""

import argparse
import json
import random
import subprocess
from pathlib import Path

import fit
import fit_cases


def good_rows(model, name, count, seed):
    """Rows with labels; each with the ranges of its tokens that are trained on."""
    writer = fit_cases.Writer(random.Random(f"{seed} {name}"), model)
    made, number = [], 0
    while len(made) < count and number < 20 * count:
        number += 1
        chat = writer.chat(number)
        for record in fit.records(model, chat):
            if "refused" in record:
                continue
            row = row_of(record)
            # (Texts of a few words may be equal.)
            if all(row["input_ids"] != other["input_ids"] for other in made):
                made.append(row)
    return made[:count]


def row_of(record):
    tokens, mask = record["tokens"], record["mask"]
    return {"input_ids": tokens, "labels": [token if of else -100 for token, of in zip(tokens, mask)]}


def compare(folder, count, seed, only):
    for name, path in models(folder, only):
        model, chats, rows = fit.Model(path), [], []
        writer = fit_cases.Writer(random.Random(f"{seed} {name}"), model)
        for number in range(1, count + 1):
            chat = writer.chat(number)
            records = list(fit.records(model, chat))
            if not any("refused" in record for record in records):
                chats.append(chat)
                rows += map(row_of, records)
        write(path / "chats.jsonl", chats)
        write(path / "rows.jsonl", rows)


def trained(row):
    """The ranges of tokens that are trained on."""
    mask = [label != -100 for label in row["labels"]] + [False]
    starts = [at for at, of in enumerate(mask) if of and not (at and mask[at - 1])]
    return [(start, next(at for at in range(start, len(mask)) if not mask[at])) for start in starts]


def label(row, places):
    labels = list(row["labels"])
    for at in places:
        labels[at] = row["input_ids"][at]
    return row | {"labels": labels}


def without(row, places):
    kept = [at for at in range(len(row["labels"])) if at not in places]
    return {name: [values[at] for at in kept] for name, values in row.items()}


def shifted(row, by):
    mask = [label != -100 for label in row["labels"]]
    mask = [at - by in range(len(mask)) and mask[at - by] for at in range(len(mask))]
    return row | {"labels": [token if of else -100 for token, of in zip(row["input_ids"], mask)]}


def defects(row, rows, stops, bos, size):
    """(check, kind, row) for each kind of defect that this row may have."""
    ranges = trained(row)
    ids, labels = row["input_ids"], row["labels"]
    (start, end), (last_start, last) = ranges[0], ranges[-1]
    ends = [stop for _, stop in ranges if ids[stop - 1] in stops]
    # A row whose first answer has a stop token and several tokens, and nothing behind its last one but space.
    if len(ends) < len(ranges) or end - start < 4 or start < 4 or last - last_start < 12:
        return
    yield "foreign.nothing", "", row | {"labels": [-100] * len(ids)}
    yield "foreign.shifted", "labels", row | {"labels": labels[1:] + [-100]}
    yield "foreign.shifted", "early", shifted(row, -1)
    if len(ids) > last:
        yield "foreign.shifted", "late", shifted(row, 1)
    yield "foreign.value", "", row | {"labels": [*labels[:start], ids[start] + 1, *labels[start + 1 :]]}
    yield "foreign.lengths", "", row | {"labels": labels[:-1]}
    yield "foreign.prompt", "", label(row, [start - 1])
    yield "foreign.stop.untrained", "", row | {"labels": [*labels[: end - 1], -100, *labels[end:]]}
    if len(ids) > end and len(ranges) > 1 and labels[end] == -100:
        yield "foreign.stop.missing", "", without(row, [end - 1])
    if len(ids) > end and labels[end] == -100 and ids[end] == ord("\n"):
        yield "foreign.stop.behind", "", label(row, [end])
    yield "foreign.cut", "", {name: values[: last - 9] for name, values in row.items()}
    yield "foreign.token", "", row | {"input_ids": [*ids[:1], size, *ids[2:]]}
    yield "foreign.positions", "ids", row | {"position_ids": [*range(start), *range(start + 1, len(ids) + 1)]}
    yield "foreign.positions", "lengths", row | {"seq_lengths": [len(ids) - 1]}
    yield "foreign.padding", "", {"input_ids": [*ids, 0], "labels": [*labels, 0], "attention_mask": [1] * len(ids) + [0]}
    if bos is not None and ids[0] == bos:
        yield "foreign.bos", "", {"input_ids": [bos, *ids], "labels": [-100, *labels]}
    yield "stream.content.repeated", "", rows[0]


def role(model, row):
    """The row with a token of the first question trained on."""
    start = trained(row)[0][0]
    text = [fit_cases.bytes_of(model.tokenizer, token) for token in row["input_ids"][:start]]
    # (The first words of a chat are never an answer's, and headers have none of these.)
    for at in range(2, start):
        if text[at - 2 : at + 1] and b"".join(text[at - 2 : at + 1]) in (b"Hi ", b" in", b"ell", b"lo ", b"eat", b"ari"):
            return label(row, [at])
    return None


def models(folder, only):
    for name, path in fit_cases.models(folder, None):
        if not name.startswith(("real_", "npm_")) and (not only or name in only):
            yield name, path


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def make(folder, count, seed, only):
    cases = []
    for name, path in models(folder, only):
        model = fit.Model(path)
        config = json.loads((path / "tokenizer_config.json").read_text())
        ids = lambda token: model.tokenizer.convert_tokens_to_ids(token)
        stops, bos = {ids(stop) for stop in model.stops}, config.get("bos_token") and ids(config["bos_token"])
        rows = good_rows(model, name, count, seed)
        write(path / "good.jsonl", rows)
        cases.append({"model": name, "file": f"{name}/good.jsonl", "check": None, "line": 0})
        # Two in each row; where texts begin with a token, nothing else divides them.
        has_beginning = bos is not None and bos not in stops and all(row["input_ids"][0] == bos for row in rows)
        packed = []
        for pair in zip(rows[::2], rows[1::2]):
            lengths = {} if has_beginning else {"seq_lengths": [len(row["input_ids"]) for row in pair]}
            packed.append({column: pair[0][column] + pair[1][column] for column in pair[0]} | lengths)
        write(path / "packed.jsonl", packed)
        cases.append({"model": name, "file": f"{name}/packed.jsonl", "check": None, "line": 0})
        seen = set()
        for at, row in enumerate(rows[1:], 1):
            made = list(defects(row, rows, stops, bos, len(model.tokenizer)))
            spoken = role(model, row)
            made += [("foreign.role", "", spoken)] if spoken else []
            for check, kind, damaged in made:
                if (check, kind) not in seen:
                    seen.add((check, kind))
                    file = f"{name}/{check}{kind and '-'}{kind}.jsonl"
                    write(folder / file, [*rows[:at], damaged, *rows[at + 1 :]])
                    cases.append({"model": name, "file": file, "check": check, "line": at + 1})
    write(folder / "cases.jsonl", cases)


def good(folder, program, count, seed, only):
    for name, path in models(folder, only):
        rows = good_rows(fit.Model(path), name, count, seed)
        if not rows:
            print(f"{name:40} no rows")
            continue
        write(path / "good.jsonl", rows)
        command = [program, path / "good.jsonl", "--model", path, "--max-findings", "1"]
        told = subprocess.run(command, capture_output=True, text=True, check=False)
        lines = [line.strip() for line in (told.stdout + told.stderr).splitlines()]
        kept = [line for line in lines if line.startswith(("error ", "warning ", "- ", "note:", "ds-check"))]
        print(f"{name:40} {len(rows)} rows: {' | '.join(kept) or 'nothing'}", flush=True)


def encodings(folder):
    """The same rows in all encodings: int32, int64, uint32; lists, large lists, and lists of a fixed size where the rows have
    one; Parquet, Arrow, JSON, datasets."""
    import datasets
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = [json.loads(line) for line in (folder / "rows.jsonl").read_text().splitlines()]
    out = folder / "all"
    out.mkdir()
    (out / "array.json").write_text(json.dumps(rows))
    (out / "indented.json").write_text(json.dumps(rows, indent=1))
    (out / "lines.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
    lists = {"i32": pa.list_(pa.int32()), "i64": pa.list_(pa.int64()), "large": pa.large_list(pa.int64()), "u32": pa.list_(pa.uint32())}
    if len({len(row["input_ids"]) for row in rows}) == 1:
        lists |= {f"fixed_{type}": pa.list_(type, len(rows[0]["input_ids"])) for type in (pa.int32(), pa.int64())}
    for name, of in lists.items():
        columns = {}
        for column in rows[0]:
            values = [row[column] for row in rows]
            is_label = name == "u32" and column == "labels"
            columns[column] = pa.array(values, pa.list_(pa.int32()) if is_label else of) if isinstance(values[0], list) else pa.array(values)
        table = pa.table(columns)
        pq.write_table(table, out / f"{name}.parquet", row_group_size=7)
        with pa.OSFile(str(out / f"{name}.arrow"), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table, max_chunksize=5)
        with pa.OSFile(str(out / f"{name}.arrows"), "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
            writer.write_table(table, max_chunksize=5)
    made = datasets.Dataset.from_list(rows)
    made.save_to_disk(out / "saved", num_shards=3)
    datasets.DatasetDict({"train": made}).save_to_disk(out / "splits")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["make", "good", "write", "compare"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--ds-check")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    only = set(filter(None, arguments.only.split(",")))
    of = (arguments.count, arguments.seed, only)
    if arguments.what == "make":
        make(arguments.folder, *of)
    elif arguments.what == "compare":
        compare(arguments.folder, *of)
    elif arguments.what == "write":
        encodings(arguments.folder)
    else:
        good(arguments.folder, arguments.ds_check, *of)


if __name__ == "__main__":
    main()
