#!/usr/bin/env bash
# Compares every filter with its peers and says which goals are reached.
#
#     GRISTMILL_DATA=DIR tools/bench.sh [--quick] [--only NAME...] [-o FILE]
#
# Builds the filters and the peers, makes the inputs under target/bench (kept for the next time),
# and writes benches/results/DATE-MACHINE.md. --quick takes three minutes and prints its results, as
# --only does. The real texts are made of 500 MB of Debian's packages (benches/suite/real_texts.py);
# where apt-get cannot download them that section says so. See --help.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

tools/venv.sh
target/venv/bin/pip install --quiet --disable-pip-version-check -r benches/requirements.txt
# (Of it the packing of lengths alone, which needs numpy.)
target/venv/bin/pip install --quiet --disable-pip-version-check --no-deps megatron-bridge==0.3.1
cargo build --release --bins --package gristmill --package gristmill-peers
exec target/venv/bin/python benches/suite "$@"
