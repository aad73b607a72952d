#!/usr/bin/env bash
# Puzzle sets for the HRM loader: one for each domain for which inputs are given.
#
#   scripts/puzzles.sh OUT_DIR [--sudoku DIR] [--maze DIR] [--arc DIR]... [--domino N] [options]
#   scripts/puzzles.sh --help
set -eu

# The filters that were built or installed beside this script come first.
built=$(cd "$(dirname "$0")/.." && pwd)/target
PATH=$(dirname "$(readlink -f "$0")"):$built/release:$built/quick:$PATH

exec ds-plan build puzzles "$@" -- puzzle-encode '|' npy-pack
