# shellcheck shell=bash
# What runs where, seen from outside of the hosts of tools/cluster-test.sh.

# running_now: a line `HOST TASK` for each task that runs, by the processes of the hosts.
running_now() {
    # shellcheck disable=SC2016
    ps -e -o pidns= -o args= | awk '
        BEGIN { for (n = 1; n <= 3; n++) { if ((getline ns < ("'"$place"'/node" n ".ns")) > 0) host[ns] = "node" n } }
        $1 in host && $2 ~ /\/ds-plan$/ && $3 == "run" { print host[$1], $6 }'
}

# tasks_on HOST
tasks_on() { running_now | awk -v host="$1" '$1 == host { print $2 }'; }

# twice TASKS: those of them that run twice at this moment, also on one host.
twice() {
    running_now | awk -v tasks="$1" '
        BEGIN { split(tasks, list); for (i in list) wanted[list[i]] }
        $2 in wanted { where[$2] = where[$2] " " $1; count[$2]++ }
        END { for (task in count) if (count[task] > 1) print task " on" where[task] }'
}

tasks_done() { find "$tasks_dir" -mindepth 2 -maxdepth 2 -name done.json; }

# all_done TASKS: says so if they are.
all_done() {
    local task
    for task in $1; do [[ -e $tasks_dir/$task/done.json ]] || return 0; done
    echo "$1"
}

# made_by TASKS: on which hosts the parts were made, by their receipts.
made_by() {
    local task
    for task in $1; do jq -r '"\(.task) on \(.host)"' "$tasks_dir/$task/done.json"; done
}

# expect WHAT COMMAND...: waits until the command prints something, which is in `seen` then.
expect() {
    local what=$1 end=$((SECONDS + 600))
    shift
    until seen=$("$@") && [[ -n $seen ]]; do
        ((SECONDS < end)) || die "$engine, $product: in vain for ten minutes: $what" 1
        sleep 0.2
    done
    seen=$(sort <<<"$seen")
}

# at_least N COMMAND...: what the command prints, if that is so many lines.
at_least() {
    local lines
    lines=$("${@:2}")
    [[ -n $lines ]] && (($(wc -l <<<"$lines") >= $1)) && echo "$lines"
}

# none COMMAND...: says so if the command prints nothing.
none() { [[ -n $("$@") ]] || echo none; }

one_line() { tr '\n' ',' <<<"$1" | sed 's/,$//; s/,/, /g'; }

# watch: a log of what runs, each second, for whoever has to find out why something went wrong.
watch() {
    while sleep 1; do
        date +%T
        running_now | sort
    done >>"$place/log/running"
}
