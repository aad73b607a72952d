#!/usr/bin/env bash
# Runs the main job on the bundled example, and shows what came out. In a checkout it first builds the
# filters.
set -euo pipefail

usage() {
    cat <<'EOT'
Usage: scripts/quickstart.sh [OUT]

  OUT receives example/ (the bundled example), chats/ (a dataset of its chats),
  input/ (its conversations as a Parquet shard), dataset/ (a dataset of these
  conversations) and page.html. Results of an earlier run there are replaced.
  OUT is target/quickstart by default in a checkout, else gristmill-quickstart.
  In a checkout the filters are built first: in target/release if there is a
  build at full speed, else in target/quick, which takes less time. With
  GRISTMILL_BUILT=1 nothing is built: target/release has the filters.

  -h, --help

  Examples:
    scripts/quickstart.sh
    scripts/quickstart.sh /tmp/example && ds-stat /tmp/example/dataset

  Exit codes: 0 done, 1 bad data, 2 usage, a missing filter, or OUT holds
  something else, 75 temporary failure, try again.
EOT
}

die() {
    echo "quickstart.sh: $(printf %s "$1" | LC_ALL=C tr -c '[:print:]' '?')" >&2
    exit 2
}

case ${1-} in
-h | --help) usage && exit 0 ;;
-*) die "unknown option $1; see --help" ;;
esac
[[ $# -le 1 ]] || die "one OUT at most; see --help"

# build: sets `built` to where the filters are then.
build() {
    local filter profile=quick
    built=target/quick
    # A build at full speed is brought up to date.
    if [[ -x target/release/gristmill || -x target/release/ds-cat ]]; then
        profile=release built=target/release
    fi
    # One program that holds all filters is built in much less time than each of them.
    cargo build --profile "$profile" --bin gristmill
    for filter in src/bin/*.rs; do
        filter=${filter##*/}
        ln -f "$built/gristmill" "$built/${filter%.rs}"
    done
}

here=$(cd "$(dirname "$0")" && pwd) && kd=$here/$(basename "$0" | sed s/quickstart/synth-kd/)
example=$here/example
out=${1:-gristmill-quickstart} built=''
if [[ -f $here/../Cargo.toml ]]; then
    out=${1:-target/quickstart}
    cd "$here/.."
    [[ -n ${GRISTMILL_BUILT-} ]] || build
    PATH=$PWD/target/release:$PWD/target/quick:$PATH
else
    own=$(dirname "$(readlink -f "$0")") && PATH=$own:$PATH
    example=$own/../share/gristmill/example
fi
command -v ds-view >/dev/null || die "ds-view is not there; try: cargo build --release"

# The example as a shard in the form that the pipeline reads, with the manifest beside it.
shard=$out/input/synth_harmony_shard_00.parquet
[[ -z $(ls -A "$out" 2>/dev/null) || -f $shard ]] || die "$out holds something else; try: another OUT"
rm -rf -- "$out/example" "$out/input" "$out/chats" "$out/dataset" "$out/page.html"
mkdir -p -- "$out/input" || exit 75
cp -R "$example" "$out/"
cp "$example/manifest.json" "$out/input/"
ds-cat "$example/conversations.ndjson" --to parquet -o "$shard"

# Chats as people have them: several shapes, reasoning, a call of a tool, a weight.
"$kd" "$example/chats.ndjson" "$out/chats" --chat --span commentary=3 --valid-fraction 0
echo
echo "The second chat as a training sequence, with a call of a tool:"
ds-view "$out/chats" --nth 1
echo

"$kd" "$out/input" "$out/dataset" --valid-fraction 0.2

echo
echo "$out/dataset:"
(cd "$out/dataset" && find . -type f | sort)
echo
echo "The first training sequence:"
ds-view "$out/dataset/train/shard_00" --nth 0

ds-view --quiet "$out/dataset" --check --html "$out/page.html"
echo
echo "All of it, to look at in a browser: $out/page.html"
[[ $built != target/quick ]] ||
    echo "These filters were built in a short time, not for speed. For large data: cargo build --release"
