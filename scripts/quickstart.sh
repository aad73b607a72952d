#!/usr/bin/env bash
# Runs the main job on the bundled example, and shows what came out. In a checkout it first builds the
# filters.
set -euo pipefail

usage() {
    cat <<'EOT'
Usage: scripts/quickstart.sh [OUT]

  OUT receives input/ (the bundled conversations as a Parquet shard), dataset/ (the files for a trainer)
  and page.html. What an earlier run has made there is replaced. In a checkout OUT is target/quickstart
  if it is not given, and the filters are built first; elsewhere it is gristmill-quickstart.

  -h, --help

  Examples:
    scripts/quickstart.sh
    scripts/quickstart.sh /tmp/example && ds-stat /tmp/example/dataset

  Exit codes: 0 done, 1 bad data, 2 usage, a missing filter, or OUT holds something else, 75 not now,
  try again.
EOT
}

# shellcheck source=scripts/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

case ${1-} in
-h | --help) usage && exit 0 ;;
-*) die "unknown option $1; see --help" ;;
esac
(($# <= 1)) || die "one OUT at most; see --help"
out=${1:-gristmill-quickstart}
if [[ -f $here/../Cargo.toml ]]; then
    out=${1:-target/quickstart}
    cd "$here/.."
    # One program that holds all filters is built in much less time than each of them.
    cargo build --release --bin gristmill
    for filter in src/bin/*.rs; do
        filter=${filter##*/}
        ln -f target/release/gristmill "target/release/${filter%.rs}"
    done
fi
need_filters ds-cat ds-view

# The example as a shard in the form that the pipeline reads, with the manifest beside it.
shard=$out/input/synth_harmony_shard_00.parquet
[[ -z $(ls -A "$out" 2>/dev/null) || -f $shard ]] || die "$out holds something else; try: another OUT"
rm -rf -- "$out/input" "$out/dataset" "$out/page.html"
mkdir -p -- "$out/input" || exit 75
cp "$here/example/manifest.json" "$out/input/"
ds-cat "$here/example/conversations.ndjson" --to parquet -o "$shard"

"${self%/*}/synth-kd.sh" "$out/input" "$out/dataset" --valid-fraction 0.2

echo
echo "$out/dataset:"
(cd "$out/dataset" && find . -type f | sort)
echo
echo "The first training sequence:"
ds-view "$out/dataset/train/shard_00" --nth 0

ds-view --quiet "$out/dataset" --check --html "$out/page.html"
echo
echo "All of it, to look at in a browser: $out/page.html"
