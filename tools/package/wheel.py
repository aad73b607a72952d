#!/usr/bin/env python3
"""Packs a staged tree (bin/, share/) and the Python package gristmill_data into a wheel.

  wheel.py STAGE PYTHON_DIR OUT_DIR VERSION PLATFORM_TAG

The filters and scripts become the wheel's scripts, share/ its data. The same tree gives the same bytes.
"""

import base64
import hashlib
import pathlib
import sys
import zipfile

from links import without_dead_links

SUMMARY = "Small Unix filters that grind raw data into training-ready datasets, and their Python readers"

LAUNCHER = """\
#!/bin/sh
here=${{0%/*}}
[ -x "$here/gristmill" ] || here=$(dirname "$(readlink -f "$0")")
exec "$here/gristmill" {filter} "$@"
"""


def metadata(version, readme):
    # The filters need no Python package, the readers numpy.
    lines = ["Metadata-Version: 2.1", "Name: gristmill", f"Version: {version}", f"Summary: {SUMMARY}",
             "License: MIT OR Apache-2.0", "Requires-Python: >=3.10", "Requires-Dist: numpy>=1.24",
             "Provides-Extra: torch", "Requires-Dist: torch>=1.13; extra == 'torch'",
             "Provides-Extra: megatron", "Requires-Dist: megatron-core~=0.16.1; extra == 'megatron'",
             "Provides-Extra: packed", "Requires-Dist: torch>=1.13; extra == 'packed'",
             "Requires-Dist: pyarrow>=15; extra == 'packed'", "Description-Content-Type: text/markdown"]
    return "\n".join(lines) + "\n\n" + readme


def main():
    stage, python, out = map(pathlib.Path, sys.argv[1:4])
    version, platform = sys.argv[4:]
    info, data = f"gristmill-{version}.dist-info", f"gristmill-{version}.data"
    files = {}
    program = stage / "bin/gristmill"
    for path in (stage / "bin").iterdir():
        # A wheel has no links: a filter is a line that calls the program which holds all of them.
        is_link = path != program and path.samefile(program)
        content = LAUNCHER.format(filter=path.name).encode() if is_link else path.read_bytes()
        files[f"{data}/scripts/{path.name}"] = (content, 0o755)
    for path in (stage / "share").rglob("*"):
        if path.is_file():
            name = path.relative_to(stage).as_posix()
            files[f"{data}/data/{name}"] = (path.read_bytes(), path.stat().st_mode & 0o755)
    for path in (python / "gristmill_data").iterdir():
        if path.is_file():
            files[f"gristmill_data/{path.name}"] = (path.read_bytes(), 0o644)
    readme = (stage / "share/doc/gristmill/README.md").read_text()
    # (Where the metadata is shown, no file is beside it.)
    readme = without_dead_links(readme, lambda _: False)
    for name in ("LICENSE-MIT", "LICENSE-APACHE", "THIRD-PARTY.txt"):
        files[f"{info}/licenses/{name}"] = ((stage / "share/doc/gristmill" / name).read_bytes(), 0o644)
    tag = f"py3-none-{platform}"
    wheel = f"Wheel-Version: 1.0\nGenerator: gristmill\nRoot-Is-Purelib: false\nTag: {tag}\n"
    files[f"{info}/WHEEL"] = (wheel.encode(), 0o644)
    files[f"{info}/METADATA"] = (metadata(version, readme).encode(), 0o644)
    record = ""
    for name, (content, _) in sorted(files.items()):
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        record += f"{name},sha256={digest},{len(content)}\n"
    files[f"{info}/RECORD"] = ((record + f"{info}/RECORD,,\n").encode(), 0o644)
    path = out / f"gristmill-{version}-{tag}.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, (content, mode) in sorted(files.items()):
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.external_attr = (0o100000 | mode) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content)
    print(path)


if __name__ == "__main__":
    main()
