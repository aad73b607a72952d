#!/usr/bin/env bash
# The Macroxue pipeline: raw self-play logs to a pack of rows and metadata.db, for a trainer.
set -euo pipefail

usage() {
    cat <<'EOT'
Usage: scripts/macroxue.sh RAW_DIR PACK_DIR [options]

  RAW_DIR holds games, X.meta.json[.gz] and X.jsonl.gz, in any folders; PACK_DIR receives
  steps.npy (or steps-00000.npy, ...), valuation_types.json, metadata.db and manifest.json.

  --shard-rows N            rows in each file but the last (all in one)
  --jobs N                  games side by side (all processors)
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

die() {
    echo "macroxue.sh: $1" >&2
    exit "${2:-2}"
}

number() {
    [[ $2 =~ ^[1-9][0-9]*$ ]] || die "$1 needs a number of at least 1, not '$2'"
}

jobs=$(nproc) check=1 decode=() pack=()
positional=()
while (($#)); do
    case $1 in
    -h | --help) usage && exit 0 ;;
    --overwrite) pack+=(--overwrite) && shift && continue ;;
    --no-check) check='' && shift && continue ;;
    --*=*) set -- "${1%%=*}" "${1#*=}" "${@:2}" && continue ;;
    --shard-rows | --jobs | --legality | --on-error)
        (($# > 1)) || die "$1 needs a value"
        ;;&
    --shard-rows) number "$1" "$2" && pack+=(--shard-rows "$2") ;;
    --jobs) number "$1" "$2" && jobs=$2 ;;
    --legality | --on-error) decode+=("$1" "$2") ;;
    -*) die "unknown option $1; see --help" ;;
    *) positional+=("$1") && shift && continue ;;
    esac
    shift 2
done
((${#positional[@]} == 2)) || die "RAW_DIR and PACK_DIR are required; see --help"
raw=${positional[0]} out=${positional[1]}

# The filters built here come first; installed ones otherwise.
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
[[ ! -x $here/target/release/mx-decode ]] || PATH=$here/target/release:$PATH
command -v mx-decode >/dev/null || die "mx-decode is not there; try: cargo build --release"

# Arrow ends with a marker: npy-pack publishes nothing if mx-decode has failed, even if that has
# written nothing at all.
export GRISTMILL_TO=arrow
status=(0)
mx-decode "$raw" --jobs "$jobs" "${decode[@]}" |
    npy-pack -o "$out" "${pack[@]}" --progress never || status=("${PIPESTATUS[@]}")
# A stage that only lost its reader (SIGPIPE, 141) or its writer (75) is not the cause.
for code in "${status[@]}"; do
    ((code == 0 || code == 75 || code == 141)) || exit "$code"
done
((${#status[@]} == 1)) || exit 75

[[ -n $check ]] || exit 0
code=0
report=$(ds-check "$out" --jobs "$jobs" --quiet 2>&1) || code=$?
((code == 0)) || {
    echo "$report" >&2
    die "$out has not passed ds-check" "$code"
}
