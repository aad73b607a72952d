#!/usr/bin/env python3
"""Takes the links out of pages whose targets are not there: their words stay.

  links.py FOLDER     # in all pages below it
"""

import pathlib
import re
import sys

LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?:|mailto:|#)([^)\s#]+)(#[^)\s]*)?\)")


def without_dead_links(page, is_there):
    """Returns a page in which every link to a file for which `is_there` is false has become its text."""
    def text(link):
        is_picture, words, target, _ = link.groups()
        return link.group() if is_there(target) else "" if is_picture else words

    # (Inner links first: a picture may be the text of a link.)
    before = None
    while before != page:
        before, page = page, LINK.sub(text, page)
    return page


def main():
    for path in sorted(pathlib.Path(sys.argv[1]).rglob("*.md")):
        page = path.read_text()
        linked = without_dead_links(page, lambda target, path=path: (path.parent / target).exists())
        if linked != page:
            path.write_text(linked)


if __name__ == "__main__":
    main()
