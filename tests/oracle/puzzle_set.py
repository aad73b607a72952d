"""A loader of puzzle sets with the contract's semantics, from the contract's text and numpy alone.

    puzzle_set.py load ROOT             one epoch of train and of test; what was seen, as JSON
    puzzle_set.py encoding DOMAIN RAW ROOT
                                        the sets without augmentation are the contract's encoding
    puzzle_set.py records ROOT          all examples as NDJSON, identifiers by name
    puzzle_set.py recast FROM TO HOW    copies a set: uint8, int64, big, fortran
"""

import json
import pathlib
import shutil
import sys

import numpy as np

import puzzle

ARRAYS = ("inputs", "labels", "puzzle_identifiers", "puzzle_indices", "group_indices")
BATCH = 32


def open_split(root, split):
    directory = root / split
    meta = json.loads((directory / "dataset.json").read_text())
    mode = {"inputs": "r", "labels": "r"}
    return meta, {
        name: {
            array: np.load(directory / f"{name}__{array}.npy", mmap_mode=mode.get(array))
            for array in ARRAYS
        }
        for name in meta["sets"]
    }


def collate(meta, inputs, labels, identifiers, size):
    batch = {
        "inputs": np.asarray(inputs).astype(np.int32),
        "labels": np.asarray(labels).astype(np.int32),
        "puzzle_identifiers": np.asarray(identifiers).astype(np.int32),
    }
    if meta["ignore_label_id"] is not None:
        batch["labels"][batch["labels"] == meta["ignore_label_id"]] = -100
    missing = size - len(batch["puzzle_identifiers"])
    if missing > 0:
        fill = {"inputs": meta["pad_id"], "labels": -100}
        fill["puzzle_identifiers"] = meta["blank_identifier_id"]
        for key, value in fill.items():
            width = ((0, missing),) + ((0, 0),) * (batch[key].ndim - 1)
            batch[key] = np.pad(batch[key], width, constant_values=value)
    assert batch["inputs"].shape == batch["labels"].shape == (size, meta["seq_len"])
    assert 0 <= batch["inputs"].min() and batch["inputs"].max() < meta["vocab_size"]
    real = batch["labels"][batch["labels"] != -100]
    assert real.size == 0 or (0 <= real.min() and real.max() < meta["vocab_size"])
    assert batch["puzzle_identifiers"].min() >= 0
    assert batch["puzzle_identifiers"].max() < meta["num_puzzle_identifiers"]
    return batch


def train_epoch(meta, sets):
    random = np.random.Generator(np.random.Philox(seed=1))
    for arrays in sets.values():
        groups = random.permutation(arrays["group_indices"].size - 1)
        batch, puzzles, room = [], [], BATCH
        for group in groups:
            first, end = arrays["group_indices"][group : group + 2]
            number = random.integers(first, end)
            start, stop = arrays["puzzle_indices"][number : number + 2]
            take = min(stop - start, room)
            chosen = start + random.choice(stop - start, take, replace=False)
            batch.append(chosen)
            puzzles.append(np.full(take, arrays["puzzle_identifiers"][number]))
            room -= take
            if room == 0:
                rows = np.concatenate(batch)
                sides = arrays["inputs"][rows], arrays["labels"][rows]
                yield collate(meta, *sides, np.concatenate(puzzles), BATCH)
                batch, puzzles, room = [], [], BATCH


def test_epoch(meta, sets):
    for arrays in sets.values():
        total = len(arrays["inputs"])
        for start in range(0, total, BATCH):
            rows = np.arange(start, min(start + BATCH, total))
            puzzles = np.searchsorted(arrays["puzzle_indices"], rows, side="right") - 1
            sides = arrays["inputs"][rows], arrays["labels"][rows]
            yield collate(meta, *sides, arrays["puzzle_identifiers"][puzzles], BATCH)


