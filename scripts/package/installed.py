#!/usr/bin/env python3
"""A page as it is when installed: what it says of a checkout becomes what holds there.

Reads stdin, writes stdout. A marker <!-- checkout --> ... <!-- end --> holds what is for a checkout alone.
"""

import re
import sys

AFTER = re.compile(r"in a checkout[,:]?\s+after\s+`gristmill-quickstart`\s+and\s+`export PATH=[^`]*`")
CHECKOUT = re.compile(r"<!-- checkout -->\n.*?<!-- end -->\n\n?", re.S)


def main():
    page = CHECKOUT.sub("", sys.stdin.read())
    page = AFTER.sub("in the folder where `gristmill-quickstart` was run", page)
    sys.stdout.write(page)


if __name__ == "__main__":
    main()
