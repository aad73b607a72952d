#!/usr/bin/env bash
# Makes target/venv unless it is there: the independent implementations that tests and benchmarks
# compare with.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

venv=target/venv
if ! cmp -s tests/requirements.txt "$venv/installed.txt"; then
    rm -rf "$venv"
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check -r tests/requirements.txt
    cp tests/requirements.txt "$venv/installed.txt"
fi
