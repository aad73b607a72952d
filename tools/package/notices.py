#!/usr/bin/env python3
"""Prints the licences of the crates that are inside the binaries: `cargo metadata | notices.py`."""

import json
import pathlib
import sys

NAMES = ("license", "licence", "copying", "notice", "unlicense", "copyright")


def crates(metadata):
    """The package and all that it is linked with, and what its build script takes tables from."""
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    packages = {package["id"]: package for package in metadata["packages"]}
    own, found = next(p["id"] for p in metadata["packages"] if p["name"] == "gristmill"), set()
    todo = [own] + [d["pkg"] for d in nodes[own]["deps"] if any(k["kind"] == "build" for k in d["dep_kinds"])]
    while todo:
        identifier = todo.pop()
        if identifier not in found:
            found.add(identifier)
            todo += [d["pkg"] for d in nodes[identifier]["deps"] if any(k["kind"] is None for k in d["dep_kinds"])]
    return sorted((packages[i] for i in found), key=lambda p: (p["name"], p["version"]))


def main():
    print("The binaries of gristmill hold these crates of crates.io, under these licences.")
    texts = {}
    for package in crates(json.load(sys.stdin)):
        if package["name"] == "gristmill":
            continue
        print(f"\n{package['name']} {package['version']}: {package['license']}")
        folder = pathlib.Path(package["manifest_path"]).parent
        for path in sorted(folder.iterdir()):
            if path.is_file() and path.name.lower().startswith(NAMES):
                text = path.read_text(errors="replace").strip()
                # A text that many crates have is printed once.
                number = texts.setdefault(text, len(texts) + 1)
                print(f"  {path.name}: text {number}")
    for text, number in texts.items():
        print(f"\n{'=' * 20} text {number} {'=' * 20}\n\n{text}")


if __name__ == "__main__":
    main()
