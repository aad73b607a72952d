"""The puzzle encodings and their rules, written from the contract with numpy and nothing else.

    puzzle.py encode DOMAIN RAW       NDJSON of all examples without augmentation, ARC at 0,0
    puzzle.py augmented DOMAIN RAW    reads NDJSON records, checks that they are what they claim
    puzzle.py published RAW SET       the same for an ARC set of the published builder
"""

import csv
import json
import pathlib
import sys

import numpy as np


def rows(raw, domain):
    for split in ("train", "test"):
        with open(raw / domain / f"{split}.csv", newline="") as file:
            for line, (_, question, answer, _) in enumerate(list(csv.reader(file))[1:], 2):
                yield split, str(line), question, answer


def tokens(text, alphabet):
    return np.array([alphabet.index(character) for character in text]) + 1


def canvas(grid):
    grid = np.array(grid) + 2
    height, width = grid.shape
    full = np.zeros((31, 31), int)
    full[:height, :width] = grid
    full[height, :width] = 1
    full[:height, width] = 1
    return full[:30, :30].flatten()


def arc_tasks(raw):
    """Name -> pairs as (split, input, output), in the file's order."""
    tasks = {}
    for path in (raw / "arc").glob("*/*.json"):
        task = json.loads(path.read_text())
        pairs = []
        name = task.pop("name", path.stem)
        for part, examples in task.items():
            split = "test" if part == "test" and path.parent.name == "evaluation" else "train"
            pairs += [(split, example["input"], example["output"]) for example in examples]
        tasks[name] = pairs
    return tasks


def encode(domain, raw):
    if domain == "arc":
        tasks = arc_tasks(raw)
        for wanted in ("train", "test"):
            for name in sorted(tasks):
                for split, grid, output in tasks[name]:
                    if split == wanted:
                        yield split, name, canvas(grid), canvas(output)
        return
    for split, name, question, answer in rows(raw, domain):
        if domain == "sudoku":
            question = question.replace(".", "0")
            yield split, name, tokens(question, "0123456789"), tokens(answer, "0123456789")
        else:
            yield split, name, tokens(question, "# SGo"), tokens(answer, "# SGo")


def crop(sequence):
    """The grid on a canvas, and its position."""
    board = np.array(sequence).reshape(30, 30)
    at = np.argwhere(board >= 2)
    (top, left), (bottom, right) = at.min(0), at.max(0)
    grid = board[top : bottom + 1, left : right + 1]
    full = np.zeros((32, 32), int)
    full[top : bottom + 1, left : right + 1] = grid
    full[bottom + 1, left : right + 1] = 1
    full[top : bottom + 1, right + 1] = 1
    assert (full[:30, :30] == board).all(), "EOS or PAD"
    return grid - 2, (top, left)


UNDO = [
    lambda grid: grid,
    lambda grid: np.rot90(grid, k=3),
    lambda grid: np.rot90(grid, k=2),
    lambda grid: np.rot90(grid, k=1),
    np.fliplr,
    np.flipud,
    np.transpose,
    lambda grid: np.rot90(np.fliplr(grid), k=3),
]


def check_arc(records, raw):
    tasks = arc_tasks(raw)
    numbers, seen, places = {}, {}, {}
    for record in records:
        name, split = record["identifier"], record["split"]
        assert name == record["puzzle"] and record["group"] in (name, name.split("_")[0])
        number = numbers[name, split] = numbers.get((name, split), -1) + 1
        grid, place = crop(record["inputs"])
        output, other = crop(record["labels"])
        assert place == other and (split == "train" or place == (0, 0))
        places.setdefault((name, split), []).append(place)
        seen.setdefault((record["group"], split), {}).setdefault(name, []).append(
            (grid.tolist(), output.tolist())
        )
        if "_" in name:
            transform, colours = name.split("_")[-2:]
            assert colours[0] == "0" and sorted(colours) == list("0123456789")
            undo = UNDO[int(transform[1:])]
            colours = np.argsort([int(colour) for colour in colours])
            grid, output = undo(colours[grid]), undo(colours[output])
        pairs = [pair[1:] for pair in tasks[record["group"]] if pair[0] == split]
        assert (grid.tolist(), output.tolist()) == pairs[number], name
    for (name, split), number in numbers.items():
        group = name.split("_")[0]
        assert number + 1 == sum(pair[0] == split for pair in tasks[group])
        assert (0, 0) in places[name, split]
    for (group, split), puzzles in seen.items():
        if not any(pair[0] != split for pair in tasks[group]):
            assert len(set(map(str, puzzles.values()))) == len(puzzles), "duplicates"
    moved = sum(place != (0, 0) for each in places.values() for place in each)
    assert moved > len(places) / 3, "nothing is moved"


