#!/usr/bin/env bash
# Several packs of 2048 games into one: runs numbered anew, valuation names unified, checked, and
# only then, if asked for, the inputs deleted.
set -euo pipefail

usage() {
    cat <<'EOT'
Usage: scripts/merge-packs.sh OUT IN... [options]

  OUT receives the games of every IN in that order: steps.npy (or steps-00000.npy, ...),
  valuation_types.json, metadata.db and manifest.json. It must not overlap with any IN.

  --shard-rows N    rows in each file but the last (all in one)
  --overwrite       replace the pack in OUT
  --delete-inputs   delete the files of every IN once OUT has passed ds-check
  --no-check        do not run ds-check on OUT
  -h, --help

  Exit codes: 0 done, 1 bad data (if OUT fails ds-check, it and the inputs are kept), 2 usage, a
  missing input or an overlap, 75 not now, try again.
EOT
}

die() {
    echo "merge-packs.sh: $1" >&2
    exit "${2:-2}"
}

number() {
    [[ $2 =~ ^[1-9][0-9]*$ ]] || die "$1 needs a number of at least 1, not '$2'"
}

delete='' check=1 pack=()
positional=()
while (($#)); do
    case $1 in
    -h | --help) usage && exit 0 ;;
    --overwrite) pack+=(--overwrite) && shift && continue ;;
    --delete-inputs) delete=1 && shift && continue ;;
    --no-check) check='' && shift && continue ;;
    --) shift && positional+=("$@") && break ;;
    --*=*) set -- "${1%%=*}" "${1#*=}" "${@:2}" && continue ;;
    --shard-rows)
        (($# > 1)) || die "$1 needs a value"
        number "$1" "$2" && pack+=(--shard-rows "$2")
        ;;
    -*) die "unknown option $1; see --help" ;;
    *) positional+=("$1") && shift && continue ;;
    esac
    shift 2
done
((${#positional[@]} >= 2)) || die "OUT and at least one IN are required; see --help"
[[ -z $delete || -n $check ]] || die "--delete-inputs and --no-check exclude each other"
out=${positional[0]} inputs=("${positional[@]:1}")
# A name that begins with a dash is not an option.
[[ $out != -* ]] || out=./$out
for i in "${!inputs[@]}"; do
    [[ ${inputs[i]} != -* ]] || inputs[i]=./${inputs[i]}
done

# The filters built here come first; installed ones otherwise.
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
[[ ! -x $here/target/release/npy-pack ]] || PATH=$here/target/release:$PATH
command -v npy-pack >/dev/null || die "npy-pack is not there; try: cargo build --release"
[[ -z $check ]] || command -v ds-check >/dev/null ||
    die "ds-check is not there; try: cargo build --release${delete:+ (nothing is deleted unchecked)}"

# Whether the first path is the second directory or lies in it, also through links and mounts.
inside() {
    local path
    path=$(realpath -m -- "$1")
    until [[ $path -ef $2 ]]; do
        [[ $path != / ]] || return 1
        path=${path%/*} path=${path:-/}
    done
}

# Device and inode of the files of a directory.
inodes() {
    find -L "$1" -maxdepth 1 -type f -printf '%D:%i\n' | sort -u
}

# A merge into one of its own inputs would destroy it.
for in in "${inputs[@]}"; do
    [[ -d $in ]] || die "$in: no such folder"
    ! inside "$out" "$in" && ! inside "$in" "$out" || die "$out and $in overlap"
    [[ ! -d $out || -z $(comm -12 <(inodes "$in") <(inodes "$out")) ]] ||
        die "$out and $in overlap: a file of one is a file of the other"
done

npy-pack "${inputs[@]}" -o "$out" "${pack[@]}"

[[ -n $check ]] || exit 0
code=0
report=$(ds-check --quiet "$out" 2>&1) || code=$?
((code == 0)) || {
    echo "$report" >&2
    die "$out has not passed ds-check; the inputs are kept" "$code"
}

[[ -n $delete ]] || exit 0
# The manifest is deleted first. Files that are not part of a pack stay, with their directory.
for in in "${inputs[@]}"; do
    rm -f -- "$in"/{manifest.json,metadata.db{,-wal,-shm,-journal},valuation_types.json,steps.npy}
    find -H "$in" -maxdepth 1 -name 'steps-*.npy' -delete
    if [[ -L $in ]]; then
        rmdir -- "$(realpath -- "$in")" 2>/dev/null && rm -- "$in" || true
    elif [[ -d $in ]]; then
        rmdir -- "$in" 2>/dev/null || true
    fi
done
