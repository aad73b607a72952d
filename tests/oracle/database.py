"""The content of metadata.db by sqlite3 alone.

    database.py POOL...    prints for each pool its runs and its session, one JSON object a line
"""

import json
import sqlite3
import sys

for pool in sys.argv[1:]:
    database = sqlite3.connect(f"file:{pool}/metadata.db?mode=ro&immutable=1", uri=True)
    query = "SELECT id, seed, steps, max_score, highest_tile FROM runs ORDER BY id"
    runs = database.execute(query).fetchall()
    session = database.execute("SELECT meta_key, meta_value FROM session ORDER BY meta_key")
    print(json.dumps({"runs": runs, "session": dict(session)}))