def load(root):
    names = json.loads((root / "identifiers.json").read_text())
    seen = {}
    for split, epoch in (("train", train_epoch), ("test", test_epoch)):
        meta, sets = open_split(root, split)
        assert meta["num_puzzle_identifiers"] == len(names) == len(set(names))
        assert names[meta["blank_identifier_id"]] == "<blank>"
        groups = examples = puzzles = 0
        for arrays in sets.values():
            assert all(array.dtype == np.int32 for array in arrays.values())
            starts, first = arrays["puzzle_indices"], arrays["group_indices"]
            assert starts[0] == first[0] == 0 and (np.diff(starts) > 0).all()
            assert (np.diff(first) > 0).all()
            assert len(arrays["inputs"]) == len(arrays["labels"]) == starts[-1]
            assert len(arrays["puzzle_identifiers"]) == len(starts) - 1 == first[-1]
            groups += len(first) - 1
            puzzles += len(starts) - 1
            examples += len(arrays["inputs"])
        assert meta["total_groups"] == groups
        assert meta["mean_puzzle_examples"] == examples / puzzles
        batches = sum(1 for _ in epoch(meta, sets))
        seen[split] = {"groups": groups, "puzzles": puzzles, "examples": examples}
        seen[split]["batches"] = batches
    return seen


def encoding(domain, raw, root):
    """Sudoku and Maze whole, ARC in test; ARC's train grids up to their position."""
    expected = {"train": [], "test": []}
    for split, name, inputs, labels in puzzle.encode(domain, raw):
        expected[split].append((name, inputs, labels))
    names = json.loads((root / "identifiers.json").read_text())
    number = 0
    for split, examples in expected.items():
        _, sets = open_split(root, split)
        arrays = sets["all"]
        assert len(arrays["inputs"]) == len(examples)
        starts = arrays["puzzle_indices"]
        for row, (name, inputs, labels) in enumerate(examples):
            found = [arrays["inputs"][row], arrays["labels"][row]]
            if domain == "arc":
                if split == "train":
                    grids = [puzzle.crop(side) for side in found]
                    assert grids[0][1] == grids[1][1]
                    found = [puzzle.canvas(grid) for grid, _ in grids]
                at = np.searchsorted(starts, row, side="right") - 1
                assert names[arrays["puzzle_identifiers"][at]] == name
            assert (found[0] == inputs).all() and (found[1] == labels).all(), (split, row)
            number += 1
        if domain != "arc":
            assert (starts == np.arange(len(examples) + 1)).all()
            assert (arrays["group_indices"] == starts).all()
            assert names == ["<blank>"] and not arrays["puzzle_identifiers"].any()
        else:
            runs = [name for name, *_ in examples]
            runs = [name for i, name in enumerate(runs) if i == 0 or runs[i - 1] != name]
            assert len(starts) - 1 == len(runs)
            assert (arrays["group_indices"] == np.arange(len(runs) + 1)).all()
    return number


def records(root):
    path = root / "identifiers.json"
    names = json.loads(path.read_text())
    for split in ("train", "test"):
        if not (root / split).exists():
            continue
        meta, sets = open_split(root, split)
        for name, arrays in sets.items():
            for group in range(len(arrays["group_indices"]) - 1):
                for number in range(*arrays["group_indices"][group : group + 2]):
                    identifier = arrays["puzzle_identifiers"][number]
                    blank = identifier == meta["blank_identifier_id"]
                    for row in range(*arrays["puzzle_indices"][number : number + 2]):
                        yield {
                            "split": split,
                            "set": name,
                            "group": group,
                            "puzzle": number,
                            "identifier": "<blank>" if blank else names[identifier],
                            "inputs": arrays["inputs"][row].tolist(),
                            "labels": arrays["labels"][row].tolist(),
                        }


def recast(source, target, how):
    shutil.copytree(source, target)
    # Its files are others from here on.
    path = target / "build.json"
    if path.exists():
        path.write_text(json.dumps(json.loads(path.read_text()) | {"files": []}))
    for path in target.glob("*/*.npy"):
        array = np.load(path)
        if how == "big":
            array = array.astype(">i4")
        elif how == "int64":
            array = array.astype(np.int64)
        elif how == "uint8" and array.ndim == 2:
            array = array.astype(np.uint8)
        elif how == "fortran":
            array = np.asfortranarray(array)
        np.save(path, array)


if __name__ == "__main__":
    command, *arguments = sys.argv[1:]
    if command == "load":
        print(json.dumps(load(pathlib.Path(arguments[0]))))
    elif command == "encoding":
        domain, raw, root = arguments
        print(encoding(domain, pathlib.Path(raw), pathlib.Path(root)))
    elif command == "records":
        for record in records(pathlib.Path(arguments[0])):
            print(json.dumps(record, separators=(",", ":")))
    else:
        recast(pathlib.Path(arguments[0]), pathlib.Path(arguments[1]), arguments[2])
