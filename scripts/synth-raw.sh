#!/usr/bin/env bash
# The raw half of the SYNTH pipeline: all files of raw rows below a directory to shards of Harmony
# conversations in Parquet, and their manifest.
set -euo pipefail

usage() {
    cat <<'EOT2'
Usage: scripts/synth-raw.sh RAW_DIR OUT_DIR [options]

  RAW_DIR holds Parquet files (or NDJSON: *.jsonl, *.ndjson) of raw rows, in folders too; OUT_DIR
  receives synth_harmony_shard_NN.parquet and manifest.json.

  --shards N                shards; whole files are divided among them, in their order (1)
  --jobs N, --workers N     shards side by side (all processors)
  --row-group-rows N        rows of each row group (1000)
  --max-rows N              the first N rows of each shard
  --overwrite               replace what is in OUT_DIR
  --resume                  keep the shards that are finished with the same settings
  --on-error fail|skip      what to do with a bad row (fail)
  --dataset NAME            what the manifest says of the source (PleIAs/SYNTH)
  --split NAME              and of its split (train)
  -h, --help

  These go to synth-harmony, whose --help explains them: --reasoning-effort, --model-identity,
  --knowledge-cutoff, --conversation-start-date, --developer-instructions, --omit-developer,
  --metadata-fields, --keep-without-reasoning, --reference.

  Exit codes: 0 done, 1 bad data, 2 usage or a missing input, 75 not now, try again.
EOT2
}

# shellcheck source=scripts/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

shards=1 jobs='' overwrite='' resume='' flags=() source=() positional=()
while (($#)); do
    case $1 in
    -h | --help) usage && exit 0 ;;
    --overwrite) overwrite=1 && shift && continue ;;
    --resume) resume=1 && shift && continue ;;
    --omit-developer | --keep-without-reasoning) flags+=("$1") && shift && continue ;;
    --*=*) set -- "${1%%=*}" "${1#*=}" "${@:2}" && continue ;;
    -*) (($# > 1)) || die "$1 needs a value" ;;&
    --shards) number "$1" "$2" 1 && shards=$((10#$2)) ;;
    --jobs | --workers) number "$1" "$2" 1 && jobs=$2 ;;
    --row-group-rows) number "$1" "$2" 1 && flags+=("$1" "$2") ;;
    --max-rows) number "$1" "$2" && flags+=(--limit "$2") ;;
    --dataset | --split) source+=("$1" "$2") ;;
    --on-error | --reasoning-effort | --model-identity | --knowledge-cutoff | --conversation-start-date | \
        --developer-instructions | --metadata-fields | --reference)
        flags+=("$1" "$2")
        ;;
    -*) die "unknown option $1; see --help" ;;
    *) positional+=("$1") && shift && continue ;;
    esac
    shift 2
done
((${#positional[@]} == 2)) || die "RAW_DIR and OUT_DIR are required; see --help"
[[ -z $overwrite || -z $resume ]] || die "--overwrite and --resume exclude each other"
raw=${positional[0]} out=${positional[1]}

need_filters synth-harmony ds-manifest
[[ -d $raw ]] || die "$raw: no such directory"
[[ -z $(ls -A "$out" 2>/dev/null) || -n $overwrite || -n $resume ]] ||
    die "$out is not empty; try: --resume, or --overwrite"

# Shards of an earlier run with more of them would be among these.
expected=()
for ((index = 0; index < shards; index++)); do
    expected+=("$(printf 'synth_harmony_shard_%02d.parquet' "$index")")
done
for file in "$out"/*.parquet; do
    [[ -e $file && " ${expected[*]} " != *" ${file##*/} "* ]] || continue
    die "$file is none of the $shards shards; try: another directory, or remove it"
done

# run_shard INDEX
run_shard() {
    local quiet=() mode=()
    [[ -t 2 && $shards == 1 ]] || quiet=(-q)
    [[ -z $overwrite ]] || mode=(--overwrite)
    [[ -z $resume ]] || mode=(--resume)
    synth-harmony "$raw" --shard "$1/$shards" -o "$out/${expected[$1]}" --jobs "$threads" \
        "${mode[@]}" "${flags[@]}" "${quiet[@]}"
}

# The manifest says that all is complete: it is removed first and written last.
rm -f "$out/manifest.json"

jobs=${jobs:-$(nproc)}
side_by_side "$jobs" run_shard "${!expected[@]}"
((failed == 0)) || die "a shard failed; finished ones are kept for --resume" "$failed"

run ds-manifest "$out" "${source[@]}"
