#!/usr/bin/env bash
# Installs what the tests need (Python venvs with the independent implementations and with torch)
# and runs them all: format, lints, unit tests, and the binaries on real input.
#
# GRISTMILL_DATA names the directory of reference data; if it is unset, tests that need it are
# skipped, with a line that says so. Arguments go to cargo test.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# While the crates are built, one after another at times, the other processor lints (in a folder of its own,
# since cargo lets nobody else into one that it works in; C is compiled there, too, so without optimizing), and what the tests need is installed.
trap 'kill $(jobs -p) 2>/dev/null || true' EXIT
tools/venv.sh &
venv=$!
{
    export CARGO_TARGET_DIR=$PWD/target/lints
    nice -n 19 cargo clippy --quiet --profile quick --all-targets -- -D warnings
    RUSTDOCFLAGS="-D warnings" nice -n 19 cargo doc --quiet --profile quick --no-deps
} &
lints=$!
cargo fmt --check
# One profile for the tests and for daily use: the tested build is the one that is used. (For the unit tests of the crates
# that take long, these are optimized less, or not: without, the tests of games take minutes.)
all=(--release "$@") units=()
if (($# == 0)); then
    all+=(--exclude gristmill-peers --workspace)
    units=(--release)
    for crate in stream=0 chats=0 tokens=0 rows=0 npy=0 games=1 puzzles=1; do
        name=gristmill-${crate%=*}
        all+=(--exclude "$name")
        units+=(--package "$name")
        for setting in "opt-level=${crate#*=}" codegen-units=16; do
            units+=(--config "profile.release.package.$name.$setting")
        done
    done
fi
cargo test --no-run "${all[@]}"
((${#units[@]} == 0)) || cargo test --no-run "${units[@]}"
wait "$venv"

export GRISTMILL_PYTHON=$PWD/target/venv/bin/python
if [[ -x target/venv-torch/bin/python ]]; then
    export GRISTMILL_TORCH_PYTHON=$PWD/target/venv-torch/bin/python
fi
axe=$(compgen -G "$PWD/target/axe-core/*.min.js") && export GRISTMILL_AXE=$axe

# The tests write and sync many small files: in memory, where there is room.
if [[ -z ${TMPDIR-} && -w /dev/shm && $(df --output=avail -k /dev/shm | tail -n 1) -gt $((8 << 20)) ]]; then
    export TMPDIR=/dev/shm
fi

export GRISTMILL_SKIPPED=$PWD/target/skipped-tests
rm -f "$GRISTMILL_SKIPPED"
cargo test "${all[@]}"
((${#units[@]} == 0)) || cargo test "${units[@]}"
# With the filters that the tests have built: cargo build would compile the library once more, since of a
# crate that tiktoken-rs needs, too, the tests have more features.
GRISTMILL_BUILT=1 scripts/quickstart.sh target/quickstart-test >/dev/null
# (The lints had what the tests left of the processors.)
wait "$lints"
# Tests that lack something are green: how many there are, and what they lack.
[[ ! -f $GRISTMILL_SKIPPED ]] || sort -u "$GRISTMILL_SKIPPED" | cut -f 1 | uniq -c | sed 's/^ *\([0-9]*\) /\1 skipped: /'
