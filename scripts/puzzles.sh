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
  --jobs N, --workers N  threads (all processors)
  --on-error fail|skip   what to do with a bad row or task (fail)
  --overwrite      replace the sets in OUT_DIR
  --no-check       do not run ds-check on the sets
  -h, --help

  Examples:
    scripts/puzzles.sh puzzles --sudoku data/sudoku --arc data/arc --num-aug 10
    scripts/puzzles.sh puzzles --domino 1000 --seed 7

  Exit codes: 0 done, 1 bad data (a set that fails ds-check is kept), 2 usage or a missing input,
  75 not now, try again.
EOT
}

# shellcheck source=scripts/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

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
    --sudoku | --maze | --arc | --domino | --num-aug | --seed | --jobs | --workers | --on-error)
        (($# > 1)) || die "$1 needs a value"
        ;;&
    --sudoku) sudoku=$2 ;;
    --maze) maze=$2 ;;
    --arc) arc+=("$2") ;;
    --domino) number "$1" "$2" && domino=$2 ;;
    --num-aug) number "$1" "$2" && num_aug=$2 ;;
    --seed) number "$1" "$2" && seed=$2 ;;
    --jobs | --workers) number "$1" "$2" 1 && jobs=$2 ;;
    --on-error) skip+=("$1" "$2") ;;
    -*) die "unknown option $1; see --help" ;;
    *) positional+=("$1") && shift && continue ;;
    esac
    shift 2
done
((${#positional[@]} == 1)) || die "OUT_DIR is required; see --help"
[[ -n $sudoku$maze$domino${arc[*]-} ]] || die "nothing to build: give --sudoku, --maze, --arc or --domino"
out=${positional[0]}

need_filters puzzle-encode npy-pack ${check:+ds-check}

# In Arrow the cause of a failure reaches npy-pack, which publishes nothing and has its exit code.
export GRISTMILL_TO=arrow
pipeline() {
    local set=$1
    shift
    puzzle-encode "$@" --seed "$seed" --jobs "$jobs" |
        npy-pack -o "$set" "${pack[@]}" --progress never
}

# build DOMAIN ARGUMENTS...: one set, checked.
build() {
    local set=$out/$1
    run pipeline "$set" "$@"
    [[ -z $check ]] || closing_check "$set" --jobs "$jobs" || die "$set has not passed ds-check" $?
}

[[ -z $sudoku ]] ||
    build sudoku --train "$sudoku/train.csv" --test "$sudoku/test.csv" --num-aug "$num_aug" "${skip[@]}"
[[ -z $maze ]] ||
    build maze --train "$maze/train.csv" --test "$maze/test.csv" --num-aug "$(at_most 7)" "${skip[@]}"
((${#arc[@]} == 0)) || build arc "${arc[@]}" --num-aug "$num_aug" "${skip[@]}"
[[ -z $domino ]] || build domino --num-games "$domino" --num-aug "$(at_most 6)"
