#!/usr/bin/env bash
# The SYNTH pipeline over all shards of a directory: Harmony conversations in Parquet to Megatron
# datasets with masks, split by id, and their manifest. A smoke build is the same with a limit.
set -euo pipefail

usage() {
    cat <<'EOT'
Usage: scripts/synth-kd.sh INPUT_DIR ROOT [options]
       scripts/synth-kd.sh RAW_DIR ROOT --raw [--shards N] [options]
       scripts/synth-kd.sh plan INPUT_DIR ROOT [--tasks N | --rows-per-task N] [options] > TASKS
       scripts/synth-kd.sh status ROOT [TASKS] [--todo]
       scripts/synth-kd.sh finish ROOT [TASKS] [--jobs N] [--delete-parts] [--no-check]

  INPUT_DIR holds manifest.json and synth_harmony_shard_NN.parquet; ROOT receives
  {train,valid}/shard_NN_{tokens,lossmask,span}.{bin,idx}, parts/ and manifest.json.

  With --raw the input is a directory of raw rows, as for scripts/synth-raw.sh, whose options for
  synth-harmony are taken too; no conversations are written. ROOT then holds what the shards of
  synth-raw.sh would have given. --max-rows-per-shard counts raw rows, and --max-rows is not taken.

  --valid-fraction F        share of the ids that goes to valid (0.001)
  --jobs N, --workers N     shards side by side (all processors)
  --max-rows N              the first N rows of all shards together
  --max-rows-per-shard N    the first N rows of each shard
  --max-tokens N            about N tokens: each shard stops after the row that reaches its share
  --overwrite               replace what is in ROOT
  --resume                  keep the shards that are finished with the same settings
  --on-error fail|skip      what to do with a bad record (fail)
  --no-input-check          do not compare the shards with INPUT_DIR/manifest.json
  --no-check                do not run ds-check on ROOT
  -q, --quiet               print no summary
  -h, --help

  On many machines (docs/cluster.md): `plan` prints one shell command a line for any engine, each a
  task that may be run anywhere, again, and twice at once. `status` says of each: done, missing,
  running, stale or failed; with --todo it prints the lines to be run again. `finish` joins the parts
  to what one machine would have made, checks it, and with --delete-parts then deletes ROOT/tasks.
  plan again keeps what is done, and plans what is new in INPUT_DIR.

  --tasks N                 about N tasks of equal size (tasks of about 1 GiB of decoded Parquet)
  --rows-per-task N         tasks of N rows

  GRISTMILL_TO=ndjson sends NDJSON instead of Arrow through the pipes.

  Exit codes: 0 done, 1 bad data (if ROOT fails ds-check, it is kept), 2 usage or a missing input,
  75 not now, try again.
EOT
}

# shellcheck source=scripts/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

choose_mode "$@"
[[ $mode == build ]] || shift

fraction=0.001 jobs='' max_rows='' max_rows_per_shard='' max_tokens=''
overwrite='' resume='' on_error=fail check=1 no_input_check='' name=- slice=- size=() summary=''
raw='' shards='' convert=()
positional=()
while (($#)); do
    case $1 in
    -h | --help) usage && exit 0 ;;
    --overwrite) overwrite=1 && shift && continue ;;
    --resume) resume=1 && shift && continue ;;
    --no-check) check='' && shift && continue ;;
    -q | --quiet) summary=-q && shift && continue ;;
    --raw) raw=1 && shift && continue ;;
    --omit-developer | --keep-without-reasoning) convert+=("$1") && shift && continue ;;
    --no-input-check) no_input_check=$1 && shift && continue ;;
    --*=*) set -- "${1%%=*}" "${1#*=}" "${@:2}" && continue ;;
    --valid-fraction | --jobs | --workers | --max-rows | --max-rows-per-shard | --max-tokens | --on-error | \
        --tasks | --rows-per-task | --name | --slice | --shards | --reasoning-effort | --model-identity | \
        --knowledge-cutoff | --conversation-start-date | --developer-instructions | --metadata-fields | \
        --reference)
        (($# > 1)) || die "$1 needs a value"
        ;;&
    --tasks | --rows-per-task)
        [[ $mode == plan ]] || die "$1 is for: synth-kd.sh plan"
        number "$1" "$2" 1 && size=("$1" "$2")
        ;;
    --shards) number "$1" "$2" 1 && shards=$((10#$2)) ;;
    --reasoning-effort | --model-identity | --knowledge-cutoff | --conversation-start-date | \
        --developer-instructions | --metadata-fields | --reference)
        convert+=("$1" "$2")
        ;;
    --name) name=$2 ;;
    --slice) slice=$2 ;;
    --valid-fraction) fraction=$2 ;;
    --on-error) on_error=$2 ;;
    --jobs | --workers) number "$1" "$2" 1 && jobs=$2 ;;
    --max-rows) number "$1" "$2" && max_rows=$2 ;;
    --max-rows-per-shard) number "$1" "$2" && max_rows_per_shard=$2 ;;
    --max-tokens) number "$1" "$2" && max_tokens=$2 ;;
    -*) die "unknown option $1; see --help" ;;
    *) positional+=("$1") && shift && continue ;;
    esac
    shift 2
