#!/usr/bin/env bash
# Fuzzes every reader, and keeps count in fuzz/RESULT.md:
#
#     tools/fuzz.sh [GOAL [SECONDS [TARGET...]]]
#
# Each target gets inputs until it has had GOAL (1,000,000 if nothing is given) in all runs together,
# but for no more than SECONDS (0: without end). How many it has had is read from fuzz/RESULT.md, on any
# machine, and written there after each target. What is learned stays in target/fuzz-corpus, from where
# the next call goes on; fuzz/corpus has the inputs that every machine begins with. An input that makes a
# reader panic, take 10 seconds, take more than twice its size and 64 MiB of memory, or end with an
# error of several lines, stays in fuzz/artifacts.
#
# It needs a C++ compiler for libFuzzer, and no other toolchain than the filters. GRISTMILL_FUZZERS is a
# directory of programs that are built already.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
goal=${1:-1000000} seconds=${2:-0}
shift $(($# < 2 ? $# : 2))
result=fuzz/RESULT.md

# The targets of a table of fuzz/targets, which is the program that has them.
targets_of() { sed -n "/const ${1^^}:/,/];/s/^ *(\"\([a-z_]*\)\".*/\1/p" fuzz/targets/m*.rs; }
# The number that libFuzzer or a target states of a run.
stated() { sed -n "s/^stat::$1: *//p" "$log" | tail -1; }
mib() { echo "$((($1 + 1048575) / 1048576))"; }
# The row of a target, and the inputs that it has had so far.
row_of() { grep "^| $1 |" "$result" 2>/dev/null | tail -1; }
inputs_of() { row_of "$1" | cut -d '|' -f 3 | tr -dc 0-9; }

TIMEFORMAT='%U %S'
fuzz() {
    GRISTMILL_FUZZ=$target "$programs/$program" -runs="$runs" -max_total_time="$seconds" \
        -timeout=10 -rss_limit_mb=1024 -max_len="$longest" -print_final_stats=1 \
        -artifact_prefix="fuzz/artifacts/$target-" "$learned" "fuzz/corpus/$target" >"$log" 2>&1
}

# Writes the result with another row of a target.
write() { # TARGET ROW
    local program target
    {
        cat <<END
# Fuzzing

Written by \`tools/fuzz.sh\`, last on $(date -u +%F) at $(git rev-parse --short HEAD). The goal is 1,000,000 inputs for each
target. Inputs are those of all runs so far, on all machines and of all versions of the readers, each once more when what
was learned is tried first; the other numbers are of a target's last run. Edges are libFuzzer's \`cov\` after it. What
was found is in fuzz/corpus, as finding-*.

| target | inputs so far | of the last run | edges covered | inputs learned | inputs/s of one processor | process, MiB | an input, MiB | last run | outcome |
|---|---|---|---|---|---|---|---|---|---|
END
        for program in readers parts models; do
            for target in $(targets_of "$program"); do
                if [[ $target == "$1" ]]; then echo "$2"; else row_of "$target" || true; fi
            done
        done
    } >"$TMPDIR/result"
    cp "$TMPDIR/result" "$result"
}

programs=${GRISTMILL_FUZZERS:-}
if [[ ! $programs ]]; then
    # The versions are those of the filters.
    cp Cargo.lock fuzz/Cargo.lock
    # What cargo-fuzz says to the compiler, without a sanitizer: nearly no code here is unsafe, and memory
    # is counted by the targets.
    flags=(-Cpasses=sancov-module --cfg fuzzing)
    for option in level=4 inline-8bit-counters pc-table trace-compares; do
        flags+=("-Cllvm-args=-sanitizer-coverage-$option")
    done
    host=$(rustc -vV | sed -n 's/^host: //p')
    # With a target of its own the flags are not those of build scripts.
    RUSTFLAGS="${flags[*]}" CARGO_TARGET_DIR=fuzz/target cargo build --release \
        --manifest-path fuzz/Cargo.toml --target "$host"
    programs=fuzz/target/$host/release
fi

TMPDIR=$(mktemp -d)
[[ ! -d /dev/shm ]] || { rmdir "$TMPDIR" && TMPDIR=$(mktemp -d -p /dev/shm); }
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT
mkdir -p fuzz/artifacts
status=0
for program in readers parts models; do
    for target in $(targets_of "$program"); do
        [[ $# -eq 0 || " $* " == *" $target "* ]] || continue
        before=$(inputs_of "$target" || true)
        before=${before:-0}
        runs=$((goal - before))
        [[ $runs -gt 0 ]] || continue
        learned=target/fuzz-corpus/$target
        log=$learned.log
        mkdir -p "$learned"
        longest=$(stat -c %s "fuzz/corpus/$target"/* | sort -n | tail -1)
        longest=$((longest < 128 ? 256 : 2 * longest))
        outcome=good
        took=$({ time fuzz; } 2>&1) || {
            outcome="fails, see $log"
            status=1
        }
        now=$(stated number_of_executed_units)
        edges=$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$log" | tail -1)
        most=$(stated most_memory_of_an_input)
        speed=$(awk -v runs="${now:-0}" '{ print int(runs / ($1 + $2 + 0.001)) }' <<<"$took")
        row="| $target | $((before + ${now:-0})) | ${now:-0} | ${edges:-0} | $(find "$learned" -type f | wc -l)"
        row+=" | $speed | $(stated peak_rss_mb) | $(mib "${most:-0}") | $(date -u +%F) | $outcome |"
        echo "$row"
        write "$target" "$row"
    done
done
exit $status
