#!/usr/bin/env bash
# The SYNTH pipeline over all shards of a directory: Harmony conversations in Parquet to Megatron
# datasets with masks, split by id, and their manifest. A smoke build is the same with a limit.
set -euo pipefail

usage() {
    cat <<'EOT'
Usage: scripts/synth-kd.sh INPUT... ROOT [--shards N] [options]
       scripts/synth-kd.sh RAW_DIR... ROOT --raw [--shards N] [options]
       scripts/synth-kd.sh CHATS... ROOT --chat [--model DIR] [--shards N]
                           [options]
       scripts/synth-kd.sh plan INPUT ROOT [--tasks N | --rows-per-task N]
                           [options] > TASKS
       scripts/synth-kd.sh status ROOT [TASKS] [--todo | --watch]
       scripts/synth-kd.sh finish ROOT [TASKS] [--jobs N] [--delete-parts]
                           [--no-check] [--rejects FILE]
                           [--rows FORM --seq-length N]

  INPUT is a file or folder of conversations (Parquet, NDJSON, Arrow streams),
  each with an id and messages of Harmony, or - for stdin, which is kept in a
  file until the end; ROOT receives parts/, manifest.json and
  {train,valid}/shard_NN_{tokens,lossmask,span}.{bin,idx}.
  A folder with manifest.json and synth_harmony_shard_NN.parquet has those
  shards, which are compared with the manifest. All other files are recognised
  by their content. --policy chat accepts whatever the official renderer
  accepts; with --id-field NAME the ids are in that field.

  With --raw the input is a directory of raw rows, as for scripts/synth-raw.sh.
  No conversations are written: ROOT gets what the shards of synth-raw.sh would
  give. Limits of rows count raw rows; --max-rows needs Parquet.

  With --chat the input is a file or folder of chats in common shapes (OpenAI
  messages, ShareGPT, Alpaca, ...). They become conversations of gpt-oss, or,
  with --model DIR, a Hugging Face folder, tokens of that model by its own chat
  template (docs/any-model.md).

@further

  --span CHANNEL=ID         train on the assistant's messages in this channel
                            under this span id: commentary=3 for tool calls and
                            text beside them (repeatable)
  --valid-fraction F        share of the ids that goes to valid (0.001)
  --shards N                shards of raw rows, chats or other files: whole
                            files; fewer files of JSONL than N are cut at lines
                            (1)
  --jobs N, --workers N     shards side by side (all processors)
  --max-rows N              the first N rows of all shards together
  --max-rows-per-shard N    the first N rows of each shard
  --max-tokens N            about N tokens: each shard stops after the row that
                            reaches its share
  --overwrite               replace what is in ROOT
  --resume                  keep the shards that are finished with the same
                            settings, and say which are made again
  --rows FORM               at the end also ROOT/rows/{train,valid}.FORM.parquet
                            for trainers: rows (one sequence a row), trl or
                            megatron-bridge (repeatable); with a plan give it to
                            finish
  --seq-length N            positions of a row, as seq-pack takes it
  --overflow HOW            a sequence longer than a row: error, drop, split or
                            cut (error)
  --on-error fail|skip      what to do with a bad record (fail)
  --ignore-field NAME       ignore this field of messages (thinking, tool_calls,
                            weight, images, ...), which is otherwise refused;
                            with --chat also a field of records (repeatable)
  --content-is-text         take a content that looks like a JSON array of parts
                            as plain text
  --allow-unsupervised      write shards in which nothing is supervised
  --rejects FILE            write skipped records and their reasons as NDJSON
                            (none for shards that --resume keeps)
  --no-input-check          do not compare the shards with INPUT/manifest.json
  --no-check                do not run ds-check on ROOT
  -q, --quiet               print only errors, and what ds-check finds
  --progress WHEN           show progress: auto, always or never (auto)
  -h, --help

  On many machines (docs/cluster.md): `plan` prints one shell command a line for
  any engine. Each is a task: it may run anywhere, run again, and run twice at
  once. `status` prints each task's state: done, missing, running, stale or
  failed; with --todo it prints the lines to be run again. `finish` joins the
  parts to the same bytes as on one machine and checks them. ROOT/tasks is then
  deleted with --delete-parts. To plan again keeps what is done, and plans what
  is new in INPUT.

  --tasks N                 about N tasks of equal size (tasks of about 1 GiB of
                            decoded Parquet or of JSONL)
  --rows-per-task N         tasks of N rows

  Examples:
    scripts/synth-kd.sh data/synth_harmony out --valid-fraction 0.001
    scripts/synth-kd.sh data/raw out --raw --shards 8 --resume
    scripts/synth-kd.sh chats.jsonl out --chat --span commentary=3
    scripts/synth-kd.sh chats out --chat --model models/Qwen3-8B --turns split
    scripts/synth-kd.sh plan data/synth_harmony out --tasks 400 > tasks.txt

  Exit codes: 0 done, 1 bad data (if ROOT fails ds-check, it is kept), 2 usage
  or a missing input, 75 temporary failure, try again.
EOT
}

