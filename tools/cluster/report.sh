# shellcheck shell=bash
# The result of tools/cluster-test.sh: lines on the screen, and a page.

result=$place/result.md

version() { dpkg-query -W -f '${Version}' "$1" 2>/dev/null || echo 'not from a package'; }

report_machine() {
    local package packages='openssh-server parallel iproute2 util-linux'
    [[ $engines != *slurm* ]] || packages+=' slurmctld slurmd munge'
    {
        echo "# Two small clusters, $(date -u +%F)"
        echo
        echo "\`tools/cluster-test.sh\`: the same plan run by GNU parallel over ssh and by a Slurm array, on three"
        echo "hosts that are namespaces of one machine (network, processes, mounts, name), with a fault after the"
        echo "other in the middle of it. What is made is compared with a build on one machine, file by file (in"
        echo "manifests all but \`run\`). Each task stops for $pause s halfway through its stream, so that tasks are"
        echo "at work, with half written files, when a fault strikes; where a line says that tasks ran on beside"
        echo "their retry, they were held there until the retry had begun."
        echo
        echo "| machine | |"
        echo "| --- | --- |"
        echo "| processor | $(awk -F ': ' '/model name/ { print $2; exit }' /proc/cpuinfo), $(nproc) cores |"
        echo "| load | $(cut -d ' ' -f 1-3 /proc/loadavg) before |"
        echo "| system | $(uname -sr), $(. /etc/os-release && echo "$PRETTY_NAME") |"
        for package in $packages; do
            echo "| $package | $(version "$package") |"
        done
        echo
        echo '```'
        echo "${GRISTMILL_DATA:+GRISTMILL_DATA=DIR }tools/cluster-test.sh${shown:+ $shown}" | sed 's| /[^ ]*| PATH|g'
        echo '```'
    } >"$result"
}

# report_alone SECONDS
report_alone() {
    {
        echo
        echo "## A ${product/root/dataset}: $(du -shL --apparent-size "$input" | cut -f 1)B of input, $(find "$place/alone.$product" -type f | wc -l) files"
        echo
        echo "\`$script IN ROOT $options\`: $1 s on one machine."
    } | tee -a "$result"
}

report_build() {
    local build
    build=$(jq -r '.build | "\(.git_sha // "?" | .[:12])\(if .git_dirty then ", changed" else "" end)"' "$tasks_dir/plan.json")
    {
        echo
        case $engine in
        parallel) echo "### GNU parallel over ssh: $tasks tasks, three hosts with two at a time" ;;
        slurm) echo "### Slurm: $tasks tasks in jobs of two lines, three nodes of two processors" ;;
        esac
        echo
        echo "Filters of commit $build."
        echo
        echo "| fault | what it did |"
        echo "| --- | --- |"
    } | tee -a "$result"
}

# report_fault NAME TEXT
report_fault() { echo "| $1 | $2 |" | sed "s|$place/||g" | tee -a "$result"; }

# report_engine TEXT: how the engine says that it ended, and what became of the tasks of the killed host.
report_engine() {
    report_fault "end" "$1; those of the killed host were made again: $(one_line "$(made_by "$killed")")"
}

# report_built FILES SECONDS
report_built() { report_fault "finish" "**$1 files, all as on one machine**; $2 s in all"; }