def check_sudoku(records, raw):
    originals = {(split, name): question for split, name, question, _ in rows(raw, "sudoku")}
    digits = set(range(2, 11))
    for record in records:
        question, answer = (np.array(record[side]) for side in ("inputs", "labels"))
        given = question > 1
        assert (question[given] == answer[given]).all() and set(question[~given]) <= {1}
        board = answer.reshape(9, 9)
        boxes = board.reshape(3, 3, 3, 3).swapaxes(1, 2).reshape(9, 9)
        for unit in [*board, *board.T, *boxes]:
            assert set(unit.tolist()) == digits
        original = originals[record["split"], record["group"]]
        assert given.sum() == 81 - sum(original.count(blank) for blank in ".0")


def check_maze(records, raw):
    originals = {(split, name): answer for split, name, _, answer in rows(raw, "maze")}
    for record in records:
        side = int(len(record["inputs"]) ** 0.5)
        maze, answer = (np.array(record[key]).reshape(side, side) for key in ("inputs", "labels"))
        assert ((maze == 1) == (answer == 1)).all() and (maze == 3).sum() == 1
        for end in (3, 4):
            assert ((maze == end) == (answer == end)).all()
        at, steps, seen = tuple(np.argwhere(answer == 3)[0]), 0, set()
        while answer[at] != 4:
            seen.add(at)
            near = [(at[0] + i, at[1] + j) for i, j in ((0, 1), (1, 0), (0, -1), (-1, 0))]
            (at,) = [cell for cell in near if answer[cell] in (4, 5) and cell not in seen]
            steps += 1
        assert steps - 1 == (answer == 5).sum()
        name = record["puzzle"]
        if "_t" in name:
            answer = UNDO[int(name[-1])](answer)
        text = "".join("_# SGo"[token] for token in answer.flatten())
        assert text == originals[record["split"], record["group"]]


def check_domino(records, raw):
    for record in records:
        inputs = np.array(record["inputs"]) - 1
        table = [tuple(tile) for tile in inputs[:56].reshape(28, 2) if tile[0] >= 0]
        hand = [tuple(tile) for tile in inputs[56:70].reshape(7, 2) if tile[0] >= 0]
        assert len({tuple(sorted(tile)) for tile in table + hand}) == len(table + hand)
        assert all(0 <= pip <= 6 for tile in table + hand for pip in tile)
        assert all(left[1] == right[0] for left, right in zip(table, table[1:]))
        ends = (table[0][0], table[-1][1]) if table else (-1, -1)
        assert ends == tuple(inputs[70:])
        legal = []
        for index, tile in enumerate(hand):
            places = [place for place in (1, 2) if ends[place - 1] in tile] if table else [3]
            legal += [(-sum(tile), place, index) for place in places]
        _, place, index = min(legal)
        labels = record["labels"]
        assert (labels[0] - 1, labels[1] - 1) == hand[index] and labels[2] == place
        assert not any(labels[3:])


def published(folder, tasks):
    """The records of a set that belong to known tasks."""
    names = json.loads((folder / "identifiers.json").read_text())
    for split in ("train", "test"):
        part = {
            name: np.load(folder / split / f"all__{name}.npy")
            for name in ("inputs", "labels", "puzzle_identifiers", "puzzle_indices")
        }
        starts = part["puzzle_indices"]
        for number, identifier in enumerate(part["puzzle_identifiers"]):
            name = names[identifier]
            for example in range(starts[number], starts[number + 1]):
                group = name.split("_")[0]
                if group not in tasks:
                    continue
                record = {"split": split, "group": group}
                record |= {"puzzle": name, "identifier": name}
                yield record | {side: part[side][example] for side in ("inputs", "labels")}


if __name__ == "__main__":
    command, domain, raw = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
    if command == "encode":
        for split, group, inputs, labels in encode(domain, raw):
            record = {"split": split, "group": group}
            record |= {"inputs": inputs.tolist(), "labels": labels.tolist()}
            print(json.dumps(record))
    elif command == "published":
        records = list(published(raw, arc_tasks(pathlib.Path(domain))))
        assert len({record["group"] for record in records}) >= 20, "too few known tasks"
        check_arc(records, pathlib.Path(domain))
    else:
        globals()[f"check_{domain}"](map(json.loads, sys.stdin), raw)
