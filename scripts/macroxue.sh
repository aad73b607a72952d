#!/usr/bin/env bash
# The Macroxue pipeline: raw self-play logs to a pack of rows and metadata.db, for a trainer.
set -euo pipefail

usage() {
    cat <<'EOT'
Usage: scripts/macroxue.sh RAW_DIR PACK_DIR [options]
       scripts/macroxue.sh --input RAW_DIR --output PACK_DIR [options]
       scripts/macroxue.sh plan RAW_DIR PACK_DIR
                           [--tasks N | --games-per-task N] [options] > TASKS
       scripts/macroxue.sh status PACK_DIR [TASKS] [--todo | --watch]
       scripts/macroxue.sh finish PACK_DIR [TASKS] [--delete-parts] [--no-check]
                           [--rejects FILE]

  RAW_DIR holds games, X.meta.json[.gz] and X.jsonl.gz, in any folders; PACK_DIR
  receives steps.npy (or steps-00000.npy, ...), valuation_types.json,
  metadata.db and manifest.json.

  --shard-rows N            rows in each file but the last (all in one)
  --jobs N, --workers N     games side by side (all processors)
  --legality board|values   branches that count as legal: those that the board
                            can move and that have a value, or all that have a
                            value (board)
  --layout LAYOUT           macroxue, macroxue-packed or selfplay-v1 (macroxue)
  --lossy                   write what the layout can hold, even if the rest
                            is lost
  --on-error fail|skip      what to do with a bad game (fail)
  --rejects FILE            write skipped records and their reasons as NDJSON
                            (none for tasks that --resume keeps)
  --overwrite               replace the pack in PACK_DIR
  --resume                  keep what is finished with the same settings, of the
                            same games; other packs are refused
  --no-check                do not run ds-check on PACK_DIR
  -q, --quiet               print only errors, and what ds-check finds
  --progress WHEN           show progress: auto, always or never (auto)
  -h, --help

@further

  On many machines (docs/cluster.md): `plan` prints one shell command a line,
  each a task for any engine; `status` says what is done; `finish` merges the
  parts to the same bytes as on one machine.

  --tasks N                 about N tasks of equal size (tasks of about 1 GiB of
                            files)
  --games-per-task N        tasks of N games

  Examples:
    scripts/macroxue.sh data/raw_games pack
    scripts/macroxue.sh data/raw_games pack --shard-rows 10000000 --resume

  Exit codes: 0 done, 1 bad data (if PACK_DIR fails ds-check, it is kept), 2
  usage or a missing input, 75 temporary failure, try again.
EOT
}

# shellcheck source=scripts/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

choose_mode "$@"
[[ $mode == build ]] || shift

jobs='' check=1 overwrite='' resume='' size=() from='' to=''
pipeline=(mx-decode npy-pack)
positional=()
while (($#)); do
    case $1 in
    -h | --help) help && exit 0 ;;
    --overwrite) overwrite=1 && shift && continue ;;
    --resume) resume=1 && shift && continue ;;
    -q | --quiet) quiet=-q && shift && continue ;;
    --no-check) check='' && shift && continue ;;
    --*=*) set -- "${1%%=*}" "${1#*=}" "${@:2}" && continue ;;
    --input | -o | --output | --jobs | --workers | --on-error | --rejects | --progress | --tasks | \
        --games-per-task | --name | --slice | --progress-to)
        (($# > 1)) || die "$1 needs a value"
        ;;&
    --tasks | --games-per-task) number "$1" "$2" 1 && size=("${1/games/rows}" "$2") ;;
    --input) from=$2 ;;
    -o | --output) to=$2 ;;
    --name | --slice | --progress-to) task_option "$1" "$2" ;;
    --jobs | --workers) number "$1" "$2" 1 && jobs=$2 ;;
    --on-error) on_error=$2 ;;
    --rejects) rejects=$2 ;;
    --progress) progress_option "$2" ;;
    -*) pass_on "$@" && shift "${words[$1]}" && continue ;;
    *) positional+=("$1") && shift && continue ;;
    esac
    shift 2
done
positional=(${from:+"$from"} "${positional[@]}" ${to:+"$to"})
((${#positional[@]} == 2)) || die "RAW_DIR and PACK_DIR are required; see --help"
[[ -z $overwrite || -z $resume ]] || die "--overwrite and --resume exclude each other"
input=${positional[0]} out=${positional[1]}
check_on_error

need_filters gristmill mx-decode npy-pack ds-cat ds-plan ${check:+ds-check}

# A task of a plan; ds-plan calls this.
if [[ $mode == slice ]]; then
    make_part() {
        options_of mx-decode decode
        options_of npy-pack pack
        gristmill mx-decode "$input" ${slice:+--slice "$slice"} "${decode[@]}" "${bad[@]}" --jobs "${jobs:-1}" -q \
            "${report[@]}" '|' \
            npy-pack -o "$out" "${pack[@]}" ${overwrite:+--overwrite} --progress never
    }
    keep_rejects mx-decode
    run make_part
    exit
fi

may_build "$out"
check_passed
make_all "$out" "$input" ds-plan make "$out" --product pack --input "$input" --source "games=$input" \
    "${size[@]}" -- "$self" "${passed[@]}" ${on_error:+--on-error "$on_error"}
