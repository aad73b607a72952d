#!/usr/bin/env bash
# Draws the picture of the README, docs/ds-view.svg: what ds-view prints of the bundled example.
# Usage: scripts/picture.sh [FILE]
set -euo pipefail
# shellcheck source=scripts/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

(($# <= 1)) || die "one FILE at most"
picture=$(realpath -m -- "${1:-${here%/*}/docs/ds-view.svg}")
need_filters harmony-tok span-mask mmidx-write ds-view
unset NO_COLOR

# A name that says nothing of this machine.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
harmony-tok --to arrow "$here/example/conversations.ndjson" | span-mask --to arrow |
    mmidx-write --quiet --root dataset --shard shard_00 --valid-fraction 0.2

# (The size of the whole dataset is also that of its manifest, which names the machine.)
view="ds-view dataset/train/shard_00 --nth 0"
COLUMNS=84 $view --color always |
    "$here/ansi-to-svg.py" --command "$view" --title "A training sequence as ds-view shows it" >drawn
mkdir -p "$(dirname "$picture")"
mv drawn "$picture"
