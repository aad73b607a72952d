#!/usr/bin/env bash
# The SYNTH pipeline over all shards of a directory: Harmony conversations in Parquet to Megatron
# datasets with masks, split by id, and their manifest. A smoke build is the same with a limit.
set -euo pipefail

usage() {
    cat <<'EOT'
Usage: scripts/synth-kd.sh INPUT_DIR ROOT [options]

  INPUT_DIR holds manifest.json and synth_harmony_shard_NN.parquet; ROOT receives
  {train,valid}/shard_NN_{tokens,lossmask,span}.{bin,idx}, parts/ and manifest.json.

  --valid-fraction F        share of the ids that goes to valid (0.001)
  --jobs N                  shards side by side (all processors)
  --max-rows N              the first N rows of all shards together
  --max-rows-per-shard N    the first N rows of each shard
  --max-tokens N            about N tokens: each shard stops after the row that reaches its share
  --overwrite               replace what is in ROOT
  --resume                  keep the shards that are finished with the same settings
  --on-error fail|skip      what to do with a bad record (fail)
  --no-input-check          do not compare the shards with INPUT_DIR/manifest.json
  --no-check                do not run ds-check on ROOT
  -h, --help

  GRISTMILL_TO=ndjson sends NDJSON instead of Arrow through the pipes.

  Exit codes: 0 done, 1 bad data (if ROOT fails ds-check, it is kept), 2 usage or a missing input,
  75 not now, try again.
EOT
}

die() {
    echo "synth-kd.sh: $1" >&2
    exit "${2:-2}"
}

number() {
    [[ $2 =~ ^[0-9]+$ ]] || die "$1 needs a number, not '$2'"
}

fraction=0.001 jobs=$(nproc) max_rows='' max_rows_per_shard='' max_tokens=''
overwrite='' resume='' on_error=fail check=1 no_input_check=''
positional=()
while (($#)); do
    case $1 in
    -h | --help) usage && exit 0 ;;
    --overwrite) overwrite=1 && shift && continue ;;
    --resume) resume=1 && shift && continue ;;
    --no-check) check='' && shift && continue ;;
    --no-input-check) no_input_check=$1 && shift && continue ;;
    --*=*) set -- "${1%%=*}" "${1#*=}" "${@:2}" && continue ;;
    --valid-fraction | --jobs | --max-rows | --max-rows-per-shard | --max-tokens | --on-error)
        (($# > 1)) || die "$1 needs a value"
        ;;&
    --valid-fraction) fraction=$2 ;;
    --on-error) on_error=$2 ;;
    --jobs) number "$1" "$2" && jobs=$2 ;;
    --max-rows) number "$1" "$2" && max_rows=$2 ;;
    --max-rows-per-shard) number "$1" "$2" && max_rows_per_shard=$2 ;;
    --max-tokens) number "$1" "$2" && max_tokens=$2 ;;
    -*) die "unknown option $1; see --help" ;;
    *) positional+=("$1") && shift && continue ;;
    esac
    shift 2
