# shellcheck shell=bash
# GNU parallel over ssh on the hosts of tools/cluster-test.sh.

export PARALLEL_SSH="ssh -F $place/ssh/config" PARALLEL_HOME=$place/parallel

parallel_start() {
    local n
    mkdir -p "$PARALLEL_HOME"
    touch "$PARALLEL_HOME/will-cite"
    for n in 1 2 3; do start_host "$n"; done
    printf '2/node%s\n' 1 2 3 >hosts
    parallel_run
}

# The command of docs/cluster.md.
parallel_run() {
    parallel --sshloginfile hosts --joblog log/joblog --retries 3 --filter-hosts <tasks.txt \
        >>log/parallel.out 2>>log/parallel.err &
    parallel_pid=$!
}

# parallel_misses N: it gives a host up after three seconds, and has only its log of what is done.
parallel_misses() { sleep 5; }

# parallel_retries: of a task that fails it says nothing as long as it is tried again.
parallel_retries() { echo unknown; }

parallel_kill() {
    kill -KILL "$parallel_pid"
    wait "$parallel_pid" 2>/dev/null || true
}

# parallel_restart TASKS: the same command again. The tasks that ran when it was killed run on.
parallel_restart() {
    parallel_run
    expect "a task runs beside that of the killed parallel" twice "$1"
    rm "$place"/hold/*
    report_fault "parallel killed" \
        "$(one_line "$1") were running; the same command again; beside their retry: $(one_line "$seen")"
    expect "these tasks are done" all_done "$1"
    expect "the tasks of the killed parallel end" none twice "$1"
}

parallel_wait() {
    local code=0
    wait "$parallel_pid" || code=$?
    report_engine "exit $code; $(awk 'NR > 1 && $7 == 0' log/joblog | wc -l) of $tasks lines with exit 0 in its log"
}

parallel_again() {
    parallel --sshloginfile hosts --retries 3 <again.txt >>log/parallel.out 2>>log/parallel.err || true
}

parallel_finish() { "$script" finish "$root" tasks.txt --delete-parts >log/finish 2>&1 || die "finish failed" 1; }

parallel_end() {
    local n
    for n in 1 2 3; do kill_host "$n"; done
}
