#!/usr/bin/env bash
# Fuzzes every reader and prints a table: scripts/fuzz.sh [RUNS] (default 10,000,000 for each).
# It needs cargo-fuzz and a nightly toolchain: cargo install cargo-fuzz. Findings stay in
# fuzz/artifacts; what the fuzzer learns goes to target/fuzz-corpus, not into the repository.
set -euo pipefail
cd "$(dirname "$0")/.."
runs=${1:-10000000}
echo "| target | runs | seconds | outcome |"
echo "|---|---|---|---|"
status=0
for target in $(ls fuzz/corpus); do
    learned=target/fuzz-corpus/$target
    mkdir -p "$learned"
    start=$SECONDS
    # Memory: 64 MiB beyond what the process and its inputs take; the sanitizer would double it.
    if cargo +nightly fuzz run --sanitizer none -O "$target" "$learned" "fuzz/corpus/$target" -- \
        -runs="$runs" -timeout=10 -rss_limit_mb=512 -malloc_limit_mb=256 >"$learned.log" 2>&1; then
        outcome=good
    else
        outcome="fails, see $learned.log"
        status=1
    fi
    echo "| $target | $runs | $((SECONDS - start)) | $outcome |"
done
exit $status
