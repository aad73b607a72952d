#!/usr/bin/env bash
# The raw half of the SYNTH pipeline: all files of raw rows below a directory to shards of Harmony
# conversations in Parquet, and their manifest.
set -euo pipefail

usage() {
    cat <<'EOT2'
Usage: scripts/synth-raw.sh RAW_DIR... OUT_DIR [options]
       scripts/synth-raw.sh plan RAW_DIR OUT_DIR [--tasks N | --rows-per-task N]
                            [options] > TASKS
       scripts/synth-raw.sh status OUT_DIR [TASKS] [--todo | --watch]
       scripts/synth-raw.sh finish OUT_DIR [TASKS] [--jobs N] [--delete-parts]
                            [--rejects FILE]

  RAW_DIR is a file, - for stdin, or a folder that holds Parquet files (or
  NDJSON: *.jsonl, *.ndjson) of raw rows, in folders too; OUT_DIR receives
  synth_harmony_shard_NN.parquet and manifest.json.

  --shards N                shards; whole files are divided among them, in their
                            order; fewer files of JSONL than N are cut at lines
                            (1)
  --jobs N, --workers N     shards side by side (all processors)
  --row-group-rows N        rows of each row group (1000)
  --max-rows N              the first N rows of each shard
  --overwrite               replace what is in OUT_DIR
  --resume                  keep what is finished with the same settings, of the
                            same input
  --on-error fail|skip      what to do with a bad row (fail)
  --rejects FILE            write skipped records and their reasons as NDJSON
                            (none for shards that --resume keeps)
  --dataset NAME            what the manifest says of the source (PleIAs/SYNTH)
  --split NAME              and of its split (train)
  -q, --quiet               print only errors
  --progress WHEN           show progress: auto, always or never (auto)
  -h, --help

@further

  On many machines (docs/cluster.md): `plan` prints one shell command a line,
  each a task for any engine; `status` says what is done; `finish` joins the
  parts to the same bytes as on one machine.

  --tasks N                 about N tasks of equal size (tasks of about 1 GiB of
                            decoded Parquet)
  --rows-per-task N         tasks of N rows (JSONL is cut by --tasks alone)

  Examples:
    scripts/synth-raw.sh data/raw data/synth_harmony --shards 8
    scripts/synth-raw.sh data/raw data/smoke --max-rows 1000 --on-error skip

  Exit codes: 0 done, 1 bad data, 2 usage or a missing input, 75 temporary
  failure, try again.
EOT2
}

# shellcheck source=scripts/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

choose_mode "$@"
[[ $mode == build ]] || shift

shards=1 jobs='' overwrite='' resume='' check='' max_rows='' size=()
pipeline=(synth-harmony) groups=() recorded=() positional=()
while (($#)); do
    case $1 in
    -h | --help) help && exit 0 ;;
    --overwrite) overwrite=1 && shift && continue ;;
    --resume) resume=1 && shift && continue ;;
    -q | --quiet) quiet=-q && shift && continue ;;
    --*=*) set -- "${1%%=*}" "${1#*=}" "${@:2}" && continue ;;
    --shards | --row-group-rows | --jobs | --workers | --max-rows | --tasks | --rows-per-task | --dataset | --split | --on-error | \
        --rejects | --progress | --name | --shard | --slice | --known-files | --progress-to)
        (($# > 1)) || die "$1 needs a value"
        ;;&
    --shards) number "$1" "$2" 1 && shards=$((10#$2)) ;;
    --jobs | --workers) number "$1" "$2" 1 && jobs=$2 ;;
    --row-group-rows) number "$1" "$2" 1 && groups=("$1" "$2") ;;
    --max-rows) number "$1" "$2" && max_rows=$2 ;;
    --tasks | --rows-per-task) number "$1" "$2" 1 && size=("$1" "$2") ;;
    --dataset | --split) recorded+=("$1" "$2") ;;
    --on-error) on_error=$2 ;;
    --rejects) rejects=$2 ;;
    --progress) progress_option "$2" ;;
    --name | --shard | --slice | --known-files | --progress-to) task_option "$1" "$2" ;;
    -) positional+=("$1") && shift && continue ;;
    -*) pass_on "$@" && shift "${words[$1]}" && continue ;;
    *) positional+=("$1") && shift && continue ;;
    esac
    shift 2
done
divide_inputs RAW_DIR OUT_DIR
[[ -z $overwrite || -z $resume ]] || die "--overwrite and --resume exclude each other"
out=${positional[-1]}

check_on_error
need_filters synth-harmony ds-manifest ds-plan
named=()
for file in "${inputs[@]}"; do
    is_there "$file" && [[ -d $file || -f $file ]] || die "$file: no such file or directory"
    ((${#inputs[@]} == 1)) || named+=(--source "input=$file")
done

# A task of a plan; ds-plan calls this.
if [[ $mode == slice ]]; then
    keep_rejects synth-harmony
    run synth-harmony "${inputs[@]}" --shard "$shard" "${known[@]}" ${slice:+--slice "$slice"} ${max_rows:+--limit "$max_rows"} \
        -o "$out/synth_harmony_$name.parquet" ${overwrite:+--overwrite} --jobs "${jobs:-1}" "${groups[@]}" "${passed[@]}" \
        "${bad[@]}" -q "${report[@]}"
    exit
fi

may_build "$out"
check_passed
# Shards of an earlier run with more of them would be among these.
for file in "$out"/*.parquet; do
    number=${file##*/synth_harmony_shard_} number=${number%.parquet}
    [[ ! -e $file ]] || { [[ $number =~ ^[0-9]+$ ]] && ((10#$number < shards)); } ||
        die "$file is none of the $shards shards; try: another directory, or remove it"
done
make_all "$out" "$input" ds-plan make "$out" --product conversations --input "$input" "${named[@]}" --raw-shards "$shards" \
    "${size[@]}" "${recorded[@]}" ${max_rows:+--max-rows-per-shard "$max_rows"} -- \
    "$self" "${groups[@]}" "${passed[@]}" ${on_error:+--on-error "$on_error"}
