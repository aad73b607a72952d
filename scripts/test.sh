#!/usr/bin/env bash
# Installs what the tests need (Python venvs with the independent implementations and with torch)
# and runs them all: format, lints, unit tests, and the binaries on real input.
#
# GRISTMILL_DATA names the directory of reference data; if it is unset, tests that need it are
# skipped, with a line that says so. Arguments go to cargo test.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

scripts/venv.sh
export GRISTMILL_PYTHON=$PWD/target/venv/bin/python
if [[ -x target/venv-torch/bin/python ]]; then
    export GRISTMILL_TORCH_PYTHON=$PWD/target/venv-torch/bin/python
fi
axe=$(compgen -G "$PWD/target/axe-core/*.min.js") && export GRISTMILL_AXE=$axe

# The tests write and sync many small files: in memory, where there is room.
if [[ -z ${TMPDIR-} && -w /dev/shm && $(df --output=avail -k /dev/shm | tail -n 1) -gt $((8 << 20)) ]]; then
    export TMPDIR=/dev/shm
fi

cargo fmt --check
cargo clippy --release --all-targets -- -D warnings
RUSTDOCFLAGS="-D warnings" cargo doc --quiet --release --no-deps
# One profile for the tests and for daily use: the tested build is the one that is used.
cargo test --release "$@"
# With the filters that the tests have built: cargo build would compile the library once more, since of a
# crate that tiktoken-rs needs, too, the tests have more features.
GRISTMILL_BUILT=1 scripts/quickstart.sh target/quickstart-test >/dev/null