# shellcheck source=scripts/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

choose_mode "$@"
[[ $mode == build ]] || shift

fraction=0.001 jobs='' max_rows='' max_rows_per_shard='' max_tokens=''
overwrite='' resume='' on_error=fail check=1 no_input_check=''
raw='' reader='' model='' shards='' size=()
pipeline=(synth-harmony chat-harmony chat-tok harmony-tok span-mask mmidx-write seq-pack)
positional=()
while (($#)); do
    case $1 in
    -h | --help) help && exit 0 ;;
    --overwrite) overwrite=1 && shift && continue ;;
    --resume) resume=1 && shift && continue ;;
    --no-check) check='' && shift && continue ;;
    -q | --quiet) quiet=-q && shift && continue ;;
    --conversations) raw=$1 && shift && continue ;; # in the tasks of a plan
    --raw) raw=$1 reader=synth-harmony && shift && continue ;;
    --chat) raw=$1 reader=chat-harmony && shift && continue ;;
    --no-input-check) no_input_check=$1 && shift && continue ;;
    --*=*) set -- "${1%%=*}" "${1#*=}" "${@:2}" && continue ;;
    --valid-fraction | --jobs | --workers | --max-rows | --max-rows-per-shard | --max-tokens | --on-error | --rejects | --progress | \
        --tasks | --rows-per-task | --name | --shard | --slice | --known-files | --progress-to | --shards | --rows | --model)
        (($# > 1)) || die "$1 needs a value"
        ;;&
    --tasks | --rows-per-task) number "$1" "$2" 1 && size=("$1" "$2") ;;
    --rows) rows_option "$2" ;;
    --model) model=$2 ;;
    --shards) number "$1" "$2" 1 && shards=$((10#$2)) ;;
    --name | --shard | --slice | --known-files | --progress-to) task_option "$1" "$2" ;;
    --valid-fraction) fraction=$2 ;;
    --on-error) on_error=$2 ;;
    --rejects) rejects=$2 ;;
    --progress) progress_option "$2" ;;
    --jobs | --workers) number "$1" "$2" 1 && jobs=$2 ;;
    --max-rows) number "$1" "$2" && max_rows=$2 ;;
    --max-rows-per-shard) number "$1" "$2" && max_rows_per_shard=$2 ;;
    --max-tokens) number "$1" "$2" && max_tokens=$2 ;;
    -) positional+=("$1") && shift && continue ;;
    -*) pass_on "$@" && shift "${words[$1]}" && continue ;;
    *) positional+=("$1") && shift && continue ;;
    esac
    shift 2
