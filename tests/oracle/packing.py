"""Rows for trainers, by the rules of those who read them: numpy, pyarrow, and where they are asked for
trl and datasets. Nothing here is of gristmill.

  triple DATA SET PREFIX            a triple of sequences with the lengths of a set (no end of document)
  trl DATA CASE PREFIX ROWS        the rows are those of the case, order included; labels are ours, shifted
  bridge DATA CASE PREFIX ROWS METADATA   bins of the case (ffd), or a share at least theirs (bfd)
  bridge-padded PREFIX ROWS METADATA N M   rows padded to multiples of M are those of its rules (packing/offline.py)
  row-multiple PLAIN ROWS FORM N   the same rows, each padded at its end to a multiple of N positions
  damage-padding ROWS OUT           the same file, with a label in the padding of a row
  bare ROWS OUT                     the same columns, as another tool would write them
  bridge-reader ROWS N              what Megatron-Bridge asks of a row (packing/parquet.py, validate_row)
  sequences PREFIX ROWS FORM        tokens, masks and spans of each piece are those of its sequence
  pack-dataset ROWS N STRATEGY      trl's own pack_dataset of unpacked rows gives these packed rows
  collator ROWS N                   trl's collator takes packed rows: positions, labels
  processed ROWS                    TRL and Axolotl take unpacked rows as processed
"""

import json
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

EOD = 199999
#: The eos_id of gpt-oss, which Megatron-Bridge pads with.
RETURN = 200002


def triple(data, name, prefix):
    lengths = json.load(open(f"{data}/lengths.json"))[name]
    write_triple(prefix, lengths)


def write_triple(prefix, lengths):
    generator = np.random.Generator(np.random.PCG64(len(lengths)))
    total = sum(lengths)
    tokens = generator.integers(0, 199990, total).astype("<i4")
    mask = (generator.random(total) < 0.4).astype("u1")
    ends = np.cumsum(lengths)
    # (Sequences without a token have no last one.)
    mask[[end - 1 for end, length in zip(ends, lengths) if length]] = 0
    for member, values, code in [("tokens", tokens, 4), ("lossmask", mask, 1), ("span", mask * 2, 1)]:
        values.tofile(f"{prefix}_{member}.bin")
        write_index(f"{prefix}_{member}.idx", lengths, values.itemsize, code)


def write_index(path, lengths, size, code):
    lengths = np.array(lengths, "<i4")
    starts = np.zeros(len(lengths), "<i8")
    np.cumsum(lengths[:-1].astype("<i8") * size, out=starts[1:]) if len(lengths) else None
    with open(path, "wb") as file:
        file.write(b"MMIDIDX\0\0" + np.uint64(1).tobytes() + np.uint8(code).tobytes())
        file.write(np.uint64(len(lengths)).tobytes() + np.uint64(len(lengths) + 1).tobytes())
        file.write(lengths.tobytes() + starts.tobytes())
        file.write(np.arange(len(lengths) + 1, dtype="<i8").tobytes())


def read_triple(prefix):
    """Tokens, masks and spans of each sequence, as views."""
    head = open(f"{prefix}_tokens.idx", "rb").read()
    count = int(np.frombuffer(head, "<u8", 1, 18)[0])
    lengths = np.frombuffer(head, "<i4", count, 34)
    ends = np.cumsum(lengths, dtype=np.int64)[:-1] if count else []
    of = lambda name, dtype: np.split(np.fromfile(f"{prefix}_{name}.bin", dtype), ends)
    parts = of("tokens", "<i4"), of("lossmask", "u1"), of("span", "u1")
    return list(zip(*parts)) if count else []


def shifted(mask):
    """A mask of the next token as one of the token itself."""
    return np.concatenate([np.zeros(1, mask.dtype), mask[:-1]]) if len(mask) else mask


def labels_of(tokens, mask):
    return np.where(shifted(mask) > 0, tokens, -100)


def case(data, kind, name):
    with open(f"{data}/{kind}_cases.ndjson") as file:
        return next(found for found in map(json.loads, file) if found["name"] == name)


