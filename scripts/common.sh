# shellcheck shell=bash
# What the pipeline scripts share; they source it.

script=${0##*/}

die() {
    echo "$script: $1" >&2
    exit "${2:-2}"
}

# number FLAG VALUE [LEAST]
number() {
    [[ $2 =~ ^[0-9]+$ ]] || die "$1 needs a number, not '$2'"
    ((10#$2 >= ${3:-0})) || die "$1 needs at least $3"
}

# The filters built here come first; installed ones otherwise.
need_filters() {
    local here filter
    here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
    [[ ! -x $here/target/release/$1 ]] || PATH=$here/target/release:$PATH
    for filter in "$@"; do
        command -v "$filter" >/dev/null || die "$filter is not there; try: cargo build --release"
    done
}

# What runs is in process groups of its own, so that a signal for the script stops all of it.
set -m
stop() {
    trap '' INT TERM HUP
    local job
    for job in $(jobs -p); do kill -s "$1" -- "-$job" 2>/dev/null || true; done
    wait || true
    trap - "$1"
    kill -s "$1" $$
}
for signal in INT TERM HUP; do
    # shellcheck disable=SC2064
    trap "stop $signal" "$signal"
done

# run COMMAND ARGUMENTS...: waits for a command, and hears signals meanwhile.
run() {
    local code=0
    "$@" &
    wait $! || code=$?
    return "$code"
}

# closing_check PATH ARGUMENTS...: prints what ds-check finds, and fails as it does.
closing_check() {
    local show=never
    [[ ! -t 2 ]] || show=always
    run ds-check "$@" --quiet --progress "$show" >&2
}
