# shellcheck shell=bash
# Hosts of tools/cluster-test.sh: each has a network, processes, mounts and a name of its own, and
# the disk of the machine, which is the shared file system.

net=10.77.0

# make_network: the controller's own end of it. Called in namespaces of its own.
make_network() {
    hostname controller
    ip link set lo up
    ip link add hosts type bridge
    ip address add "$net.254/24" dev hosts
    ip link set hosts up
    mount -t tmpfs tmpfs /run
    mkdir -m 755 /run/sshd /run/munge
    {
        echo "127.0.0.1 localhost"
        echo "$net.254 controller"
        for n in 1 2 3; do echo "$net.$n node$n"; done
    } >"$place/hosts_file"
    mount --bind "$place/hosts_file" /etc/hosts
}

# make_keys: what ssh and sshd need, away from the user's own.
make_keys() {
    mkdir "$place/ssh" "$place/home"
    ssh-keygen -q -t ed25519 -N '' -f "$place/ssh/host"
    ssh-keygen -q -t ed25519 -N '' -f "$place/ssh/user"
    cat >"$place/ssh/sshd_config" <<EOF
HostKey $place/ssh/host
AuthorizedKeysFile $place/ssh/user.pub
PermitRootLogin prohibit-password
StrictModes no
UsePAM no
SetEnv HOME=$place/home
PidFile none
EOF
    # A host that does not answer is given up after three seconds.
    cat >"$place/ssh/config" <<EOF
IdentityFile $place/ssh/user
StrictHostKeyChecking no
UserKnownHostsFile /dev/null
LogLevel ERROR
ConnectTimeout 3
ServerAliveInterval 1
ServerAliveCountMax 3
EOF
}

# start_host N [full]: with sshd and, where there is a slurm.conf, slurmd. `full`: what it writes below
# $tasks_dir goes to a disk that is too small for one part.
start_host() {
    local n=$1 link=host$1 try
    unshare --net --mount --pid --uts --ipc --fork --kill-child --mount-proc \
        bash "$tools/cluster/host.sh" "$n" "$place" "${2:+$tasks_dir}" \
        >>"$place/log/node$n" 2>&1 &
    local pid=$!
    disown
    echo "$pid" >"$place/node$n.pid"
    # Until it is in its network.
    until [[ $(readlink "/proc/$pid/ns/net") != "$(readlink /proc/self/ns/net)" ]]; do sleep 0.05; done
    ip link del "$link" 2>/dev/null || true
    # A host that comes back has the address that its neighbours know.
    ip link add "$link" type veth peer name uplink address "02:00:00:00:00:0$n" netns "$pid"
    ip link set "$link" master hosts up
    for ((try = 0; ; try++)); do
        ssh -F "$place/ssh/config" "node$n" true </dev/null 2>/dev/null && break
        ((try < 50)) || die "node$n: no ssh after a while: $(tail -n 3 "$place/log/node$n")" 1
        sleep 0.2
    done
    readlink "/proc/$pid/ns/pid_for_children" | tr -dc '0-9\n' >"$place/node$n.ns"
}

# kill_host N: all its processes at once, as when its power fails.
kill_host() {
    kill -KILL "$(<"$place/node$1.pid")"
    while grep -q "^node$1 " <(running_now); do sleep 0.05; done
}

cut_host() { ip link set "host$1" down; }
join_host() { ip link set "host$1" up; }
