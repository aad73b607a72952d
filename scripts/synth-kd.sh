#!/usr/bin/env bash
# The SYNTH pipeline: conversations, raw rows or chats to Megatron datasets with masks, split by id, and their manifest.
#
#   scripts/synth-kd.sh INPUT... ROOT [--shards N] [options]
#   scripts/synth-kd.sh RAW_DIR... ROOT --raw [options]
#   scripts/synth-kd.sh CHATS... ROOT --chat [--model DIR] [options]
#
# On many machines (docs/cluster.md): plan prints a line for each task, which any engine may run; status says what is
# done; finish joins the parts to the same bytes as on one machine.
#
#   scripts/synth-kd.sh plan INPUT ROOT [--tasks N] [options] > tasks.txt
#   scripts/synth-kd.sh status ROOT [tasks.txt] [--todo | --watch]
#   scripts/synth-kd.sh finish ROOT [tasks.txt] [--delete-parts] [options]
#
# scripts/synth-kd.sh --help explains the options, those of the filters too.
set -eu

# The filters that were built or installed beside this script come first.
built=$(cd "$(dirname "$0")/.." && pwd)/target
PATH=$(dirname "$(readlink -f "$0")"):$built/release:$built/quick:$PATH

what=build
case ${1-} in
plan) what=plan && shift ;;
status | finish) exec ds-plan "$@" ;;
esac

# What makes tokens of the input.
tokenize=(harmony-tok)
for option in "$@"; do
    case $option in
    --raw) tokenize=(synth-harmony '|' harmony-tok) ;;
    --chat) tokenize=(chat-harmony '|' harmony-tok) ;;
    esac
done
for option in "$@"; do
    case $option in --model | --model=*) tokenize=(chat-tok) ;; esac
done

exec ds-plan "$what" kd-root "$@" -- "${tokenize[@]}" '|' span-mask '|' mmidx-write
