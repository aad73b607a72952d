# shellcheck shell=bash
# What the pipeline scripts share; they source it.

script=${0##*/}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

die() {
    echo "$script: $1" >&2
    exit "${2:-2}"
}

# number FLAG VALUE [LEAST]
number() {
    [[ $2 =~ ^[0-9]+$ ]] || die "$1 needs a number, not '$2'"
    ((10#$2 >= ${3:-0})) || die "$1 needs at least $3"
}

# The filters built here come first; installed ones otherwise.
need_filters() {
    local filter release=${here%/*}/target/release
    # A task is made by the filters beside its ds-plan.
    [[ ${mode-} == slice || ! -x $release/$1 ]] || PATH=$release:$PATH
    for filter in "$@"; do
        command -v "$filter" >/dev/null || die "$filter is not there; try: cargo build --release"
    done
}

# What runs is in process groups of its own, so that a signal for the script stops all of it.
set -m
stop() {
    trap '' INT TERM HUP
    local job
    for job in $(jobs -p); do kill -s "$1" -- "-$job" 2>/dev/null || true; done
    wait || true
    trap - "$1"
    kill -s "$1" $$
}
for signal in INT TERM HUP; do
    # shellcheck disable=SC2064
    trap "stop $signal" "$signal"
done

# run COMMAND ARGUMENTS...: waits for a command, and hears signals meanwhile.
run() {
    local code=0
    "$@" &
    wait $! || code=$?
    return "$code"
}

# side_by_side JOBS COMMAND ARGUMENTS...: runs the command with each of the arguments, so many at a time,
# until one fails. Into: failed, the code of the first that did, or 0. Each has `threads` processors.
# shellcheck disable=SC2034
side_by_side() {
    local most=$1 command=$2 running=0 argument
    shift 2
    ((most < $#)) && threads=1 || threads=$(((most + $# - 1) / $#))
    failed=0
    for argument; do
        ((running < most)) || reap
        ((failed == 0)) || break
        "$command" "$argument" &
        running=$((running + 1))
    done
    while ((running)); do reap; done
}
reap() {
    local code=0
    wait -n || code=$?
    ((code == 0 || failed)) || failed=$code
    running=$((running - 1))
}

# first_cause CODES...: the first failure that is not the loss of a reader (SIGPIPE, 141) or writer (75).
first_cause() {
    local code
    for code; do
        ((code == 0 || code == 75 || code == 141)) || return "$code"
    done
    return 75
}

# closing_check PATH ARGUMENTS...: prints what ds-check finds, and fails as it does.
closing_check() {
    local show=never
    [[ ! -t 2 ]] || show=always
    run ds-check "$@" --quiet --progress "$show" >&2
}

# The arguments of `finish ROOT [TASKS] ...`, into: root, tasks, jobs, check, delete, quiet.
finish_arguments() {
    jobs=$(nproc) check=1 delete='' quiet='' tasks=()
    while (($#)); do
        case $1 in
        --delete-parts) delete=1 ;;
        --no-check) check='' ;;
        -q | --quiet) quiet=-q ;;
        --jobs=* | --workers=*) number "${1%%=*}" "${1#*=}" 1 && jobs=${1#*=} ;;
        --jobs | --workers)
            (($# > 1)) || die "$1 needs a value"
            number "$1" "$2" 1 && jobs=$2 && shift
            ;;
        -*) die "unknown option $1; see --help" ;;
        *) tasks+=("$1") ;;
        esac
        shift
    done
    ((${#tasks[@]} == 1 || ${#tasks[@]} == 2)) || die "ROOT and the task list are wanted; see --help"
    root=${tasks[0]} tasks=("${tasks[@]:1}")
    [[ -z $delete || -n $check ]] || die "--delete-parts and --no-check exclude each other"
}

# finish_plan ROOT [TASKS] ...: joins the parts of a plan.
finish_plan() {
    finish_arguments "$@"
    need_filters ds-plan ${check:+ds-check}
    # Done before, and the parts deleted: a scheduler may call this again.
    if [[ ! -e $root/tasks ]]; then
        ds-plan status "$root" >/dev/null && return
        exit
    fi
    local input manifest=()
    input=$(ds-plan input "$root") || exit
    [[ ! -f $input/manifest.json ]] || manifest=(--input-manifest "$input/manifest.json")
    run ds-plan finish "$root" "${tasks[@]}" --jobs "$jobs" ${quiet:+"$quiet"} || exit
    [[ -z $check ]] || closing_check "$root" "${manifest[@]}" --jobs "$jobs" ||
        die "$root has not passed ds-check; the parts are kept" $?
    [[ -z $delete ]] || rm -rf -- "$root/tasks"
}

# What the first word asks for (docs/cluster.md): sets `mode`, and does at once what builds nothing.
choose_mode() {
    mode=build
    case ${1-} in
    plan | slice) mode=$1 ;;
    status)
        need_filters ds-plan
        exec ds-plan "$@"
        ;;
    finish)
        finish_plan "${@:2}"
        exit
        ;;
    esac
}
