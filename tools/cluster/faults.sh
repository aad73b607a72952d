# shellcheck shell=bash
# One build on a cluster of tools/cluster-test.sh, and the faults in its middle. An engine has the
# functions ENGINE_{start,misses,retries,kill,restart,wait,again,finish,end}.

build_on_cluster() {
    local root=$place/$engine.$product started=$SECONDS rounds=0 files
    tasks_dir=$root/tasks
    # shellcheck disable=SC2086
    "$script" plan "$input" "$root" --tasks 40 $options >tasks.txt
    tasks=$(wc -l <tasks.txt)
    ((tasks >= 39 && tasks <= 41)) || die "$tasks tasks, where 40 were wanted" 1
    report_build
    "${engine}_start"
    kill_node
    fill_disk
    kill_controller
    cut_network
    "${engine}_wait"
    lose_part
    while "$script" status "$root" tasks.txt --todo >again.txt && [[ -s again.txt ]]; do
        rounds=$((rounds + 1))
        ((rounds < 5)) || die "$engine, $product: there is still something to do: $(head -n 1 again.txt)" 1
        report_fault "\`status --todo\`" "$(wc -l <again.txt) to be run again"
        "${engine}_again"
    done
    "${engine}_finish"
    "${engine}_end"
    files=$(same_as_alone "$root")
    report_built "$files" $((SECONDS - started))
    rm -r "$root"
}

# kill_node: a host dies while it is at work.
kill_node() {
    expect "three tasks are done" at_least 3 tasks_done
    expect "two tasks run on node1" at_least 2 tasks_on node1
    killed=$seen
    kill_host 1
    "${engine}_misses" 1
    report_fault "node1 killed" "$(one_line "$killed") were running there"
}

# fill_disk: the host comes back with a full disk, and is mended after a task has failed there.
fill_disk() {
    start_host 1 full
    expect "a task of node1 says that its disk is full" failed_on_small_disk
    report_fault "node1's disk full" \
        "it came back with 256 KiB for \`ROOT/tasks\` (tmpfs): $(one_line "$seen")"
    expect "what has failed is tried again" "${engine}_retries"
    kill_host 1
    start_host 1
}

# failed_on_small_disk: what tasks of node1 have left there, which no other host sees.
failed_on_small_disk() {
    local failed
    failed=/proc/$(<"$place/node1.pid")/root/$tasks_dir
    (cd "$failed" && jq -r 'select(.message | contains("No space left on device")) |
        "\(input_filename | split("/")[1]): exit \(.exit_code) (\(.message | split(": ")[-1]))"' \
        ./*/failed.json) 2>/dev/null || true
}

# kill_controller: with nobody to hear of them, tasks run on.
kill_controller() {
    tee "$place"/hold/node{1,2,3} >/dev/null <<<all
    expect "three tasks run" at_least 3 running_now
    "${engine}_kill"
    local running n
    running=$(awk '{ print $2 }' <<<"$seen" | sort -u)
    # The others run: if they waited as well, they could take all places before a retry of these.
    for n in 1 2 3; do
        echo "$running" >"$place/named"
        mv "$place/named" "$place/hold/node$n"
    done
    "${engine}_restart" "$running"
}

# lose_part: the directory of a finished task goes.
lose_part() {
    local lost
    lost=$(tail -n 1 tasks.txt | awk '{ print $NF }')
    rm -r "${tasks_dir:?}/$lost"
    report_fault "a part removed" "$("$script" status "$root" tasks.txt 2>/dev/null | grep -v ' done$')"
}

# held_on HOST: tells the tasks there to wait that are not done yet, and prints those that do. (Of a
# controller that was killed, tasks may still run there that are done elsewhere.)
held_on() {
    local task
    for task in $(tasks_on "$1"); do
        [[ -e $tasks_dir/$task/done.json ]] || echo "$task" >>"$place/hold/$1"
    done
    sort -u "$place/hold/$1.waiting" 2>/dev/null || true
}

# cut_network: the tasks of a host run on without it, and once more elsewhere; then all of them end.
cut_network() {
    local cut
    expect "two tasks wait on node2" at_least 2 held_on node2
    cut=$seen
    cut_host 2
    expect "a task of node2 runs twice" twice "$cut"
    rm "$place"/hold/*
    report_fault "node2's network cut" \
        "$(one_line "$cut") were running there and ran on; beside their retry: $(one_line "$seen")"
    expect "the tasks of node2 end" none tasks_on node2
    join_host 2
}
