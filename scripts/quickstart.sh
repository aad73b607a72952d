#!/usr/bin/env bash
# Builds the filters, runs the main job on the bundled example, and shows what came out.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

cargo build --release --bins
PATH=$PWD/target/release:$PATH

# The example as a shard in the form that the pipeline reads, with the manifest beside it.
out=${1:-target/quickstart}
rm -rf "$out"
mkdir -p "$out/input"
cp scripts/example/manifest.json "$out/input/"
ds-cat scripts/example/conversations.ndjson --to parquet \
    -o "$out/input/synth_harmony_shard_00.parquet"

scripts/synth-kd.sh "$out/input" "$out/dataset" --valid-fraction 0.2

echo
echo "$out/dataset:"
(cd "$out/dataset" && find . -type f | sort)
echo
echo "The first training sequence:"
ds-view "$out/dataset/train/shard_00" --nth 0

ds-view --quiet "$out/dataset" --check --html "$out/page.html"
echo
echo "All of it, to look at in a browser: $out/page.html"
