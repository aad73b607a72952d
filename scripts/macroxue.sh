#!/usr/bin/env bash
# The Macroxue pipeline: raw self-play logs to a pack of rows and metadata.db, for a trainer.
set -euo pipefail

usage() {
    cat <<'EOT'
Usage: scripts/macroxue.sh RAW_DIR PACK_DIR [options]
       scripts/macroxue.sh plan RAW_DIR PACK_DIR [--tasks N | --games-per-task N] [options] > TASKS
       scripts/macroxue.sh status PACK_DIR [TASKS] [--todo]
       scripts/macroxue.sh finish PACK_DIR [TASKS] [--delete-parts] [--no-check]

  RAW_DIR holds games, X.meta.json[.gz] and X.jsonl.gz, in any folders; PACK_DIR receives
  steps.npy (or steps-00000.npy, ...), valuation_types.json, metadata.db and manifest.json.

  --shard-rows N            rows in each file but the last (all in one)
  --jobs N, --workers N     games side by side (all processors)
  --legality board|values   branches that count as legal: those that the board can move and that
                            have a value, or all that have a value (board)
  --on-error fail|skip      what to do with a bad game (fail)
  --overwrite               replace the pack in PACK_DIR
  --no-check                do not run ds-check on PACK_DIR
  -q, --quiet               print no summary
  -h, --help

  On many machines (docs/cluster.md): `plan` prints one shell command a line, each a task for any
  engine; `status` says what is done; `finish` merges the parts to what one machine would have made.

  --tasks N                 about N tasks of equal size (tasks of about 1 GiB of files)
  --games-per-task N        tasks of N games

  Exit codes: 0 done, 1 bad data (if PACK_DIR fails ds-check, it is kept), 2 usage or a missing
  input, 75 not now, try again.
EOT
}

# shellcheck source=scripts/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

choose_mode "$@"
[[ $mode == build ]] || shift

jobs='' check=1 decode=() pack=() overwrite='' slice=() size=() summary=1
positional=()
while (($#)); do
    case $1 in
    -h | --help) usage && exit 0 ;;
    --overwrite) overwrite=$1 && shift && continue ;;
    -q | --quiet) summary='' && shift && continue ;;
    --no-check) check='' && shift && continue ;;
    --*=*) set -- "${1%%=*}" "${1#*=}" "${@:2}" && continue ;;
    --shard-rows | --jobs | --workers | --legality | --on-error | --tasks | --games-per-task | --name | --slice)
        (($# > 1)) || die "$1 needs a value"
        ;;&
    --tasks | --games-per-task)
        [[ $mode == plan ]] || die "$1 is for: macroxue.sh plan"
        number "$1" "$2" 1 && size=("${1/games/rows}" "$2")
        ;;
    --name) ;;
    --slice) slice=(--slice "$2") ;;
    --shard-rows) number "$1" "$2" 1 && pack+=(--shard-rows "$2") ;;
    --jobs | --workers) number "$1" "$2" 1 && jobs=$2 ;;
    --legality | --on-error) decode+=("$1" "$2") ;;
    -*) die "unknown option $1; see --help" ;;
    *) positional+=("$1") && shift && continue ;;
    esac
    shift 2
done
((${#positional[@]} == 2)) || die "RAW_DIR and PACK_DIR are required; see --help"
raw=${positional[0]} out=${positional[1]}

need_filters mx-decode npy-pack ds-cat ds-plan ${check:+ds-check}

if [[ $mode == plan ]]; then
    exec ds-plan make "$out" --product pack --input "$raw" --source "games=$raw" "${size[@]}" \
        ${overwrite:+"$overwrite"} -- "$here/macroxue.sh" "${decode[@]}" "${pack[@]}" \
        ${jobs:+--jobs "$jobs"}
fi

quiet=()
[[ $mode == build ]] || quiet=(-q) check='' jobs=${jobs:-1}
jobs=${jobs:-$(nproc)}

# In Arrow the cause of a failure reaches npy-pack, which publishes nothing and has its exit code.
export GRISTMILL_TO=arrow
pipeline() {
    mx-decode "$raw" --jobs "$jobs" "${slice[@]}" "${decode[@]}" "${quiet[@]}" |
        npy-pack -o "$out" "${pack[@]}" ${overwrite:+"$overwrite"} --progress never
}
run pipeline
[[ $mode == build ]] || exit 0

[[ -z $check ]] || closing_check "$out" --jobs "$jobs" || die "$out has not passed ds-check" $?
[[ -z $summary ]] || echo "$out: $(ds-cat --count "$out") games"