def trl(data, name, prefix, path):
    wanted, rows = case(data, "trl", name), pq.read_table(path).to_pylist()
    sequences = read_triple(prefix)
    assert len(rows) == len(wanted["rows"]), (len(rows), len(wanted["rows"]))
    for number, (row, pieces) in enumerate(zip(rows, wanted["rows"])):
        # Batches of TRL number the sequences of each from 0; the cases number them through.
        tokens = [sequences[s][0][start : start + length] for s, start, length in pieces]
        labels = [labels_of(*sequences[s][:2])[start : start + length] for s, start, length in pieces]
        assert row["input_ids"] == np.concatenate(tokens).tolist(), f"{name}: row {number}"
        assert row["labels"] == np.concatenate(labels).tolist(), f"{name}: labels of row {number}"
        if "seq_lengths" in wanted:
            assert row["seq_lengths"] == wanted["seq_lengths"][number], f"{name}: row {number}"
        assert [list(piece) for piece in zip(row["sequence"], row["start"])] == [p[:2] for p in pieces]
    print(len(rows))


def bridge(data, name, prefix, path, metadata):
    wanted, rows = case(data, "bridge", name), pq.read_table(path).to_pylist()
    lengths = json.load(open(f"{data}/lengths.json"))[wanted["set"]]
    size = wanted["pack_size"]
    bins = [[lengths[s] for s in row["sequence"]] for row in rows]
    for row, of in zip(rows, bins):
        starts = row["seq_start_id"] + [len(row["input_ids"])]
        assert [b - a for a, b in zip(starts, starts[1:])] == of
    ours = json.load(open(metadata))
    if "decreasing" in wanted["algorithm"]:
        theirs = [[lengths[s] for s in of] for of in wanted["bins"]]
        assert sorted(sorted(of) for of in bins) == sorted(sorted(of) for of in theirs), name
        assert ours == [wanted["metadata"]], (ours, wanted["metadata"])
    used = sum(length - 1 for of in bins for length in of) / (size * len(bins))
    print(json.dumps({"rows": len(bins), "used": used, "theirs": wanted["efficiency"]}))


def row_multiple(plain, path, form, multiple):
    multiple, padded = int(multiple), 0
    plain, rows = pq.read_table(plain).to_pylist(), pq.read_table(path).to_pylist()
    assert len(plain) == len(rows)
    for number, (own, row) in enumerate(zip(plain, rows)):
        length = len(own["input_ids"])
        more = len(row["input_ids"]) - length
        # (A piece of Megatron-Bridge has an input less than tokens.)
        positions = length + more - (len(own["seq_start_id"]) if form == "megatron-bridge" else 0)
        assert positions % multiple == 0 and 0 <= more < multiple, f"row {number}: {positions} positions, {more} more"
        wanted = {"input_ids": RETURN, "labels": -100, "loss_mask": 0, "attention_mask": 0, "span_id": 0}
        for name, value in wanted.items():
            if name in own:
                assert row[name] == own[name] + [value] * more, f"row {number}: {name}"
        if form == "rows":
            assert row["length"] == length
        else:
            starts = own.get("seq_start_id")
            own_lengths = own["seq_lengths"] if starts is None else [b - a for a, b in zip(starts, [*starts[1:], length])]
            assert row["length"] == own_lengths, f"row {number}: length"
        if form == "trl":
            assert row["seq_lengths"] == [*own["seq_lengths"][:-1], own["seq_lengths"][-1] + more], f"row {number}"
        if form == "megatron-bridge":
            assert row["seq_start_id"] == own["seq_start_id"]
        padded += more
    print(padded)


def damage_padding(path, out):
    table = pq.read_table(path)
    rows = table.column("labels").to_pylist()
    number = next(at for at, row in enumerate(table.column("attention_mask").to_pylist()) if row[-1] == 0)
    rows[number][-1] = RETURN
    place = table.schema.get_field_index("labels")
    table = table.set_column(place, table.schema.field(place), pa.array(rows, table.schema.field(place).type))
    stated = {key: value for key, value in pq.read_metadata(path).metadata.items() if key != b"ARROW:schema"}
    pq.write_table(table.replace_schema_metadata(stated), out)


def bare(path, out):
    pq.write_table(pq.read_table(path).replace_schema_metadata(None), out)


