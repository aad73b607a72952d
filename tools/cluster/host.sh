#!/usr/bin/env bash
# One host of tools/cluster-test.sh, in namespaces of its own: the first of its processes.
#
#     host.sh N PLACE [TASKS_DIR]
set -eu
n=$1 place=$2 full=${3-}

hostname "node$n"
ip link set lo up
until ip link show uplink >/dev/null 2>&1; do sleep 0.05; done
ip address add "10.77.0.$n/24" dev uplink
ip link set uplink up

# A disk of its own in place of the shared one, too small for one part.
if [[ -n $full ]]; then
    cp "$full/plan.json" "$place/node$n.plan"
    mount -t tmpfs -o size=256k tmpfs "$full"
    cp "$place/node$n.plan" "$full/plan.json"
fi

/usr/sbin/sshd -D -e -f "$place/ssh/sshd_config" &
if [[ -f $place/slurm/slurm.conf ]]; then
    mkdir -p "$place/slurm/node$n"
    slurmd -D -f "$place/slurm/slurm.conf" -N "node$n" &
fi
while :; do wait -n || true; sleep 1; done
