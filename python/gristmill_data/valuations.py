"""`valuation_types.json` of a pool: what its valuation ids mean. Ids are per pool."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

VALUATIONS_FILE = "valuation_types.json"

#: What the ids mean in packs that gristmill makes, which say so in valuation_types.json.
KNOWN_VALUATIONS = {0: "search", 1: "tuple10", 2: "tuple11"}


def read_valuation_names(directory: str | Path) -> dict[int, str]:
    """id -> name, from valuation_types.json: {name: id}, {id: name} or a list of names.

    Without the file nothing is known: ids are per pool.
    """
    path = Path(directory) / VALUATIONS_FILE
    try:
        content: Any = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    if isinstance(content, list):
        pairs = list(enumerate(content))
    elif isinstance(content, dict) and all(type(value) is int for value in content.values()):
        pairs = [(number, name) for name, number in content.items()]
    elif isinstance(content, dict) and all(key.isdecimal() for key in content):
        pairs = [(int(key), name) for key, name in content.items()]
    else:
        raise ValueError(f"{path}: neither name -> id nor id -> name nor a list of names")
    names = dict(pairs)
    valid = all(0 <= number <= 255 and type(name) is str for number, name in pairs)
    if not valid or len(names) != len(pairs):
        raise ValueError(f"{path}: ids are numbers from 0 to 255, each of one name")
    return names