done
((${#positional[@]} == 2)) || die "INPUT_DIR and ROOT are required; see --help"
[[ -z $overwrite || -z $resume ]] || die "--overwrite and --resume exclude each other"
input=${positional[0]} root=${positional[1]}
[[ -n $raw || -z $shards${convert[*]} ]] || die "--shards and the options of synth-harmony are for --raw"
[[ -z $raw || $mode == build ]] || die "--raw is for one machine; try: synth-raw.sh, then $mode"
[[ -z $raw || -z $max_rows ]] || die "--max-rows is not for --raw; try: --max-rows-per-shard"

need_filters ${raw:+synth-harmony} harmony-tok span-mask mmidx-write ds-cat ds-manifest ds-plan ${check:+ds-check}
export GRISTMILL_TO=${GRISTMILL_TO:-arrow}

# run_shard NAME FILE ROWS TOKENS SLICE: one shard, or a slice of it; - is no limit.
run_shard() {
    set -o pipefail
    local name=$1 file=$2 rows=$3 tokens=$4 slice=$5 limits=() source=() quiet=()
    [[ $rows == - ]] || limits+=(--limit "$rows") source+=(--source-limit "$rows")
    [[ $slice == - ]] || limits+=(--slice "$slice") source+=(--source-slice "$slice")
    # In NDJSON no records are no bytes, as if harmony-tok had died.
    local empty=()
    if [[ $GRISTMILL_TO == ndjson && $(ds-cat --count "$file" "${limits[@]}") == 0 ]]; then
        empty=(--allow-empty)
    fi
    [[ $tokens == - ]] || limits+=(--max-tokens "$tokens") source+=(--source-max-tokens "$tokens")
    source+=(--source "$file" ${no_input_check:+"$no_input_check"})
    local part=(mmidx-write --root "$root" --shard "$name" --valid-fraction "$fraction")
    if [[ -n $resume ]] && "${part[@]}" --status "${source[@]}" >/dev/null 2>&1; then
        return 0
    fi
    [[ -t 2 ]] || quiet=(-q)
    [[ -z $overwrite$resume ]] || part+=(--overwrite)
    harmony-tok "$file" "${limits[@]}" ${no_input_check:+"$no_input_check"} --on-error "$on_error" \
        --jobs "$threads" "${quiet[@]}" |
        span-mask "${empty[@]}" --progress never |
        "${part[@]}" "${source[@]}" "${empty[@]}" --progress never && return 0
    first_cause "${PIPESTATUS[@]}"
}

# run_raw_shard INDEX: one shard of raw rows, whose files are those of the same shard of synth-raw.sh.
run_raw_shard() {
    set -o pipefail
    local name source=() quiet=() empty=() file
    name=$(printf 'shard_%02d' "$1")
    [[ -z $max_tokens ]] || source+=(--source-max-tokens "$tokens")
    while IFS= read -r -d '' file; do source+=(--source "$file"); done < <(parquet_of "$1")
    local part=(mmidx-write --root "$root" --shard "$name" --valid-fraction "$fraction" --no-input-check)
    if [[ -n $resume ]] && "${part[@]}" --status "${source[@]}" >/dev/null 2>&1; then
        return 0
    fi
    [[ -t 2 && $shards == 1 ]] || quiet=(-q)
    [[ -z $overwrite$resume ]] || part+=(--overwrite)
    # In NDJSON no records are no bytes, as if synth-harmony had died.
    if [[ $GRISTMILL_TO == ndjson && $(no_conversations "$1") == $'0\n0' ]]; then
        empty=(--allow-empty)
    fi
    conversations "$1" "${quiet[@]}" |
        harmony-tok "${empty[@]}" --on-error "$on_error" ${max_tokens:+--max-tokens "$tokens"} \
            --jobs "$threads" -q --progress never |
        span-mask "${empty[@]}" --progress never |
        "${part[@]}" "${source[@]}" "${empty[@]}" --progress never && return 0
    first_cause "${PIPESTATUS[@]}"
}

# conversations INDEX [-q]: those of a shard of raw rows.
conversations() {
    synth-harmony "$input" --shard "$1/$shards" ${max_rows_per_shard:+--limit "$max_rows_per_shard"} \
        "${convert[@]}" --jobs "$threads" --on-error "$on_error" "${@:2}"
}

# no_conversations INDEX: 0 and 0 if a shard ends well and has none.
no_conversations() {
    conversations "$1" -q 2>/dev/null | head -c 1 | wc -c
    echo "${PIPESTATUS[0]}"
}

# parquet_of INDEX: the Parquet files of a shard, as synth-harmony divides them.
parquet_of() {
    local files=()
    mapfile -d '' files < <(find -L "$input" -mindepth 1 -name '.*' -prune -o -type f -name '*.parquet' -print0 |
        LC_ALL=C sort -z)
    local each=$((${#files[@]} / shards)) more=$((${#files[@]} % shards))
    local start=$(($1 * each + ($1 < more ? $1 : more))) count=$((each + ($1 < more)))
    ((count == 0)) || printf '%s\0' "${files[@]:start:count}"
}

# build_raw: all shards of raw rows.
build_raw() {
    [[ -d $input ]] || die "$input: no such directory"
    [[ -z $(ls -A "$root" 2>/dev/null) || -n $overwrite || -n $resume ]] ||
        die "$root is not empty; try: --resume, or --overwrite"
    rm -f "$root/manifest.json"
    jobs=${jobs:-$(nproc)} shards=${shards:-1}
    tokens=${max_tokens:+$(((max_tokens + shards - 1) / shards))}
    local indices=() names=() index
    for ((index = 0; index < shards; index++)); do
        indices+=("$index") names+=(--expect "$(printf 'shard_%02d' "$index")")
    done
    side_by_side "$jobs" run_raw_shard "${indices[@]}"
    ((failed == 0)) || die "a shard failed; finished ones are kept for --resume" "$failed"
    run ds-manifest "$root" ${summary:+"$summary"} "${names[@]}" --dataset-dir "$input" --glob '*.parquet' \
        ${max_tokens:+--max-tokens "$max_tokens"}
    [[ -z $check ]] || closing_check "$root" --jobs "$jobs" || die "$root has not passed ds-check" $?
}

# check_options: that the filters take these options; they would say so of every task.
check_options() {
    local code=0
    mmidx-write --root "$root" --shard none --valid-fraction "$fraction" --status >/dev/null 2>&1 || code=$?
    ((code != 2)) || die "--valid-fraction $fraction: expected a decimal number from 0 to 1"
    [[ $on_error == fail || $on_error == skip ]] || die "--on-error $on_error: expected fail or skip"
}

# A task of a plan; ds-plan calls this.
if [[ $mode == slice ]]; then
    threads=${jobs:-1}
    run run_shard "$name" "$input" "${max_rows:--}" "${max_tokens:--}" "$slice"
    exit
fi

if [[ -n $raw ]]; then
    build_raw
    exit
fi

[[ -f $input/manifest.json ]] || die "$input/manifest.json is missing: the input's manifest must be recorded"
glob='synth_harmony_shard_*.parquet'
shopt -s nullglob
files=("$input"/$glob)
shopt -u nullglob
((${#files[@]})) || die "no $glob in $input"
[[ $mode == plan || -z $(ls -A "$root" 2>/dev/null) || -n $overwrite || -n $resume ]] ||
    die "$root is not empty; try: --resume, or --overwrite"

# A shard that the manifest names and that is not there would be missed by nobody.
[[ -n $no_input_check ]] || ds-manifest --check-input "$input" || exit

if [[ $mode == plan ]]; then
    [[ -z $resume ]] || die "plan --resume: a plan keeps what is done anyway"
    check_options
    for file in "${files[@]}"; do
        name=${file##*/synth_harmony_}
        size+=(--source "${name%.parquet}=$file")
    done
    exec ds-plan make "$root" --product kd-root --input "$input" --glob "$glob" "${size[@]}" \
        ${max_rows:+--max-rows "$max_rows"} ${max_tokens:+--max-tokens "$max_tokens"} \
        ${max_rows_per_shard:+--max-rows-per-shard "$max_rows_per_shard"} \
        ${overwrite:+--overwrite} ${no_input_check:+"$no_input_check"} -- \
        "$here/synth-kd.sh" --valid-fraction "$fraction" --on-error "$on_error" \
        ${jobs:+--jobs "$jobs"} ${no_input_check:+"$no_input_check"}
fi

# One line for each shard: its name, its file, its limits. Rows are divided in name order.
plan=() names=() left=$max_rows
for file in "${files[@]}"; do
    name=${file##*/synth_harmony_} && name=${name%.parquet}
    rows=$max_rows_per_shard
    if [[ -n $max_rows ]]; then
        there=$(ds-cat --count "$file")
        share=$((left < there ? left : there))
        left=$((left - share))
        rows=$((${rows:-$share} < share ? rows : share))
    fi
    tokens=${max_tokens:+$(((max_tokens + ${#files[@]} - 1) / ${#files[@]}))}
    plan+=("$name"$'\t'"$file"$'\t'"${rows:--}"$'\t'"${tokens:--}"$'\t-')
    names+=(--expect "$name")
done

# The root's manifest says that all is complete: it is removed first and written last.
rm -f "$root/manifest.json"

# Shards side by side, and in each as many threads as are left.
jobs=${jobs:-$(nproc)}
run_line() {
    local shard
    IFS=$'\t' read -ra shard <<<"$1"
    run_shard "${shard[@]}"
}
side_by_side "$jobs" run_line "${plan[@]}"
((failed == 0)) || die "a shard failed; finished ones are kept for --resume" "$failed"

run ds-manifest "$root" ${summary:+"$summary"} "${names[@]}" --dataset-dir "$input" --glob "$glob" \
    ${max_rows:+--max-rows "$max_rows"} ${max_tokens:+--max-tokens "$max_tokens"}

[[ -z $check ]] || closing_check "$root" --input-manifest "$input/manifest.json" --jobs "$jobs" ||
    die "$root has not passed ds-check" $?
