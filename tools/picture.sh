#!/usr/bin/env bash
# Draws the pictures of the README and of docs/any-model.md: what ds-view prints of the bundled example
# (ds-view.svg), and of one chat for five templates (models.svg), where tools/models.sh has laid the models out.
# Usage: tools/picture.sh [DIRECTORY]
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
PATH=${here%/*}/target/release:${here%/*}/target/quick:$PATH
pictures=$(realpath -m -- "${1:-${here%/*}/docs}") models=${here%/*}/target/models
unset NO_COLOR

# A name that says nothing of this machine.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
harmony-tok --to arrow "${here%/*}/scripts/example/conversations.ndjson" | span-mask --to arrow |
    mmidx-write --quiet --root dataset --shard shard_00 --valid-fraction 0.2

# (The size of the whole dataset is also that of its manifest, which names the machine.)
view="ds-view dataset/train/shard_00 --nth 0"
COLUMNS=84 $view --color always |
    "$here/ansi-to-svg.py" --command "$view" --title "A training sequence as ds-view shows it" >drawn
mkdir -p "$pictures"
mv drawn "$pictures/ds-view.svg"

[[ -d $models ]] || exit 0
for part in '"reasoning_content": "The sails catch the wind.", ' ''; do
    printf '{"id": "a", "messages": [{"role": "user", "content": "What turns a windmill?"}, '
    printf '{"role": "assistant", %s"content": "The wind."}]}\n' "$part"
done | split -l 1 - chat.
view() {
    local name=$1 model=$2 chat=$3
    printf '\e[1m%s\e[0m\n' "$name"
    chat-tok --model "$models/$model" "${@:4}" "$chat" --to arrow | span-mask --to arrow |
        COLUMNS=84 ds-view --color always --lines 0 | tail -n +7
}
{
    view "Qwen 3" qwen3 chat.aa
    view "Qwen 3, --set enable_thinking=false" qwen3 chat.ab --set enable_thinking=false
    view "Llama 3.1" llama3_1 chat.ab
    view "DeepSeek V3" deepseek_v3 chat.ab
    view "Gemma 3" gemma3 chat.ab
} | "$here/ansi-to-svg.py" --title "One chat for four models: what is trained on (R reasoning, F final)" >drawn
mv drawn "$pictures/models.svg"
