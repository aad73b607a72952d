"""Macroxue packs: memory-mapped rows of steps, read at random.

    pack = Pack("PACK_DIR")
    runs = pack.select_runs("max_score >= ? AND highest_tile >= 16384", (300_000,))
    for rows in pack.batches(2048, seed=1, runs=runs):
        boards = decode_boards(rows)          # uint8 [2048, 16]: exponents, row-major
        values = rows["branch_evs"]           # float32 [2048, 4]: up, down, left, right
        legal = legal_moves(rows)             # bool [2048, 4]

Packs have 48-byte rows, or rows of 46 bytes without padding; both are returned as
STEP_ROW_DTYPE. Other pools (self-play v1, legacy) are refused: `ds-cat` reads those.
"""

import json
import sqlite3
from pathlib import Path
from urllib.parse import quote

import numpy as np

STEP_ROW_DTYPE = np.dtype(
    [
        ("run_id", np.uint32),  # sequential game id
        ("step_index", np.uint32),  # index within the run
        ("board", np.uint64),  # 16 packed 4-bit tiles (MSB nibble = cell 0)
        ("board_eval", np.int32),  # heuristic score of the board
        ("tile_65536_mask", np.uint16),  # bit i: the exponent of cell i is >= 16
        ("move_dir", np.uint8),  # 0 up, 1 down, 2 left, 3 right
        ("valuation_type", np.uint8),  # see Pack.valuation_names
        ("ev_legal", np.uint8),  # bit i: the move i is legal and has a value
        ("max_rank", np.uint8),  # the largest exponent of the board
        ("seed", np.uint32),  # the low 32 bits of the run's seed
        ("branch_evs", np.float32, (4,)),  # up, down, left, right; 0.0 where not legal
    ],
    align=True,
)
assert STEP_ROW_DTYPE.itemsize == 48

#: The same row without padding, 46 bytes.
PACKED_STEP_ROW_DTYPE = np.dtype([(name, STEP_ROW_DTYPE[name]) for name in STEP_ROW_DTYPE.names])
assert PACKED_STEP_ROW_DTYPE.itemsize == 46

#: What the ids mean in a pack without valuation_types.json.
KNOWN_VALUATIONS = {0: "search", 1: "tuple10", 2: "tuple11"}

#: Rows that a scan reads at once.
_CHUNK = 1 << 20


class Pack:
    """A pack on disk. Rows are numbered from 0 through all shards."""

    def __init__(self, directory):
        self.directory = Path(directory)
        paths = sorted(self.directory.glob("steps-*.npy"), key=lambda path: path.name)
        if not paths:
            paths = [self.directory / "steps.npy"]
        self.shards = [_open_shard(path) for path in paths]
        #: Number of the first row of each shard; at the end, the number of all rows.
        self.offsets = np.cumsum([0] + [len(shard) for shard in self.shards], dtype=np.int64)
        #: id -> name; ids are per pack.
        self.valuation_names = read_valuation_names(self.directory)

    def __len__(self):
        return int(self.offsets[-1])

    def rows(self, indices):
        """The rows of these numbers, in their order, as STEP_ROW_DTYPE."""
        indices = np.asarray(indices, dtype=np.int64)
        if indices.size and not (0 <= indices.min() and indices.max() < len(self)):
            raise IndexError(f"{self.directory}: a row outside of 0..{len(self)}")
        out = np.zeros(indices.shape, dtype=STEP_ROW_DTYPE)
        shard_of = np.searchsorted(self.offsets, indices, side="right") - 1
        for number in np.unique(shard_of):
            here = shard_of == number
            rows = self.shards[number][indices[here] - self.offsets[number]]
            if rows.dtype == STEP_ROW_DTYPE:
                out[here] = rows
            else:
                for name in STEP_ROW_DTYPE.names:
                    out[name][here] = rows[name]
        return out

    def select_runs(self, where="1", parameters=()):
        """The ids of the runs for which a condition over the table `runs` holds, ascending."""
        path = self.directory / "metadata.db"
        uri = f"file:{quote(str(path.resolve()))}?mode=ro"
        connection = sqlite3.connect(uri, uri=True)
        try:
            sql = f"SELECT id FROM runs WHERE {where} ORDER BY id"
            return np.array([row[0] for row in connection.execute(sql, parameters)], np.int64)
        finally:
            connection.close()

    def rows_of_runs(self, runs):
        """The numbers of all rows whose run_id is among `runs`, ascending."""
        runs = np.unique(np.asarray(runs, dtype=np.int64))
        found = [np.empty(0, np.int64)]
        for offset, shard in zip(self.offsets, self.shards):
            for start in range(0, len(shard), _CHUNK):
                ids = shard["run_id"][start : start + _CHUNK]
                found.append(np.flatnonzero(np.isin(ids, runs)) + (offset + start))
        return np.concatenate(found)

    def run(self, run_id):
        """The rows of one run by ascending step_index."""
        rows = self.rows(self.rows_of_runs([run_id]))
        return rows[np.argsort(rows["step_index"], kind="stable")]

    def batches(self, batch_size, seed, runs=None, drop_last=False):
        """One epoch: every row (of `runs`) once, in the random order of `seed`."""
        if batch_size < 1:
            raise ValueError("batch_size must be at least 1")
        numbers = np.arange(len(self)) if runs is None else self.rows_of_runs(runs)
        numbers = np.random.default_rng(seed).permutation(numbers)
        end = len(numbers) - len(numbers) % batch_size if drop_last else len(numbers)
        for start in range(0, end, batch_size):
            yield self.rows(numbers[start : min(start + batch_size, end)])