def bridge_padded(prefix, path, metadata, size, multiple):
    """`_pre_pad_data_point`, `create_hist`, first fit decreasing, `fill_packing_strategy`; and what the collator of
    `packing/gpt_sft.py` takes for the logical length of each."""
    size, multiple = int(size), int(multiple)
    cap = size // multiple * multiple
    padded = []
    for tokens, mask, span in read_triple(prefix):
        if len(tokens) == 0:
            continue
        stored = min(cap, -(-(len(tokens) - 1) // multiple) * multiple) + 1
        more = max(stored - len(tokens), 0)
        own = [*tokens[:stored].tolist(), *[RETURN] * more]
        # Rolled by one, as a mask of the next token is: the last one is 0.
        rolled = [*mask[: stored - 1].tolist(), *[0] * more][: stored - 1] + [0]
        padded.append((own, rolled, min(len(tokens), stored)))
    bins = []
    for weight in sorted((len(own) - 1 for own, _, _ in padded), reverse=True):
        place = next((bin for bin in bins if sum(bin) + weight <= size), None)
        bins.append([weight]) if place is None else place.append(weight)
    table = pq.read_table(path)
    rows, found, used = table.to_pylist(), [], []
    for row in rows:
        starts = row["seq_start_id"] + [len(row["input_ids"])]
        used.append([b - a - 1 for a, b in zip(starts, starts[1:])])
        assert all(weight % multiple == 0 for weight in used[-1])
        assert len(row["length"]) == len(row["seq_start_id"])
        for a, b, length in zip(starts, starts[1:], row["length"]):
            tokens, mask = row["input_ids"][a:b], row["loss_mask"][a:b]
            assert not any(row["span_id"][a + length : b])
            found.append((tokens, mask, length))
            inputs = np.array(tokens[:-1])
            logical = np.flatnonzero(inputs != RETURN)
            logical = logical[-1] + 1 if len(logical) else 0
            # No position that is trained on is taken for padding.
            assert not any(mask[logical:])
    assert sorted(found) == sorted(padded)
    assert sorted(sorted(of) for of in used) == sorted(sorted(of) for of in bins)
    all_lengths, sums = [weight for of in bins for weight in of], [sum(of) for of in bins]
    assert json.load(open(metadata)) == [
        {
            "dataset_max_seqlen": max(all_lengths),
            "max_samples_per_bin": max(map(len, used)),
            "packing_factor": round(len(all_lengths) / len(bins), 2),
            "packing_efficiency": round(sum(sums) / len(sums) / size * 100, 2),
            "pack_size": size,
            "min_packed_seqlen": min(sums),
        }
    ]
    told = json.loads(pq.read_metadata(path).metadata[b"gristmill.rows"])
    padding = sum(len(own) - length for own, _, length in padded)
    assert told["padding"] == {"multiple": multiple, "token": RETURN, "tokens": padding}
    assert told["tokens"]["in_rows"] == sum(length for _, _, length in padded)
    print(len(rows))


def bridge_reader(path, size):
    file = pq.ParquetFile(path)
    assert {"input_ids", "loss_mask", "seq_start_id"} <= set(file.schema_arrow.names)
    for group in range(file.num_row_groups):
        assert file.metadata.row_group(group).num_rows <= 500
    for number, row in enumerate(pq.read_table(path).to_pylist()):
        tokens, mask, starts = row["input_ids"], row["loss_mask"], row["seq_start_id"]
        assert len(tokens) == len(mask), f"row {number}: input_ids and loss_mask differ in length"
        assert starts and starts[0] == 0, f"row {number}: seq_start_id must begin with 0"
        assert starts == sorted(starts), f"row {number}: seq_start_id must be non-decreasing"
        assert all(0 <= start < len(tokens) for start in starts), f"row {number}: out of range"
        assert sum(b - a - 1 for a, b in zip(starts, starts[1:] + [len(tokens)])) <= int(size)
        assert set(mask) <= {0, 1}
        # Inputs are tokens[:-1] of each sequence, labels tokens[1:]: the last mask is never used.
        assert all(mask[end - 1] == 0 for end in starts[1:] + [len(tokens)])


def pieces_of(table, form):
    """Sequence, start, tokens, labels or masks, spans of each piece."""
    for row in table.to_pylist():
        tokens, at = row["input_ids"], 0
        signal = row["loss_mask" if form == "megatron-bridge" else "labels"]
        if form == "rows":
            yield row["sequence"], row["start"], tokens, signal, row["span_id"]
            continue
        if form == "trl":
            lengths = row["seq_lengths"]
        else:
            starts = row["seq_start_id"] + [len(tokens)]
            lengths = [b - a for a, b in zip(starts, starts[1:])]
        assert sum(lengths) == len(tokens) == len(signal) == len(row["span_id"])
        for sequence, start, length in zip(row["sequence"], row["start"], lengths):
            to = at + length
            yield sequence, start, tokens[at:to], signal[at:to], row["span_id"][at:to]
            at = to


def sequences(prefix, path, form):
    of = read_triple(prefix)
    seen = [[] for _ in of]
    for sequence, start, tokens, signal, spans in pieces_of(pq.read_table(path), form):
        wanted, mask, span = of[sequence]
        end = start + len(tokens)
        assert tokens == wanted[start:end].tolist()
        if form == "megatron-bridge":
            label_mask, label_span = mask[start:end].copy(), span[start:end].copy()
            label_mask[-1] = label_span[-1] = 0
            assert signal == label_mask.tolist() and spans == label_span.tolist()
        else:
            assert signal == labels_of(wanted, mask)[start:end].tolist()
            assert spans == shifted(span)[start:end].tolist()
        seen[sequence].append((start, end))
    for (tokens, _, _), pieces in zip(of, seen):
        pieces.sort()
        assert all(a[1] == b[0] for a, b in zip(pieces, pieces[1:]))
        if pieces:
            whole = len(tokens) - (len(tokens) > 0 and tokens[-1] == EOD)
            assert pieces[0][0] == 0 and pieces[-1][1] == whole, (pieces, whole)
    print(json.dumps({"sequences": len(of), "in_rows": sum(1 for pieces in seen if pieces)}))


def pack_dataset(unpacked, packed, size, strategy):
    from datasets import Dataset
    from trl import pack_dataset as theirs

    columns = ["input_ids", "labels"]
    source = Dataset(pq.read_table(unpacked).select(columns))
    # (One batch: TRL packs each thousand by itself.)
    rows = theirs(source, int(size), strategy, map_kwargs={"batch_size": max(len(source), 1)})
    ours = pq.read_table(packed).to_pylist()
    assert len(rows) == len(ours)
    for row, own in zip(rows, ours):
        for name in [*columns, *(["seq_lengths"] if "seq_lengths" in row else [])]:
            assert list(row[name]) == own[name], name
    print(len(ours))


def collator(path):
    from trl.trainer.sft_trainer import DataCollatorForLanguageModeling

    rows = pq.read_table(path).to_pylist()[:3]
    batch = DataCollatorForLanguageModeling(pad_token_id=0, padding_free=True)(
        [{name: row[name] for name in ("input_ids", "labels", "seq_lengths")} for row in rows]
    )
    positions = [at for row in rows for length in row["seq_lengths"] for at in range(length)]
    assert batch["position_ids"][0].tolist() == positions
    labels = [label for row in rows for label in row["labels"]]
    wanted = [label if position else -100 for label, position in zip(labels, positions)]
    assert batch["labels"][0].tolist() == wanted
    print(len(positions))


def processed(path):
    from datasets import load_dataset

    rows = load_dataset("parquet", data_files=path, split="train")
    # TRL: sft_trainer.py, "is_processed"; Axolotl: _is_dataset_already_tokenized.
    assert "input_ids" in rows.column_names
    assert {"input_ids", "attention_mask", "labels"} <= set(rows.column_names)
    for row in rows.select(range(min(50, len(rows)))):
        assert len(row["input_ids"]) == len(row["labels"]) == len(row["attention_mask"])
        assert set(row["attention_mask"]) == {1}
        assert any(label != -100 for label in row["labels"])
    print(len(rows))


if __name__ == "__main__":
    name, *arguments = sys.argv[1:]
    globals()[name.replace("-", "_")](*arguments)
