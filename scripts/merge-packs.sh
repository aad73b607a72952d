#!/usr/bin/env bash
# Several packs of 2048 games into one: runs numbered anew, valuation names unified, checked, and
# only then, if asked for, the inputs deleted. (npy-pack IN... -o OUT merges; ds-check looks before and after.)
#
#   scripts/merge-packs.sh --output OUT IN... [options]
#   scripts/merge-packs.sh --output OUT --left IN --right IN [options]
#
# scripts/merge-packs.sh --help explains the options, those of npy-pack too.
set -eu

# The filters that were built or installed beside this script come first.
built=$(cd "$(dirname "$0")/.." && pwd)/target
PATH=$(dirname "$(readlink -f "$0")"):$built/release:$built/quick:$PATH
exec ds-plan merge "$@"
