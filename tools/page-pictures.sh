#!/usr/bin/env bash
# Draws docs/page-light.png and docs/page-dark.png: the page that ds-view makes of the bundled chats, as
# Chromium shows it. (Fonts and edges are those of the machine: nothing compares these pictures.)
#
#     tools/page-pictures.sh [--all] [OUT_DIR]
#
# With --all also the pages of every kind of data as a test makes them, at 1280 and 380 pixels, light and
# dark, and what a terminal of 80 and 50 columns shows: to look at (this builds the tests).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
PATH=$PWD/target/release:$PWD/target/quick:$PATH
all=''
[[ ${1-} != --all ]] || { all=1 && shift; }
out=${1:-docs}
if [[ -n $all ]]; then
    mkdir -p "$out"
    GRISTMILL_SCREENSHOTS=$(realpath -- "$out") cargo test --release --test main every_kind_of_data
fi

temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT
export GRISTMILL_TO=arrow
chat-harmony -q scripts/example/chats.ndjson | harmony-tok | span-mask --span commentary=3 |
    mmidx-write -q --root "$temporary/chats" --shard shard_00
(cd "$temporary" && ds-view -q chats --check --html page.html)
number=0
for scheme in dark light; do
    chromium --headless=new --no-sandbox --disable-gpu --hide-scrollbars --window-size=1280,860 \
        --blink-settings=preferredColorScheme=$number --screenshot="$out/page-$scheme.png" \
        "file://$temporary/page.html" 2>/dev/null
    number=$((number + 1))
done
