#!/usr/bin/env bash
# Puzzle sets for the HRM loader: one for each domain for which inputs are given.
set -euo pipefail

usage() {
    cat <<'EOT'
Usage: scripts/puzzles.sh OUT_DIR [--sudoku DIR] [--maze DIR] [--arc DIR]... [--domino N] [options]

  OUT_DIR receives sudoku/, maze/, arc/ and domino/, each with train/, test/, identifiers.json and
  build.json.

  --sudoku DIR     train.csv and test.csv with the fields source,question,answer,rating
  --maze DIR       the same
  --arc DIR        tasks; may be given several times
  --domino N       states in each split; the games are played by the filter
  --num-aug K      augmentations of each puzzle; at most 7 for mazes, 6 for Domino states (3)
  --seed S         seed of all random choices (42)
  --jobs N         threads (all processors)
  --on-error fail|skip   what to do with a bad row or task (fail)
  --overwrite      replace the sets in OUT_DIR
  --no-check       do not run ds-check on the sets
  -h, --help

  Exit codes: 0 done, 1 bad data (a set that fails ds-check is kept), 2 usage or a missing input,
  75 not now, try again.
EOT
}

die() {
    echo "puzzles.sh: $1" >&2
    exit "${2:-2}"
}

number() {
    [[ $2 =~ ^[0-9]+$ ]] || die "$1 needs a number, not '$2'"
}

at_most() {
    echo $((num_aug < $1 ? num_aug : $1))
}

jobs=$(nproc) num_aug=3 seed=42 check=1
sudoku='' maze='' domino='' arc=() skip=() pack=() positional=()
while (($#)); do
    case $1 in
    -h | --help) usage && exit 0 ;;
    --overwrite) pack+=(--overwrite) && shift && continue ;;
    --no-check) check='' && shift && continue ;;
    --*=*) set -- "${1%%=*}" "${1#*=}" "${@:2}" && continue ;;
    --sudoku | --maze | --arc | --domino | --num-aug | --seed | --jobs | --on-error)
        (($# > 1)) || die "$1 needs a value"
        ;;&
    --sudoku) sudoku=$2 ;;
    --maze) maze=$2 ;;
    --arc) arc+=("$2") ;;
    --domino) number "$1" "$2" && domino=$2 ;;
    --num-aug) number "$1" "$2" && num_aug=$2 ;;
    --seed) number "$1" "$2" && seed=$2 ;;
    --jobs) number "$1" "$2" && jobs=$2 ;;
    --on-error) skip+=("$1" "$2") ;;
    -*) die "unknown option $1; see --help" ;;
    *) positional+=("$1") && shift && continue ;;
    esac
    shift 2
done
((${#positional[@]} == 1)) || die "OUT_DIR is required; see --help"
[[ -n $sudoku$maze$domino${arc[*]-} ]] || die "nothing to build: give --sudoku, --maze, --arc or --domino"
out=${positional[0]}

# The filters built here come first; installed ones otherwise.
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
[[ ! -x $here/target/release/puzzle-encode ]] || PATH=$here/target/release:$PATH
command -v puzzle-encode >/dev/null || die "puzzle-encode is not there; try: cargo build --release"

# Arrow ends with a marker: npy-pack publishes nothing if puzzle-encode has failed, even if that
# has written nothing at all.
export GRISTMILL_TO=arrow

# build DOMAIN ARGUMENTS...: one set, checked.
build() {
    local status=(0)
    puzzle-encode "$@" --seed "$seed" --jobs "$jobs" |
        npy-pack -o "$out/$1" "${pack[@]}" --progress never || status=("${PIPESTATUS[@]}")
    # A stage that only lost its reader (SIGPIPE, 141) or its writer (75) is not the cause.
    local code
    for code in "${status[@]}"; do
        ((code == 0 || code == 75 || code == 141)) || exit "$code"
    done
    ((${#status[@]} == 1)) || exit 75
    [[ -n $check ]] || return 0
    code=0
    ds-check "$out/$1" --jobs "$jobs" --quiet >&2 || code=$?
    ((code == 0)) || die "$out/$1 has not passed ds-check" "$code"
}

[[ -z $sudoku ]] ||
    build sudoku --train "$sudoku/train.csv" --test "$sudoku/test.csv" --num-aug "$num_aug" "${skip[@]}"
[[ -z $maze ]] ||
    build maze --train "$maze/train.csv" --test "$maze/test.csv" --num-aug "$(at_most 7)" "${skip[@]}"
((${#arc[@]} == 0)) || build arc "${arc[@]}" --num-aug "$num_aug" "${skip[@]}"
[[ -z $domino ]] || build domino --num-games "$domino" --num-aug "$(at_most 6)"
