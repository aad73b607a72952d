#!/usr/bin/env bash
# Several packs of 2048 games into one: runs numbered anew, valuation names unified, checked, and
# only then, if asked for, the inputs deleted.
set -euo pipefail

usage() {
    cat <<'EOT'
Usage: scripts/merge-packs.sh --output OUT IN... [options]
       scripts/merge-packs.sh --output OUT --left IN --right IN [options]

  OUT receives the games of every IN in that order: steps.npy (or
  steps-00000.npy, ...), valuation_types.json, metadata.db and manifest.json. It
  must not overlap with any IN. Each IN must be what its own manifest says.

  --shard-rows N          rows in each file but the last (all in one)
  --layout LAYOUT         macroxue, macroxue-packed or selfplay-v1 (macroxue)
  --lossy                 write what the layout can hold, even if the rest is
                          lost
  --on-error fail|skip    what to do with a bad game (fail)
  --rejects FILE          write skipped records and their reasons as NDJSON
  --jobs N, --workers N   threads of the checks (all processors)
  --overwrite             replace the pack in OUT
  --delete-inputs         delete the files of every IN (at least two) once every
                          IN and OUT have passed ds-check, if they are still the
                          files that were read
  --no-check              do not run ds-check, neither on the INs nor on OUT
  -q, --quiet             print only errors, and what ds-check finds
  --progress WHEN         show progress: auto, always or never (auto)
  -h, --help

@further

  Examples:
    scripts/merge-packs.sh --output merged d6 d7
    scripts/merge-packs.sh --output merged --left d6 --right d7 --delete-inputs

  Exit codes: 0 done, 1 bad data (if OUT fails ds-check, it and the inputs are
  kept), 2 usage, a missing input or an overlap, 75 temporary failure, try
  again.
EOT
}

# shellcheck source=scripts/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

began=$EPOCHREALTIME
jobs=$(nproc) out='' delete='' check=1 pack=()
pipeline=(npy-pack)
left='' right='' inputs=()
while (($#)); do
    case $1 in
    -h | --help) help && exit 0 ;;
    --overwrite) pack+=(--overwrite) && shift && continue ;;
    --delete-inputs) delete=1 && shift && continue ;;
    --no-check) check='' && shift && continue ;;
    -q | --quiet) quiet=-q && shift && continue ;;
    --) shift && inputs+=("$@") && break ;;
    --*=*) set -- "${1%%=*}" "${1#*=}" "${@:2}" && continue ;;
    -o | --output | --left | --right | --on-error | --rejects | --progress | --jobs | \
        --workers)
        (($# > 1)) || die "$1 needs a value"
        ;;&
    -o | --output) out=$2 ;;
    --left) left=$2 ;;
    --right) right=$2 ;;
    --on-error) on_error=$2 && pack+=("$1" "$2") ;;
    --rejects) rejects=$2 && pack+=("$1" "$2") ;;
    --progress) progress_option "$2" ;;
    --jobs | --workers) number "$1" "$2" 1 && jobs=$2 ;;
    -*) pass_on "$@" && shift "${words[$1]}" && continue ;;
    *) inputs+=("$1") && shift && continue ;;
    esac
    shift 2
done
[[ -n $out ]] || die "--output OUT is required; see --help"
if [[ -n $left$right ]]; then
    [[ -n $left && -n $right ]] || die "--left and --right belong together"
    ((${#inputs[@]} == 0)) || die "give --left and --right, or the inputs alone"
    inputs=("$left" "$right")
fi
((${#inputs[@]})) || die "at least one IN is required; see --help"
[[ -z $delete ]] || ((${#inputs[@]} > 1)) ||
    die "--delete-inputs with one input alone; is ${inputs[0]} the output?"
[[ -z $delete || -n $check ]] || die "--delete-inputs and --no-check exclude each other"
# A name that begins with a dash is not an option.
[[ $out != -* ]] || out=./$out
for i in "${!inputs[@]}"; do
    [[ ${inputs[i]} != -* ]] || inputs[i]=./${inputs[i]}
done

check_on_error
need_filters npy-pack ds-plan ${check:+ds-check}
check_passed

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

# What tells whether the files of a pack are still the same.
identity() {
    find -H "$1" -maxdepth 1 ! -type d -printf '%f %D:%i %s %T@\n' | sort
    sha256sum -- "$1/manifest.json" 2>/dev/null || true
}

# A merge into one of its own inputs would destroy it, and one input twice doubles its games.
for i in "${!inputs[@]}"; do
    in=${inputs[i]}
    is_there "$in" && [[ -d $in ]] || die "$in: no such folder"
    for other in "${inputs[@]:i+1}"; do
        [[ -z $delete || ! $in -ef $other ]] || die "$in and $other are one folder"
    done
    ! inside "$out" "$in" && ! inside "$in" "$out" || die "$out and $in overlap"
    [[ ! -d $out || -z $(comm -12 <(inodes "$in") <(inodes "$out")) ]] ||
        die "$out and $in overlap: a file of one is a file of the other"
done

before=()
for in in "${inputs[@]}"; do
    before+=("$(identity "$in")")
done

# The values of rows are checked in OUT, so here only that nothing is missing or changed; what is to be
# deleted passes every rule first.
rules=(--only pool.files,pool.shard,pool.manifest)
not_what='is not what its manifest says'
[[ -z $delete ]] || rules=() not_what='has not passed ds-check'
for in in "${inputs[@]}"; do
    [[ -z $check ]] || closing_check "$in" "${rules[@]}" --jobs "$jobs" ||
        die "$in $not_what; nothing was merged" $?
done

run npy-pack "${inputs[@]}" -o "$out" "${pack[@]}" "${passed[@]}" ${quiet:+"$quiet"} --progress "$progress"

[[ -z $check ]] || closing_check "$out" --jobs "$jobs" ||
    die "$out has not passed ds-check; the inputs are kept" $?
[[ -n $quiet ]] || run ds-plan summary "$out" --since "$began"

[[ -n $delete ]] || exit 0
# The folders are locked from here on, as our writers lock them.
for i in "${!inputs[@]}"; do
    in=${inputs[i]}
    exec {lock}<"$in"
    flock --nonblock "$lock" || die "$in is being written; the inputs are kept" 75
    [[ $(identity "$in") == "${before[i]}" ]] ||
        die "$in was changed while it was merged; the inputs are kept" 75
done
# The manifest is deleted first. Files that are not part of a pack stay, with their folder.
for in in "${inputs[@]}"; do
    rm -f -- "$in"/{manifest.json,metadata.db{,-wal,-shm,-journal},valuation_types.json,steps.npy}
    find -H "$in" -maxdepth 1 -name 'steps-*.npy' -delete
    if [[ -L $in ]]; then
        rmdir -- "$(realpath -- "$in")" 2>/dev/null && rm -- "$in" || true
    elif [[ -d $in ]]; then
        rmdir -- "$in" 2>/dev/null || true
    fi
done
