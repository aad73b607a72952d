#!/usr/bin/env bash
# Runs the scripts of docs/trainers on CPU with the trainers' packages from PyPI: two steps of each, whose
# losses must be those of the masks of a root's triples. By hand: torch takes 6 GB of disk.
#
#   tools/trainers.sh [ROOT [N]]    the last result: docs/trainers/RESULT.md
#
# ROOT's tokens may be of any model; rows have N positions (512). Without ROOT the bundled example is made into one.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
PATH=$PWD/target/release:$PWD/target/quick:$PATH
export GRISTMILL_TO=arrow

venv=target/venv-trainers
packages=(trl==1.16.0 transformers==5.23.0 datasets==5.0.1 accelerate torch pyarrow==26.0.1 ai2-olmo-core==3.0.0 peft torchaudio)
# Of these only what reads rows is used; what else they need wants a GPU.
bare=(megatron-core==0.16.1 megatron-bridge==0.3.1 axolotl==0.19.0 llamafactory==0.9.5)
if [[ $(cat "$venv/installed.txt" 2>/dev/null) != "${packages[*]} ${bare[*]}" ]]; then
    rm -rf "$venv"
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check "${packages[@]}"
    "$venv/bin/pip" install --quiet --disable-pip-version-check --no-deps "${bare[@]}"
    echo "${packages[*]} ${bare[*]}" >"$venv/installed.txt"
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=${1-}
if [[ -z $root ]]; then
    root=$work/root
    harmony-tok scripts/example/conversations.ndjson | span-mask |
        mmidx-write --root "$root" --shard shard_00 --valid-fraction 0 -q
fi
idx=("$root"/train/*_tokens.idx)
prefix=${idx[0]%_tokens.idx}
length=${2-512}

seq-pack "$prefix" -o "$work/rows.parquet" -q
seq-pack "$prefix" -o "$work/packed.parquet" --form trl -n "$length" --overflow drop -q
seq-pack "$prefix" -o "$work/train.idx.parquet" --form megatron-bridge -n "$length" --overflow drop -q
for form in llama-factory olmo-core; do seq-pack "$prefix" -o "$work/$form" --form "$form" -q; done
seq-pack "$prefix" --index "$work/packs.parquet" -n "$length" --overflow drop -q

# run NAME FILE...: what a script says of its losses.
run() {
    local name=$1
    shift
    echo "## $name"
    PYTHONPATH=$PWD/python "$venv/bin/python" "docs/trainers/with_$name.py" "$prefix" "$@" \
        2>"$work/err" | grep -E 'step [0-9]+: loss|takes' || { cat "$work/err" >&2 && echo "trainers.sh: $name differs" >&2 && exit 1; }
}

run trl "$work/rows.parquet" "$work/packed.parquet"
for number in 1 2 3 4 5 6; do
    echo "{\"prompt\": \"Question $number?\", \"chosen\": \"Yes, $number of them.\", \"rejected\": \"No $number.\"}"
done | chat-tok --model gpt-oss --take pair -q >"$work/pairs.arrows"
ds-cat "$work/pairs.arrows" --to ndjson -q >"$work/pairs.ndjson"
for form in dpo reward kto; do seq-pack "$work/pairs.arrows" -o "$work/$form.parquet" --form "trl-$form" -q; done
run_pairs() { # (It has pairs in place of a triple.)
    echo "## trl_pairs"
    "$venv/bin/python" docs/trainers/with_trl_pairs.py "$work"/{pairs.ndjson,dpo.parquet,reward.parquet,kto.parquet} \
        2>"$work/err" | grep takes || { cat "$work/err" >&2 && echo "trainers.sh: trl_pairs differs" >&2 && exit 1; }
}
run_pairs
run axolotl "$work/rows.parquet"
run megatron_bridge "$work/train.idx.parquet"
run llama_factory "$work/llama-factory"
run olmo_core "$work/olmo-core"
run torch "$work/packs.parquet"