done
divide_inputs INPUT ROOT
[[ -z $overwrite || -z $resume ]] || die "--overwrite and --resume exclude each other"
root=${positional[-1]} out=${positional[-1]}
check_on_error
[[ $mode != plan || ${#rows[@]} == 0 ]] || die "plan --rows: rows are made of the whole; try: finish --rows"
# A task says what it is; else shards of synth_harmony have their manifest, and all else is files.
if [[ $mode != slice && -z $raw ]]; then
    if ((${#inputs[@]} > 1)) || [[ -z $(compgen -G "$input/synth_harmony_shard_*.parquet") ]]; then
        raw=--conversations
    elif ! is_there "$input/manifest.json"; then
        [[ -n $no_input_check ]] ||
            die "$input/manifest.json is missing: the input's manifest must be recorded; try: --no-input-check, without it"
        raw=--conversations
    fi
fi
[[ -n $raw || -z $shards ]] || die "--shards: $input has shards of its own"
[[ $raw != --raw || " ${passed[*]} " != *" --id-field "* ]] || die "--id-field is not for --raw"
[[ -z $model || $raw == --chat ]] || die "--model is for --chat"
# What makes tokens of the input.
makers=(${reader:+"$reader"} harmony-tok)
[[ -z $model ]] || makers=(chat-tok) reader=chat-tok
# An option of a filter that is not there would do nothing.
pipeline=("${makers[@]}" span-mask mmidx-write seq-pack)
options_of '' vain
if ((${#vain[@]})); then
    [[ -z $model || ${vain[0]} != --thinking ]] || die "--thinking is not for --model; try: --turns, with fit for split"
    [[ -z $model ]] || die "${vain[0]} is not for --model"
    readers=(${takes[synth-harmony ${vain[0]}]+--raw} ${takes[chat-harmony ${vain[0]}]+--chat})
    ((${#readers[@]})) || readers=(--model)
    die "${vain[0]} is for ${readers[0]}${readers[1]+ and ${readers[1]}}"
fi
need_filters "${makers[@]}" gristmill span-mask mmidx-write ds-cat ds-manifest ds-plan ${check:+ds-check} ${rows:+seq-pack}
check_rows
# Tasks make no rows.
unset 'pipeline[-1]'

# make_part: a task of a plan, which is a shard or a slice of one, into a root of its own.
make_part() {
    local limits=(${max_rows:+--limit "$max_rows"} ${slice:+--slice "$slice"})
    keep_rejects harmony-tok
    local conversations tokens spans masks
    options_of "$reader" conversations
    options_of harmony-tok tokens
    options_of span-mask spans
    options_of mmidx-write masks
    local tokenize=(harmony-tok "${bad[@]}" --jobs "${jobs:-1}" -q "${report[@]}"
        ${max_tokens:+--max-tokens "$max_tokens"} "${tokens[@]}")
    local mask=(span-mask "${spans[@]}" --progress never)
    local part=(mmidx-write --root "$root" --shard "$name" --valid-fraction "$fraction" ${overwrite:+--overwrite}
        "${masks[@]}" --progress never)
    if [[ -z $raw ]]; then
        tokenize+=("$input" "${limits[@]}" ${no_input_check:+"$no_input_check"})
        gristmill "${tokenize[@]}" '|' "${mask[@]}" '|' "${part[@]}"
        return
    fi
    limits=("${inputs[@]}" --shard "$shard" --hash-inputs "${known[@]}" "${limits[@]}")
    if [[ $raw == --conversations ]]; then
        gristmill "${tokenize[@]}" "${limits[@]}" --no-input-check '|' "${mask[@]}" '|' "${part[@]}"
        return
    fi
    keep_rejects "$reader"
    local read=("$reader" "${limits[@]}" "${conversations[@]}" "${bad[@]}" --jobs "${jobs:-1}" --progress never
        "${report[@]}")
    if [[ -n $model ]]; then
        read+=(--model "$model" ${max_tokens:+--max-tokens "$max_tokens"})
        gristmill "${read[@]}" '|' "${mask[@]}" '|' "${part[@]}" --model "$model"
    else
        gristmill "${read[@]}" '|' "${tokenize[@]}" '|' "${mask[@]}" '|' "${part[@]}"
    fi
}

# check_options: that the filters take these options; they would say so of every task.
check_options() {
    mmidx-write --valid-fraction "$fraction" --help >/dev/null 2>&1 ||
        die "--valid-fraction $fraction: expected a decimal number from 0 to 1"
    check_passed
    [[ -z $model ]] || check_model
}

# check_model: that the model can be read, with its template and what is set.
check_model() {
    local given told code=0
    options_of chat-tok given
    # Of an input without a byte: only what is wrong with the model or the options ends with 1 or 2.
    told=$(chat-tok --model "$model" "${given[@]}" /dev/null 2>&1 >/dev/null) || code=$?
    told=${told#chat-tok: }
    ((code != 1 && code != 2)) || die "${told%%$'\n'*}" "$code"
}

if [[ $mode == slice ]]; then
    run make_part
    exit
fi

make=(ds-plan make "$root" --product kd-root --input "$input" "${size[@]}"
    ${max_rows:+--max-rows "$max_rows"} ${max_tokens:+--max-tokens "$max_tokens"}
    ${max_rows_per_shard:+--max-rows-per-shard "$max_rows_per_shard"})
options=(--valid-fraction "$fraction" --on-error "$on_error" ${no_input_check:+"$no_input_check"}
    ${model:+--model "$model"})
for filter in "${pipeline[@]}"; do
    options_of "$filter" given
    options+=("${given[@]}")
done
if [[ -n $raw ]]; then
    for file in "${inputs[@]}"; do
        is_there "$file" && [[ -d $file || -f $file ]] || die "$file: no such file or directory"
        ((${#inputs[@]} == 1)) || make+=(--source "input=$file")
    done
    make+=(--raw-shards "${shards:-1}")
    options+=("$raw")
else
    glob='synth_harmony_shard_*.parquet'
    files=("$input"/synth_harmony_shard_*.parquet)
    make+=(--glob "$glob" ${no_input_check:+"$no_input_check"})
    for file in "${files[@]}"; do
        name=${file##*/synth_harmony_}
        make+=(--source "${name%.parquet}=$file")
    done
fi
may_build "$root"
# A shard that the manifest names and that is not there would be missed by nobody.
[[ -n $no_input_check || -n $raw ]] || run ds-manifest --check-input "$input" || exit
check_options
# Rows of what was there before are rows of nothing.
if [[ $mode == build && -n $overwrite ]]; then
    rm -f -- "$root"/rows/{train,valid}.{rows,trl,megatron-bridge}.parquet
    rmdir -- "$root/rows" 2>/dev/null || true
fi
make_all "$root" "$input" "${make[@]}" -- "$self" "${options[@]}"
make_rows "$root"
