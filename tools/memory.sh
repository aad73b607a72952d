#!/usr/bin/env bash
# Measures how much memory a filter takes for one large record: a table of its peak, and of the peak above what a small
# record takes, as a multiple of the record's bytes. docs/errors.md has the result.
#
#     tools/memory.sh [MEGABYTES]      (100; the filters of target/release, or of BIN; the model
#                                    of target/models/qwen3, which tools/models.sh lays out, or MODEL)
set -euo pipefail

megabytes=${1:-100}
bin=${BIN:-target/release} model=${MODEL:-target/models/qwen3}
PATH=$(cd "$bin" && pwd):$PATH
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT

python3 - "$work" "$megabytes" <<'PY'
import json, sys

work, megabytes = sys.argv[1], int(sys.argv[2])
words = "The quick brown fox jumps over the lazy dog, and then it sleeps until 7 o'clock. "
for name, size in (("small", 1000), ("large", megabytes * 1_000_000)):
    text = (words * (size // len(words) + 1))[:size]
    turns = [{"role": "user", "content": "Why?"}, {"role": "assistant", "content": text}]
    chat = {"id": "a", "messages": turns}
    channel = [{"role": "user", "content": "Why?"}, {"role": "assistant", "channel": "final", "content": text}]
    row = {"synth_id": "a", "query": "Why?", "synthetic_reasoning": "So.", "synthetic_answer": text}
    files = {"chat": chat, "conversation": {"id": "a", "messages": channel}, "row": row}
    for kind, record in files.items():
        with open(f"{work}/{name}.{kind}", "w") as file:
            file.write(json.dumps(record) + "\n")
PY

# peak COMMAND...: the peak of the resident memory, in kB; the output is kept in $work/out.
peak() {
    /usr/bin/time -f %M -o "$work/peak" timeout 600 "$@" >"$work/out" 2>"$work/said" || { cat "$work/said" >&2; return 1; }
    tail -1 "$work/peak"
}

# row NAME INPUT COMMAND...: `INPUT` in the command is the record.
row() {
    local name=$1 input=$2 size=() kb=() which
    shift 2
    for which in small large; do
        rm -rf -- "$work/root" "$work/rows.parquet"
        size+=("$(stat -c %s "$work/$which.$input")")
        kb+=("$(peak "${@//INPUT/$work/$which.$input}")") || { echo "| $name | failed |"; return; }
    done
    awk -v name="$name" -v small="${kb[0]}" -v large="${kb[1]}" -v a="${size[0]}" -v b="${size[1]}" 'BEGIN {
        printf "| %s | %.0f MB | %.0f MB | %.1f |\n", name, b / 1e6, large / 1e3, (large - small) * 1024 / (b - a) }'
}

big=(--max-record-bytes $((16 << 30)))
echo "| filter | record | peak | times its bytes |"
echo "|---|--:|--:|--:|"
row "ds-cat" conversation ds-cat INPUT "${big[@]}"
row "chat-harmony" chat chat-harmony INPUT "${big[@]}"
row "chat-tok" chat chat-tok --model "$model" INPUT "${big[@]}"
row "harmony-tok" conversation harmony-tok INPUT "${big[@]}"
row "synth-harmony" row synth-harmony INPUT "${big[@]}"
row "ds-check" conversation ds-check INPUT
row "ds-stat" conversation ds-stat INPUT
row "ds-view" conversation ds-view INPUT --limit 1 "${big[@]}"
for which in small large; do
    harmony-tok "$work/$which.conversation" "${big[@]}" >"$work/$which.tokens" 2>/dev/null
    span-mask "$work/$which.tokens" "${big[@]}" >"$work/$which.masked" 2>/dev/null
done
row "span-mask" tokens span-mask INPUT "${big[@]}"
row "mmidx-write" masked mmidx-write --no-check --root "$work/root" --shard s INPUT "${big[@]}"
row "seq-pack" masked seq-pack --no-check -o "$work/rows.parquet" INPUT "${big[@]}"