def _open_shard(path):
    shard = np.load(path, mmap_mode="r", allow_pickle=False)
    if shard.ndim != 1 or shard.dtype not in (STEP_ROW_DTYPE, PACKED_STEP_ROW_DTYPE):
        raise ValueError(f"{path}: no rows of a Macroxue pack, but {shard.dtype}")
    return shard


def decode_boards(rows):
    """Exponents [..., 16], row-major, uint8.

    A cell with its bit in tile_65536_mask is 16, or 17 if it is the only one and max_rank is 17.
    """
    shifts = np.arange(60, -1, -4, dtype=np.uint64)
    board = np.asarray(rows["board"])[..., None]
    cells = ((board >> shifts) & np.uint64(15)).astype(np.uint8)
    mask = np.asarray(rows["tile_65536_mask"])
    if mask.any():
        single = (mask & (mask - np.uint16(1))) == 0
        large = np.where(single & (rows["max_rank"] == 17), np.uint8(17), np.uint8(16))
        over = (mask[..., None] >> np.arange(16, dtype=np.uint16)) & np.uint16(1) != 0
        cells = np.where(over, large[..., None], cells)
    return cells


def legal_moves(rows):
    """Booleans [..., 4]: up, down, left, right."""
    bits = np.asarray(rows["ev_legal"])[..., None] >> np.arange(4, dtype=np.uint8)
    return (bits & np.uint8(1)).astype(bool)


def read_valuation_names(directory):
    """id -> name, from valuation_types.json: {name: id}, {id: name} or a list of names.

    Without the file: the three known names.
    """
    path = Path(directory) / "valuation_types.json"
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return dict(KNOWN_VALUATIONS)
    content = json.loads(text)
    if isinstance(content, list):
        pairs = list(enumerate(content))
    elif isinstance(content, dict) and all(type(value) is int for value in content.values()):
        pairs = [(number, name) for name, number in content.items()]
    elif isinstance(content, dict) and all(key.isdecimal() for key in content):
        pairs = [(int(key), name) for key, name in content.items()]
    else:
        raise ValueError(f"{path}: neither name -> id nor id -> name nor a list of names")
    names = dict(pairs)
    sound = all(0 <= number <= 255 and type(name) is str for number, name in pairs)
    if not sound or len(names) != len(pairs):
        raise ValueError(f"{path}: ids are numbers from 0 to 255, each of one name")
    return names
