#!/usr/bin/env bash
# Makes every call of every sink, reader and script fail once (tests/faults), and stops each of them
# at a random call, and writes tests/faults/RESULT.md.
#
#     tools/faults.sh [KILLS]
#
# 1,000 runs are stopped if nothing is given. All of it takes about an hour on two processors. With
# GRISTMILL_FAULTS_SHARE=N one fault of N is tried, chosen by GRISTMILL_FAULTS_SEED (1).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

table=$(mktemp -d)
trap 'rm -rf "$table"' EXIT
export GRISTMILL_FAULTS=all GRISTMILL_KILLS=${1:-1000} GRISTMILL_FAULTS_TABLE=$table/part
code=0 commit=$(git rev-parse --short HEAD)
cargo test --release --test main faults:: -- --nocapture || code=$?
{
    echo "# Calls that fail, runs that are stopped"
    echo
    echo "Written by \`tools/faults.sh ${1:-}\` on $(date -u +%F), $commit," \
        "share 1/${GRISTMILL_FAULTS_SHARE:-1}. What is wrong is printed by the run."
    # A row for each call and error, summed over the cases.
    awk -F ' *[|] *' '
        function flush(i) {
            for (i = 1; i <= count; i++) print "| " keys[i] " | " tried[keys[i]] " | " wrong[keys[i]] " |"
            count = 0; split("", tried); split("", wrong)
        }
        NF < 6 { flush(); print; next }
        $2 == "case" { print "| call | error | tried | wrong |"; print "|---|---|--:|--:|"; next }
        $2 ~ /^-/ { next }
        { key = $3 " | " $4; if (!(key in tried)) keys[++count] = key; tried[key] += $5; wrong[key] += $6 }
        END { flush() }' "$table"/part.*
} >tests/faults/RESULT.md
exit "$code"
