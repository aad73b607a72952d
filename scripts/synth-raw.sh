#!/usr/bin/env bash
# The raw half of the SYNTH pipeline: all files of raw rows below a directory to shards of Harmony
# conversations in Parquet, and their manifest.
#
#   scripts/synth-raw.sh RAW_DIR... OUT_DIR [--shards N] [options]
#
# On many machines (docs/cluster.md):
#
#   scripts/synth-raw.sh plan RAW_DIR OUT_DIR [--tasks N] [options] > tasks.txt
#   scripts/synth-raw.sh status OUT_DIR [tasks.txt] [--todo | --watch]
#   scripts/synth-raw.sh finish OUT_DIR [tasks.txt] [--delete-parts] [options]
#
# scripts/synth-raw.sh --help explains the options, those of the filter too.
set -eu

# The filters that were built or installed beside this script come first.
built=$(cd "$(dirname "$0")/.." && pwd)/target
PATH=$(dirname "$(readlink -f "$0")"):$built/release:$built/quick:$PATH

what=build
case ${1-} in
plan) what=plan && shift ;;
status | finish) exec ds-plan "$@" ;;
esac

exec ds-plan "$what" conversations "$@" -- synth-harmony
