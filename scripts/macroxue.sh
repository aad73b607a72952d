#!/usr/bin/env bash
# The Macroxue pipeline: raw self-play logs to a pack of rows and metadata.db, for a trainer.
set -euo pipefail

usage() {
    cat <<'EOT'
Usage: scripts/macroxue.sh RAW_DIR PACK_DIR [options]

  RAW_DIR holds games, X.meta.json[.gz] and X.jsonl.gz, in any folders; PACK_DIR receives
  steps.npy (or steps-00000.npy, ...), valuation_types.json, metadata.db and manifest.json.

  --shard-rows N            rows in each file but the last (all in one)
  --jobs N, --workers N     games side by side (all processors)
  --legality board|values   branches that count as legal: those that the board can move and that
                            have a value, or all that have a value (board)
  --on-error fail|skip      what to do with a bad game (fail)
  --overwrite               replace the pack in PACK_DIR
  --no-check                do not run ds-check on PACK_DIR
  -h, --help

  Exit codes: 0 done, 1 bad data (if PACK_DIR fails ds-check, it is kept), 2 usage or a missing
  input, 75 not now, try again.
EOT
}

# shellcheck source=scripts/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

jobs=$(nproc) check=1 decode=() pack=()
positional=()
while (($#)); do
    case $1 in
    -h | --help) usage && exit 0 ;;
    --overwrite) pack+=(--overwrite) && shift && continue ;;
    --no-check) check='' && shift && continue ;;
    --*=*) set -- "${1%%=*}" "${1#*=}" "${@:2}" && continue ;;
    --shard-rows | --jobs | --workers | --legality | --on-error)
        (($# > 1)) || die "$1 needs a value"
        ;;&
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

need_filters mx-decode npy-pack ds-cat ${check:+ds-check}

# In Arrow the cause of a failure reaches npy-pack, which publishes nothing and has its exit code.
export GRISTMILL_TO=arrow
pipeline() {
    mx-decode "$raw" --jobs "$jobs" "${decode[@]}" |
        npy-pack -o "$out" "${pack[@]}" --progress never
}
run pipeline

[[ -z $check ]] || closing_check "$out" --jobs "$jobs" || die "$out has not passed ds-check" $?
echo "$out: $(ds-cat --count "$out") games"
