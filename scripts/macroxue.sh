#!/usr/bin/env bash
# The Macroxue pipeline: raw self-play logs to a pack of rows and metadata.db, for a trainer.
#
#   scripts/macroxue.sh RAW_DIR PACK_DIR [options]
#   scripts/macroxue.sh --input RAW_DIR --output PACK_DIR [options]
#
# On many machines (docs/cluster.md):
#
#   scripts/macroxue.sh plan RAW_DIR PACK_DIR [--tasks N | --games-per-task N] [options] > tasks.txt
#   scripts/macroxue.sh status PACK_DIR [tasks.txt] [--todo | --watch]
#   scripts/macroxue.sh finish PACK_DIR [tasks.txt] [--delete-parts] [options]
#
# scripts/macroxue.sh --help explains the options, those of the filters too.
set -eu

# The filters that were built or installed beside this script come first.
built=$(cd "$(dirname "$0")/.." && pwd)/target
PATH=$(dirname "$(readlink -f "$0")"):$built/release:$built/quick:$PATH

what=build
case ${1-} in
plan) what=plan && shift ;;
status | finish) exec ds-plan "$@" ;;
esac

exec ds-plan "$what" pack "$@" -- mx-decode '|' npy-pack
