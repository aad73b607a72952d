#!/usr/bin/env bash
# Builds on two small clusters, GNU parallel over ssh and Slurm, while hosts, their network, their
# disk and the controller fail, and compares what they make with a build on one machine.
set -euo pipefail

usage() {
    cat <<'EOF'
Usage: tools/cluster-test.sh [options]

  The clusters are on this machine: a controller and three hosts, each with its own network, processes
  and mounts (namespaces), sshd, slurmd. Everything is in one temporary directory and ends with the
  script. It runs as root, with Debian's openssh-server, parallel, slurmctld, slurmd, slurm-client,
  munge and iproute2.

  The input is the bundled example, repeated with other ids, and its games, many times, for a pack; with
  GRISTMILL_DATA the reference shard and its games.

  --engine parallel|slurm   only this one (both)
  --product root|pack       only this one (both)
  --input DIR               raw SYNTH rows for the root in place of the reference shard (no pack)
  --bin DIR                 the filters (target/release)
  --pause SECONDS           how long each task stops halfway, so that it is there when a fault strikes (6)
  -o FILE                   write the result there as well, as Markdown
  --keep DIR                keep the logs of all that ran in DIR

  Exit codes: 0 all is as on one machine, 1 it is not, or a fault did not strike, 2 something is missing.
EOF
}

tools=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd) scripts=${tools%/*}/scripts
die() {
    echo "cluster-test.sh: $1" >&2
    exit "${2:-2}"
}

engines='parallel slurm' products='root pack' raw='' bin=${scripts%/*}/target/release pause=6 output='' keep=''
arguments=("$@")
while (($#)); do
    case $1 in
    -h | --help) usage && exit 0 ;;
    --engine | --product | --input | --bin | --pause | -o | --keep) (($# > 1)) || die "$1 needs a value" ;;&
    --engine) engines=$2 ;;
    --product) products=$2 ;;
    --input) raw=$(cd "$2" && pwd) ;;
    --bin) bin=$(cd "$2" && pwd) ;;
    --pause) pause=$2 ;;
    -o) output=$2 ;;
    --keep) keep=$2 ;;
    *) die "unknown option $1; see --help" ;;
    esac
    shift 2
done
[[ " parallel slurm parallel slurm " == *" $engines "* ]] || die "--engine $engines: expected parallel or slurm"
if [[ -n $raw ]]; then
    [[ $products != pack ]] || die "--input is for the root; see --help"
    products=root
fi
[[ " root pack root pack " == *" $products "* ]] || die "--product $products: expected root or pack"
[[ $pause =~ ^[0-9]+$ ]] || die "--pause needs a number, not '$pause'"

# needs PACKAGE COMMANDS...
needs() {
    local command
    for command in "${@:2}"; do
        PATH=$PATH:/usr/sbin type -P "$command" >/dev/null || die "$command is not there; try: apt-get install $1"
    done
}

# The first call: looks at what is there, and starts the second in namespaces of its own, so that
# nothing is left when it ends, however it ends.
if [[ -z ${GRISTMILL_CLUSTER-} ]]; then
    ((EUID == 0)) || die "must be root, for namespaces, sshd and slurmd"
    needs iproute2 ip
    needs util-linux unshare nsenter
    needs openssh-server sshd
    needs openssh-client ssh ssh-keygen
    needs jq jq
    needs parallel parallel
    [[ $engines != *slurm* ]] || {
        needs slurmctld slurmctld
        needs slurmd slurmd
        needs slurm-client sbatch squeue scontrol
        needs munge munged
    }
    for filter in ds-plan ds-cat ds-check ds-manifest synth-harmony harmony-tok span-mask mmidx-write mx-decode npy-pack; do
        [[ -x $bin/$filter ]] || die "$bin/$filter is not there; try: cargo build --release"
    done
    unshare --net ip link add hosts type bridge 2>/dev/null ||
        die "no networks can be made here (CAP_SYS_ADMIN and CAP_NET_ADMIN are needed)"
    place=$(mktemp -d)
    cluster=''
    finished() {
        [[ -z $cluster ]] || kill -KILL "$cluster" 2>/dev/null || true
        wait || true
        if [[ -n $keep ]]; then mkdir -p "$keep" && cp -r "$place"/log "$keep"; fi
        rm -rf "$place"
    }
    trap finished EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
    GRISTMILL_CLUSTER=$place unshare --net --mount --pid --uts --ipc --fork --kill-child --mount-proc \
        bash "$tools/cluster-test.sh" "${arguments[@]}" &
    cluster=$!
    code=0
    wait "$cluster" || code=$?
    cluster=''
    ((code != 0)) || [[ -z $output ]] || cp "$place/result.md" "$output"
    exit "$code"
fi

place=$GRISTMILL_CLUSTER shown=${arguments[*]}
unset GRISTMILL_CLUSTER
export PATH=$PATH:/usr/sbin LC_ALL=C
for part in hosts watch input faults parallel slurm report; do
    # shellcheck source=/dev/null
    . "$tools/cluster/$part.sh"
done

mkdir "$place/log" "$place/hold"
make_network
make_keys
prepare_filters
[[ $engines != *slurm* ]] || make_slurm
cd "$place"
PATH=$place/bin:$PATH
report_machine
watch &
for product in $products; do
    make_input
    build_alone
    for engine in $engines; do build_on_cluster; done
done
