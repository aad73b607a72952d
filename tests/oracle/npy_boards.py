"""The boards of DIR/*/steps.npy as numpy reads them: one JSON object of NAME to boards a line.

Null where numpy refuses the file.
"""

import json
import sys
import warnings
from pathlib import Path

import numpy as np

warnings.simplefilter("ignore")  # of headers of Python 2
for path in sorted(Path(sys.argv[1]).glob("*/steps.npy")):
    try:
        array = np.load(path)
        boards = array["board"] if array.dtype.names else array
        boards = boards.tolist()
    except Exception:  # whatever a hostile header meets
        boards = None
    print(json.dumps({"name": path.parent.name, "boards": boards}))
