#!/usr/bin/env bash
# Puzzle sets for the HRM loader: one for each domain for which inputs are given.
set -euo pipefail

usage() {
    cat <<'EOT'
Usage: scripts/puzzles.sh OUT_DIR [--sudoku DIR] [--maze DIR] [--arc DIR]...
                          [--domino N] [options]

  OUT_DIR receives sudoku/, maze/, arc/ and domino/, each with train/, test/,
  identifiers.json and build.json. Sets of other domains may stand there
  already.

  --sudoku DIR     train.csv and test.csv with the fields
                   source,question,answer,rating
  --maze DIR       the same
  --arc DIR        tasks; may be given several times
  --domino N       states in each split; the games are played by the filter
  --num-aug K      augmentations of each puzzle; at most 7 for mazes, 6 for
                   Domino states (3)
  --subsample N    N Sudokus of train, chosen at random
  --min-difficulty R  Sudokus of that rating or more
  --unique         Sudokus with exactly one solution
  --seed S         seed of all random choices (42)
  --jobs N, --workers N  sets side by side, and threads (all processors)
  --on-error fail|skip   what to do with a bad row or task (fail)
  --rejects FILE   write skipped records and their reasons as NDJSON (none
                   for sets that --resume keeps)
  --overwrite      replace the sets in OUT_DIR
  --resume         keep the sets that are finished with the same settings, of
                   the same input; others are refused
  --no-check       do not run ds-check on the sets
  -q, --quiet      print only errors, and what ds-check finds
  --progress WHEN  show progress: auto, always or never (auto)
  -h, --help

  Examples:
    scripts/puzzles.sh puzzles --sudoku data/sudoku --arc data/arc --num-aug 10
    scripts/puzzles.sh puzzles --domino 1000 --seed 7

  Exit codes: 0 done, 1 bad data (a set that fails ds-check is kept), 2 usage or
  a missing input, 75 temporary failure, try again.
EOT
}

# shellcheck source=scripts/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

at_most() {
    echo $((num_aug < $1 ? num_aug : $1))
}

mode=build
[[ ${1-} != slice ]] || { mode=slice && shift; }

jobs='' num_aug=3 seed=42 check=1 overwrite='' resume=''
sources=() domains=() sudoku=() positional=()

# source_of DOMAIN INPUT: ds-plan makes one task of all inputs of a domain.
source_of() {
    sources+=(--source "$1=$2")
    [[ " ${domains[*]-} " == *" $1 "* ]] || domains+=("$1")
}

while (($#)); do
    case $1 in
    -h | --help) usage && exit 0 ;;
    --overwrite) overwrite=1 && shift && continue ;;
    --resume) resume=1 && shift && continue ;;
    --no-check) check='' && shift && continue ;;
    --unique) sudoku+=("$1") && shift && continue ;;
    -q | --quiet) quiet=-q && shift && continue ;;
    --*=*) set -- "${1%%=*}" "${1#*=}" "${@:2}" && continue ;;
    --sudoku | --maze | --arc | --domino | --num-aug | --subsample | --min-difficulty | --seed | --jobs | \
        --workers | --on-error | --rejects | --progress | --name | --progress-to)
        (($# > 1)) || die "$1 needs a value"
        ;;&
    --sudoku | --maze) source_of "${1#--}" "$2/train.csv" && source_of "${1#--}" "$2/test.csv" ;;
    --arc) source_of arc "$2" ;;
    --domino) number "$1" "$2" && source_of domino "$2" ;;
    --num-aug) number "$1" "$2" && num_aug=$2 ;;
    --subsample) number "$1" "$2" && sudoku+=("$1" "$2") ;;
    --min-difficulty) number "$1" "$2" && sudoku+=("$1" "$2") ;;
    --seed) number "$1" "$2" && seed=$2 ;;
    --jobs | --workers) number "$1" "$2" 1 && jobs=$2 ;;
    --on-error) on_error=$2 ;;
    --rejects) rejects=$2 ;;
    --progress) progress_option "$2" ;;
    --name | --progress-to) task_option "$1" "$2" ;;
    -*) die "unknown option $1; see --help" ;;
    *) positional+=("$1") && shift && continue ;;
    esac
    shift 2
done
check_on_error

# A task of a plan; ds-plan calls this with the inputs of the domain that is its name, and its part.
if [[ $mode == slice ]]; then
    out=${positional[-1]} inputs=("${positional[@]:0:${#positional[@]}-1}")
    keep_rejects puzzle-encode
    case $name in
    sudoku) encode=(--train "${inputs[0]}" --test "${inputs[1]}" --num-aug "$num_aug" "${sudoku[@]}" "${bad[@]}") ;;
    maze) encode=(--train "${inputs[0]}" --test "${inputs[1]}" --num-aug "$(at_most 7)" "${bad[@]}") ;;
    arc) encode=("${inputs[@]}" --num-aug "$num_aug" "${bad[@]}") ;;
    domino) encode=(--num-games "${inputs[0]}" --num-aug "$(at_most 6)") ;;
    esac
    make_part() {
        gristmill puzzle-encode "$name" "${encode[@]}" --seed "$seed" --jobs "${jobs:-1}" --progress never \
            "${report[@]}" '|' \
            npy-pack -o "$out" ${overwrite:+--overwrite} --progress never
    }
    run make_part
    exit
fi

((${#positional[@]} == 1)) || die "OUT_DIR is required; see --help"
((${#domains[@]})) || die "nothing to build: give --sudoku, --maze, --arc or --domino"
[[ ${#sudoku[@]} == 0 || " ${domains[*]} " == *" sudoku "* ]] || die "${sudoku[0]} is for --sudoku"
[[ -z $overwrite || -z $resume ]] || die "--overwrite and --resume exclude each other"
out=${positional[0]}

need_filters gristmill puzzle-encode npy-pack ds-plan ${check:+ds-check}

targets=("${domains[@]/#/$out/}") made=set
may_build "$out"
make_all "$out" '' ds-plan make "$out" --product puzzles --input . "${sources[@]}" -- "$self" \
    --num-aug "$num_aug" --seed "$seed" "${sudoku[@]}" ${on_error:+--on-error "$on_error"}
