#!/usr/bin/env python3
"""A page as it is when installed: what it says of a checkout becomes what holds there.

Reads stdin, writes stdout. A marker <!-- checkout --> ... <!-- end --> holds what is for a checkout alone.
"""

import re
import sys

AFTER = re.compile(r"in a checkout[,:]?\s+after\s+`gristmill-quickstart`\s+and\s+`export PATH=[^`]*`")
PYTHON = re.compile(r"'?\./python(\[[a-z,]+\])?(?:'|(?= ))")
CHECKOUT = re.compile(r"<!-- checkout -->\n.*?<!-- end -->\n\n?", re.S)


def main():
    page = CHECKOUT.sub("", sys.stdin.read())
    page = AFTER.sub("in the folder where `gristmill-quickstart` was run", page)
    page = PYTHON.sub(r"'gristmill-....whl\1'", page)
    sys.stdout.write(page)


if __name__ == "__main__":
    main()