done
((${#positional[@]} == 2)) || die "INPUT_DIR and ROOT are required; see --help"
((jobs > 0)) || die "--jobs needs at least 1"
[[ -z $overwrite || -z $resume ]] || die "--overwrite and --resume exclude each other"
input=${positional[0]} root=${positional[1]}

# The filters built here come first; installed ones otherwise.
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
[[ ! -x $here/target/release/harmony-tok ]] || PATH=$here/target/release:$PATH
command -v harmony-tok >/dev/null || die "harmony-tok is not there; try: cargo build --release"

[[ -f $input/manifest.json ]] || die "$input/manifest.json is missing: the input's manifest must be recorded"
glob='synth_harmony_shard_*.parquet'
shopt -s nullglob
files=("$input"/$glob)
shopt -u nullglob
((${#files[@]})) || die "no $glob in $input"
[[ -z $(ls -A "$root" 2>/dev/null) || -n $overwrite || -n $resume ]] ||
    die "$root is not empty; try: --resume, or --overwrite"

# A shard that the manifest names and that is not there would be missed by nobody.
[[ -n $no_input_check ]] || ds-manifest --check-input "$input" || exit

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
    plan+=("$name"$'\t'"$file"$'\t'"$rows"$'\t'"$tokens")
    names+=(--expect "$name")
done

# One shard. Every stage's failure counts; the earliest gives the exit code.
run_shard() {
    set -o pipefail
    local name file rows tokens limits=() source=() quiet=()
    IFS=$'\t' read -r name file rows tokens <<<"${1//$'\t\t'/$'\t-\t'}"
    [[ ${rows:--} == - ]] || limits+=(--limit "$rows") source+=(--source-limit "$rows")
    [[ -z ${tokens:-} ]] || limits+=(--max-tokens "$tokens") source+=(--source-max-tokens "$tokens")
    source+=(--source "$file" ${NO_INPUT_CHECK:+"$NO_INPUT_CHECK"})
    local part=(mmidx-write --root "$ROOT" --shard "$name" --valid-fraction "$FRACTION")
    if [[ -n $RESUME ]] && "${part[@]}" --status "${source[@]}" >/dev/null 2>&1; then
        return 0
    fi
    [[ -t 2 ]] || quiet=(-q)
    [[ -z $OVERWRITE$RESUME ]] || part+=(--overwrite)
    # NDJSON has no end marker: the number of records replaces it, if known.
    if [[ $GRISTMILL_TO == ndjson && $ON_ERROR == fail && -z ${tokens:-} ]]; then
        local expected
        expected=$(ds-cat --count "$file" "${limits[@]}") || return
        part+=(--expect-records "$expected")
    fi
    local status
    harmony-tok "$file" "${limits[@]}" ${NO_INPUT_CHECK:+"$NO_INPUT_CHECK"} --on-error "$ON_ERROR" "${quiet[@]}" |
        span-mask --progress never |
        "${part[@]}" "${source[@]}" --progress never && return 0
    status=("${PIPESTATUS[@]}")
    # Otherwise a cut NDJSON stream looks whole to mmidx-write: its part must not count.
    ((status[2])) || rm -f "$ROOT/parts/$name.json"
    # A stage that only lost its reader (SIGPIPE, 141) or its writer (75) is not the cause.
    for code in "${status[@]}"; do
        ((code == 0 || code == 75 || code == 141)) || return "$code"
    done
    return 75
}
export -f run_shard
export GRISTMILL_TO=${GRISTMILL_TO:-arrow}
export ROOT=$root FRACTION=$fraction OVERWRITE=$overwrite RESUME=$resume ON_ERROR=$on_error NO_INPUT_CHECK=$no_input_check

# The root's manifest says that all is complete: it is removed first and written last.
rm -f "$root/manifest.json"

failed=0
if command -v parallel >/dev/null && ((jobs > 1 && ${#plan[@]} > 1)); then
    # GNU parallel's own exit code counts failures; the codes of the shards are in its job log.
    log=$(mktemp)
    trap 'rm -f "$log"' EXIT
    printf '%s\n' "${plan[@]}" |
        SHELL=$BASH parallel --no-notice --jobs "$jobs" --joblog "$log" --halt soon,fail=1 run_shard {} ||
        failed=$(awk 'NR > 1 && $7 != 0 { print $7; exit }' "$log")
    failed=${failed:-75}
else
    # Each shard in a process group of its own, so that all of it can be stopped.
    set -m
    stop() {
        trap - INT TERM
        for job in $(jobs -p); do kill -- "-$job" 2>/dev/null || true; done
        kill -s "$1" $$
    }
    trap 'stop INT' INT
    trap 'stop TERM' TERM
    running=0
    reap() {
        local code=0
        wait -n || code=$?
        ((code == 0 || failed)) || failed=$code
        running=$((running - 1))
    }
    for line in "${plan[@]}"; do
        ((running < jobs)) || reap
        ((failed == 0)) || break
        run_shard "$line" &
        running=$((running + 1))
    done
    while ((running)); do reap; done
fi
((failed == 0)) || die "a shard failed; finished ones are kept for --resume" "$failed"

ds-manifest "$root" "${names[@]}" --dataset-dir "$input" --glob "$glob" \
    ${max_rows:+--max-rows "$max_rows"} ${max_tokens:+--max-tokens "$max_tokens"}

[[ -n $check ]] || exit 0
code=0
ds-check "$root" --input-manifest "$input/manifest.json" --jobs "$jobs" --quiet >&2 || code=$?
((code == 0)) || die "$root has not passed ds-check" "$code"
