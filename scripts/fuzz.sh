#!/usr/bin/env bash
# Fuzzes every reader, and writes fuzz/RESULT.md:
#
#     scripts/fuzz.sh [RUNS [SECONDS [TARGET...]]]
#
# Each target has RUNS inputs (10,000,000 if nothing is given), or as many as it tries in SECONDS.
# An input that makes a reader panic, take 10 seconds, take more than twice its size and 64 MiB of
# memory, or end with an error of several lines, stays in fuzz/artifacts. What is learned stays in
# target/fuzz-corpus, from where the next call goes on. GRISTMILL_FUZZERS is a directory of programs
# that are built already; else it needs a nightly toolchain and cargo-fuzz:
#
#     rustup toolchain install nightly && cargo install cargo-fuzz
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
[[ ${GRISTMILL_FUZZERS:-} ]] || cargo +nightly fuzz --version >/dev/null || {
    echo "fuzz.sh: no nightly toolchain or no cargo-fuzz; see scripts/fuzz.sh" >&2
    exit 2
}
runs=${1:-10000000} seconds=${2:-0}
shift $(($# < 2 ? $# : 2))

# The targets of a table of fuzz/targets/mod.rs, which is the program that has them.
targets_of() { sed -n "/const ${1^^}:/,/];/s/^ *(\"\([a-z_]*\)\".*/\1/p" fuzz/targets/mod.rs; }
# The number that libFuzzer or a target states of a run.
stated() { sed -n "s/^stat::$1: *//p" "$log" | tail -1; }
mib() { echo "$((($1 + 1048575) / 1048576))"; }

TIMEFORMAT='%U %S'
fuzz() {
    GRISTMILL_FUZZ=$target "$programs/$program" -runs="$runs" -max_total_time="$seconds" \
        -timeout=10 -rss_limit_mb=1024 -max_len="$longest" -print_final_stats=1 \
        -artifact_prefix="fuzz/artifacts/$target-" "$learned" "fuzz/corpus/$target" >"$log" 2>&1
}

programs=${GRISTMILL_FUZZERS:-}
if [[ ! $programs ]]; then
    # The versions are those of the filters.
    cp Cargo.lock fuzz/Cargo.lock
    # Without a sanitizer: nearly no code here is unsafe, and memory is counted by the targets.
    cargo +nightly fuzz build --sanitizer none -O --codegen-units 4
    programs=${CARGO_TARGET_DIR:-fuzz/target}/$(rustc +nightly -vV | sed -n 's/^host: //p')/release
fi

TMPDIR=$(mktemp -d)
[[ ! -d /dev/shm ]] || { rmdir "$TMPDIR" && TMPDIR=$(mktemp -d -p /dev/shm); }
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT
mkdir -p fuzz/artifacts
table=$TMPDIR/table
status=0
for program in readers parts; do
    for target in $(targets_of "$program"); do
        [[ $# -eq 0 || " $* " == *" $target "* ]] || continue
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
        before=$(cat "$learned.runs" 2>/dev/null || echo 0)
        now=$(stated number_of_executed_units)
        echo $((before + ${now:-0})) >"$learned.runs"
        most=$(stated most_memory_of_an_input)
        echo "| $target | ${now:-0} | $before | $(find "$learned" -type f | wc -l) |" \
            "$(awk -v runs="${now:-0}" '{ print int(runs / ($1 + $2 + 0.001)) }' <<<"$took") | $(stated peak_rss_mb) | $(mib "${most:-0}") | $outcome |" |
            tee -a "$table"
    done
done
{
    echo "# Fuzzing"
    echo
    echo "Written by \`scripts/fuzz.sh $runs $seconds\` on $(date -u +%F), $(git rev-parse --short HEAD)." \
        "Earlier runs are those of this machine, some of them before changes to the readers; their" \
        "inputs are tried again first. What was found is in fuzz/corpus, as finding-*."
    echo
    echo "| target | runs | earlier runs | inputs learned | runs/s of one processor | process, MiB | an input, MiB | outcome |"
    echo "|---|---|---|---|---|---|---|---|"
    cat "$table"
} >fuzz/RESULT.md
exit $status
