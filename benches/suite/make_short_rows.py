"""Prints conversations of a few words as NDJSON, each with an id of its own, in no order."""

import hashlib
import json
import sys

for number in range(int(sys.argv[1])):
    name = hashlib.md5(str(number).encode()).hexdigest()
    messages = [{"role": "user", "content": name[:4]}]
    messages.append({"role": "assistant", "channel": "final", "content": "yes"})
    print(json.dumps({"id": f"short-{name}", "messages": messages}))
