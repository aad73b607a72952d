# shellcheck shell=bash
# What the pipeline scripts share; they source it.

# Between filters what was dropped and how records were made travels in Arrow's header alone.
export GRISTMILL_TO=arrow

script=${0##*/}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# The script itself: in a checkout beside this file, installed in bin/.
self=$(cd "$(dirname "$0")" && pwd)/$script

# What names and data contain is not for the terminal to obey.
plain() {
    local LC_ALL=C text=$1
    text=${text//[$'\x01'-$'\x1f\x7f']/?}
    text=${text//$'\xc2'[$'\x80'-$'\x9f']/?}
    # Line separators, and what changes the direction of text.
    text=${text//$'\xe2\x80'[$'\xa8'-$'\xae']/?}
    printf %s "${text//$'\xe2\x81'[$'\xa6'-$'\xa9']/?}"
}

die() {
    echo "$script: $(plain "$1")" >&2
    exit "${2:-2}"
}

# (Below that, bash itself says which descriptors it lacks.)
open_files=$(ulimit -n) || exit 75
[[ $open_files == unlimited ]] || ((open_files >= 20)) ||
    die "only $open_files files may be open at once; try: ulimit -n 1024" 75

# is_there PATH: whether something has this name. A name that cannot be looked up ends the script: [[ -e ]] would say
# that it is not there.
is_there() {
    local said
    [[ ! -e $1 && ! -L $1 ]] || return 0
    said=$(LC_ALL=C ls -d -- "$1" 2>&1) || [[ $said == *": "@(No such file or|Not a)" directory" ]] || die "${said#ls: }" 75
    [[ -e $1 || -L $1 ]]
}

# found PLACES... TESTS...: the first file that find finds. A folder that cannot be listed ends the script.
found() {
    local said
    said=$(find -H "$@" -print -quit 2>&1) || die "${said%%$'\n'*}" 75
    first=$said
}

# number FLAG VALUE [LEAST]
number() {
    [[ $2 =~ ^[0-9]+$ ]] || die "$1 needs a number, not '$2'"
    ((10#$2 >= ${3:-0})) || die "$1 needs at least $3"
}

# The filters built here come first (the quick ones only without the others), or those that are installed
# beside the script; others otherwise.
need_filters() {
    local filter directory
    for directory in "${here%/*}/target/"{quick,release} "$(dirname "$(readlink -f "$self")")"; do
        # A task is made by the filters beside its ds-plan.
        [[ ${mode-} == slice || ! -x $directory/$1 ]] || PATH=$directory:$PATH
    done
    for filter in "$@"; do
        command -v "$filter" >/dev/null || die "$filter is not there; try: cargo build --release"
    done
}

# The filters of the pipeline, whose own options the script passes on as they are. The filters declare which these
# are: `takes` has a key `FILTER --flag` for each, `flags` these keys in their order, `words` how many words a
# flag has with its value.
pipeline=() flags=()
declare -A takes=() words=()

ask_filters() {
    ((${#flags[@]} == 0 && ${#pipeline[@]})) || return 0
    need_filters "${pipeline[@]}"
    local filter flag value
    for filter in "${pipeline[@]}"; do
        while read -r flag value; do
            flags+=("$filter $flag") takes["$filter $flag"]=1 words["$flag"]=1
            [[ -z $value ]] || words["$flag"]=2
        done < <("$filter" --generate options)
    done
}

# What the command line gives of these options.
passed=()

# pass_on WORDS...: keeps the option in front, which has words[OPTION] of them.
pass_on() {
    ask_filters
    [[ -n ${words[$1]+is} ]] || die "unknown option $1; see --help"
    (($# >= words[$1])) || die "$1 needs a value"
    passed+=("${@:1:words[$1]}")
}

# options_of FILTER ARRAY: what was passed on and goes to this filter, the first of the pipeline that takes it, or
# (FILTER is empty) to none, into the array.
options_of() {
    local -n into=$2
    local at=0 flag filter first
    into=()
    while ((at < ${#passed[@]})); do
        flag=${passed[at]} first=''
        for filter in "${pipeline[@]}"; do
            [[ -n $first || -z ${takes[$filter $flag]+is} ]] || first=$filter
        done
        [[ $first != "$1" ]] || into+=("${passed[@]:at:words[$flag]}")
        ((at += words[$flag]))
    done
}

# check_passed: that each filter takes the values that are passed on; else every task would say so.
check_passed() {
    local filter given message
    for filter in "${pipeline[@]}"; do
        options_of "$filter" given
        ((${#given[@]} == 0)) || message=$("$filter" "${given[@]}" --help 2>&1 >/dev/null) ||
            die "$(sed "s/^$filter: //; q" <<<"$message"); see $filter --help"
    done
}

# help: the usage, with the options in place of @further that it does not explain (if the filters are there).
help() {
    local text filter key flag names more=''
    text=$(usage)
    ! (need_filters "${pipeline[@]}") 2>/dev/null || ask_filters
    for filter in "${pipeline[@]}"; do
        names=''
        for key in "${flags[@]}"; do
            flag=${key#"$filter "}
            # (An option is explained where its line begins, alone or behind another one.)
            [[ $key != "$filter "* || $text =~ $'\n'"  "(--[^$'\n ']+( [A-Z]+)?,\ )?"$flag"[\ $'\n'] ]] || names+=", $flag"
        done
        [[ -z $names ]] ||
            more+=$(fmt -w 80 <<<"  To $filter, whose --help explains them, go the options ${names:2}.")$'\n\n'
    done
    printf '%s\n' "${text/@further$'\n\n'/$more}"
}

# The stderr of the script: while it waits, the shell's own has no place ("[1]+ Terminated").
exec {said}>&2

# Where a build keeps what is finished, while one is made.
building=''

# going_on SIGNAL: one line of what is done and how to go on, where that is known.
going_on() {
    [[ -n $building ]] || return 0
    local way="the same command with --resume"
    # (Both at once are refused.)
    [[ -z ${overwrite-} ]] || way+=" in place of --overwrite"
    echo "$script: stopped by $1; $(kept_of "$building"); try: $way" >&"$said"
}

# kept_of ROOT: how much of a build is finished and kept.
kept_of() {
    local finished=("$1"/tasks/*/done.json)
    [[ -e ${finished[0]} ]] || finished=()
    case ${#finished[@]} in
    0) echo "no ${made:-shard} is finished" ;;
    1) echo "1 finished ${made:-shard} is kept" ;;
    *) echo "${#finished[@]} finished ${made:-shard}s are kept" ;;
    esac
}

# What runs is in process groups of its own, so that a signal for the script stops all of it.
set -m
stop() {
    trap '' INT TERM HUP
    local job
    # The shell has nothing more to say: of its jobs it would, whenever it comes to it ("[1]+ Terminated").
    exec 2>/dev/null
    for job in $(jobs -p); do kill -s "$1" -- "-$job" || true; done
    wait || true
    going_on "$1"
    trap - "$1"
    kill -s "$1" $$
}
for signal in INT TERM HUP; do
    # shellcheck disable=SC2064
    trap "stop $signal" "$signal"
done

# run COMMAND ARGUMENTS...: waits for a command, and hears signals meanwhile. The shell itself has no stderr from before
# the command is started until it is known to have ended: one that a signal ends before it has a process group of its
# own would be told of ("[1]+ Terminated") before the trap runs.
run() {
    local code=0 told
    {
        "$@" 2>&"$told" {told}>&- &
        wait $! || code=$?
        # (A job that is listed is not told of later.)
        jobs >/dev/null
    } {told}>&2 2>/dev/null
    exec {told}>&-
    return "$code"
}

# What all scripts say of how far they are: auto, always or never.
progress=auto quiet=''

# progress_option WHEN
progress_option() {
    [[ $1 == auto || $1 == always || $1 == never ]] || die "--progress $1: expected auto, always or never"
    progress=$1
}

# What is dropped: --on-error fail|skip, if given, and the file that --rejects names.
on_error='' rejects=''

check_on_error() {
    [[ -z $on_error || $on_error == fail || $on_error == skip ]] || die "--on-error $on_error: expected fail or skip"
    [[ -z $rejects || $on_error == skip ]] || die "--rejects needs --on-error skip"
}

# keep_rejects FILTER: its options for bad records, into: bad. A task (PART is `out`) keeps what it drops
# beside its part, where ds-plan finish collects it.
keep_rejects() {
    bad=(${on_error:+--on-error "$on_error"})
    [[ $on_error != skip ]] || bad+=(--rejects "${out%/*}/rejects-$1.ndjson")
}
bad=()

# closing_check PATH ARGUMENTS...: prints what ds-check finds, and fails as it does.
closing_check() {
    local show=never
    [[ ! -t 2 || $progress == never || -n $quiet && $progress == auto ]] || show=always
    run ds-check "$@" --quiet --progress "$show" >&2
}

# What seq-pack makes of a finished root: forms, and its options of those that are passed on.
rows=() row_options=()

# rows_option FORM
rows_option() {
    [[ $1 == rows || $1 == trl || $1 == megatron-bridge ]] || die "--rows $1: expected rows, trl or megatron-bridge"
    [[ " ${rows[*]} " == *" $1 "* ]] || rows+=("$1")
}

# check_rows: that seq-pack takes its options for each form; it would say so at the end.
check_rows() {
    options_of seq-pack row_options
    ((${#rows[@]} || ${#row_options[@]} == 0)) || die "${row_options[0]} is for --rows"
    # (What may be in a root may be in its rows.)
    [[ " ${row_options[*]} " == *" --allow-unsupervised "* || " ${passed[*]} " != *" --allow-unsupervised "* ]] ||
        row_options+=(--allow-unsupervised)
    local form code told
    for form in "${rows[@]}"; do
        [[ $form == rows || " ${row_options[*]} " == *" --seq-length "* ]] || die "--rows $form needs --seq-length N"
        # Of an input without a byte, into a folder that cannot be: only what is wrong with the options ends with 2.
        code=0
        told=$(seq-pack /dev/null -o /dev/null/rows.parquet --form "$form" "${row_options[@]}" 2>&1) || code=$?
        told=${told#seq-pack: }
        ((code != 2)) || die "--rows $form: ${told%%$'\n'*}"
    done
}

# refuse_linked_rows ROOT: what ROOT/rows leads to may belong to others.
refuse_linked_rows() {
    [[ ! -L $1/rows ]] || die "$1/rows is a link: nothing is written or removed through it"
}

# drop_old_rows ROOT: rows that are older than what they would be of are rows of nothing.
drop_old_rows() {
    local old split first splits=()
    for split in "$1"/{train,valid}; do
        ! is_there "$split" || splits+=("$split")
    done
    refuse_linked_rows "$1"
    for old in "$1"/rows/{train,valid}.{rows,trl,megatron-bridge}.parquet; do
        is_there "$old" && ((${#splits[@]})) || continue
        found "${splits[@]}" -name '*.bin' -newer "$old"
        [[ -n $first ]] || continue
        rm -f -- "$old"
        echo "$script: $(plain "$old") was made of other data and is removed; try: --rows" >&2
    done
    rmdir -- "$1/rows" 2>/dev/null || true
}

# make_rows ROOT: ROOT/rows/SPLIT.FORM.parquet, of each split and form.
make_rows() {
    local form split made=() first summary=(--summary)
    [[ -z $quiet ]] || summary=()
    for form in "${rows[@]}"; do
        for split in train valid; do
            is_there "$1/$split" || continue
            found "$1/$split" -maxdepth 1 -name '*_tokens.idx'
            [[ -n $first ]] || continue
            made+=("$1/rows/$split.$form.parquet")
            run seq-pack "$1/$split" -o "${made[-1]}" --form "$form" "${row_options[@]}" --overwrite "${summary[@]}" \
                --jobs "${jobs:-$(nproc)}" --progress "$progress" ${quiet:+"$quiet"} ||
                die "$1 is finished, its rows are not" $?
        done
    done
    drop_old_rows "$1"
    ((${#made[@]} == 0)) || [[ -z $check ]] || closing_check "${made[@]}" --jobs "${jobs:-$(nproc)}" ||
        die "${made[*]} have not passed ds-check" $?
}

# The arguments of `finish ROOT [TASKS] ...`, into variables of finish_plan.
finish_arguments() {
    local is_checked=1
    # Conversations may lack ids, which a check would not let pass.
    [[ $script != synth-raw.sh ]] || is_checked=''
    jobs=$(nproc) check=$is_checked delete='' quiet='' tasks=() pipeline=()
    # (Nothing else is made of what is finished.)
    [[ $script != synth-kd.sh ]] || pipeline=(seq-pack)
    while (($#)); do
        case $1 in
        --delete-parts) delete=1 ;;
        --no-check) check='' ;;
        -q | --quiet) quiet=-q ;;
        --*=*) set -- "${1%%=*}" "${1#*=}" "${@:2}" && continue ;;
        --jobs | --workers | --rejects | --rows)
            (($# > 1)) || die "$1 needs a value"
            ;;&
        --jobs | --workers) number "$1" "$2" 1 && jobs=$2 && shift ;;
        --rejects) rejects=$2 && shift ;;
        --rows)
            [[ $script == synth-kd.sh ]] || die "unknown option $1; see --help"
            rows_option "$2" && shift
            ;;
        -*) pass_on "$@" && shift "${words[$1]}" && continue ;;
        *) tasks+=("$1") ;;
        esac
        shift
    done
    ((${#tasks[@]} == 1 || ${#tasks[@]} == 2)) || die "ROOT and the task list are wanted; see --help"
    root=${tasks[0]} tasks=("${tasks[@]:1}")
    [[ -z $delete || $check == "$is_checked" ]] || die "--delete-parts and --no-check exclude each other"
}

# finish_plan ROOT [TASKS] ...: joins the parts of a plan.
finish_plan() {
    local root tasks jobs check delete quiet rejects='' pipeline input
    finish_arguments "$@"
    need_filters ds-plan ${check:+ds-check} ${rows:+seq-pack}
    check_rows
    # Done before, and the parts deleted: a scheduler may call this again, or rows are wanted later.
    refuse_linked_rows "$root"
    if ! is_there "$root/tasks"; then
        ds-plan status "$root" "${tasks[@]}" >/dev/null || exit
        make_rows "$root"
        return
    fi
    input=$(ds-plan input "$root") || exit
    run ds-plan finish "$root" "${tasks[@]}" --jobs "$jobs" ${rejects:+--rejects "$rejects"} \
        ${quiet:+"$quiet"} || exit
    check_all "$input" "; the parts are kept" "$root"
    make_rows "$root"
    [[ -z $delete ]] || rm -rf -- "$root/tasks"
}

# check_all INPUT MORE ROOT...: what is finished, unless --no-check is given.
check_all() {
    local manifest=() more=$2
    [[ -z $1 ]] || ! is_there "$1/manifest.json" || manifest=(--input-manifest "$1/manifest.json")
    [[ -z $check ]] || closing_check "${@:3}" "${manifest[@]}" --jobs "${jobs:-$(nproc)}" ||
        die "${*:3} has not passed ds-check$more" $?
}

# What is made in the root, each in a folder of its own; none: the root itself.
targets=()

# may_build ROOT: fails if something is there, but for what an interrupted build has left, and nothing is
# said of it.
may_build() {
    local names target
    for target in "${targets[@]:-$1}"; do
        names=''
        refuse_linked_rows "$target"
        ! is_there "$target" || names=$(ls -A "$target" 2>&1) || die "${names#ls: }" 75
        [[ $mode == plan || -z $names || $names == tasks || -n $overwrite || -n $resume ]] ||
            die "$target is not empty; try: --resume, or --overwrite"
    done
    [[ $mode != plan || -z $resume ]] || die "plan --resume: a plan keeps what is done anyway"
    [[ $mode != plan || -z $rejects ]] || die "plan --rejects: each task keeps its own; try: finish --rejects"
}

# lock_root ROOT: one build at a time makes a root; the next one waits. (Who had the lock may have removed it.)
lock_root() {
    local lock='' tries=0
    [[ -d /dev/fd/ ]] || die "/dev/fd is not there: /proc must be mounted" 75
    until [[ -n $lock && $1/tasks/here -ef /dev/fd/$lock ]]; do
        [[ -z $lock ]] || exec {lock}>&-
        lock=''
        ((tries++ < 100)) && mkdir -p -- "$1/tasks" || break
        { exec {lock}>>"$1/tasks/here"; } || continue
        run flock "$lock" || break
    done 2>/dev/null
    [[ -n $lock && $1/tasks/here -ef /dev/fd/$lock ]] || die "$1/tasks/here: cannot be locked" 75
}

# leave ROOT CODE: exits; what only the lock has made goes.
leave() {
    rm -f -- "$1/tasks/here"
    rmdir -- "$1/tasks" "$1" 2>/dev/null || true
    exit "$2"
}

# die_of_task ROOT CODE
die_of_task() {
    local kept way="--resume"
    kept=$(kept_of "$1")
    [[ -z $overwrite ]] || way+=" in place of --overwrite"
    [[ $kept == no* ]] || kept+=" for $way"
    die "a ${made:-shard} failed; $kept" "$2"
}

# make_all ROOT INPUT ds-plan make ... -- SCRIPT OPTIONS...: prints the plan, or makes all of it on this machine:
# tasks side by side, and threads in each. With --resume, what was made in this way is kept. The manifest of INPUT
# is checked with what is made; '' has none.
make_all() {
    local root=$1 input=$2 most=${jobs:-$(nproc)} again=() began=$EPOCHREALTIME
    shift 2
    if [[ $mode == plan ]]; then
        exec "${@:1:3}" ${jobs:+--threads "$jobs"} ${overwrite:+--overwrite} "${@:4}"
    fi
    lock_root "$root"
    # Whoever had the lock may have made it.
    (may_build "$root") || leave "$root" $?
    if [[ -n $overwrite ]]; then
        find "$root/tasks" -mindepth 1 -maxdepth 1 ! -name here -exec rm -rf -- {} +
        again=(--again)
    fi
    building=$root
    run "${@:1:3}" --here "$most" ${quiet:+"$quiet"} ${overwrite:+--overwrite} ${resume:+--resume} "${@:4}" >/dev/null || leave "$root" $?
    run ds-plan work "$root" --jobs "$most" "${again[@]}" ${quiet:+"$quiet"} --progress "$progress" ||
        die_of_task "$root" $?
    run ds-plan finish "$root" --here --jobs "$most" "${again[@]}" --since "$began" \
        ${rejects:+--rejects "$rejects"} ${quiet:+"$quiet"} || exit
    building=''
    rm -rf -- "$root/tasks"
    check_all "$input" "" "${targets[@]:-$root}"
}

# divide_inputs WHAT OUT: the positional arguments into: inputs, and `input`, the first. Of `-` what stdin has is kept
# in a file until the script ends: tasks read it again, and in parts.
divide_inputs() {
    ((${#positional[@]} >= 2)) || die "$1 and $2 are required; see --help"
    inputs=("${positional[@]:0:${#positional[@]}-1}")
    local at
    for at in "${!inputs[@]}"; do
        [[ ${inputs[at]} == - ]] || continue
        [[ $mode == build ]] || die "$mode -: tasks read files"
        [[ -z ${kept_stdin-} ]] || die "- is given twice"
        [[ ! -t 0 ]] || die "stdin is a terminal; see --help"
        kept_stdin=$(mktemp -d) || exit 75
        trap 'rm -rf -- "$kept_stdin"' EXIT
        inputs[at]=$kept_stdin/stdin
        run cat >"${inputs[at]}" || die "stdin cannot be kept in $kept_stdin" 75
        [[ -s ${inputs[at]} ]] || die "stdin is empty; its producer died?" 75
    done
    input=${inputs[0]}
}
inputs=()

# task_option FLAG VALUE: what ds-plan says of a task, into: name, shard, slice, known, report.
task_option() {
    case $1 in
    --name) name=$2 ;;
    --shard) shard=$2 ;;
    --slice) slice=$2 ;;
    --known-files) known=("$1" "$2") ;;
    --progress-to) report=("$1" "$2") ;;
    esac
}
# shellcheck disable=SC2034
name='' shard='' slice='' known=() report=()

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
