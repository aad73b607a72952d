# shellcheck shell=bash
# Slurm on the hosts of tools/cluster-test.sh: slurmctld on the controller, slurmd on three nodes.

# make_slurm: its configuration, and munged with a key of its own.
make_slurm() {
    local slurm=$place/slurm
    mkdir -p "$slurm/munge" "$slurm/state"
    chmod 755 "$slurm" "$slurm/munge"
    (umask 077 && head -c 1024 /dev/urandom >"$slurm/munge/key")
    # One munged for all hosts: they reach its socket over the shared file system.
    munged --force --key-file="$slurm/munge/key" --socket="$slurm/munge/socket" \
        --pid-file="$slurm/munge/pid" --log-file="$place/log/munged" --seed-file="$slurm/munge/seed"
    # Times are short, so that a lost node is seen within seconds.
    cat >"$slurm/slurm.conf" <<EOF
ClusterName=small
SlurmctldHost=controller($net.254)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$slurm/munge/socket,cred_expire=5
StateSaveLocation=$slurm/state
SlurmdSpoolDir=$slurm/%n
SlurmctldPidFile=$slurm/slurmctld.pid
SlurmdPidFile=$slurm/%n/pid
SlurmctldLogFile=$place/log/slurmctld
SlurmdLogFile=$place/log/slurmd.%n
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
JobCompType=jobcomp/filetxt
JobCompLoc=$place/log/jobs
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
MpiDefault=none
ReturnToService=2
SlurmdTimeout=6
TCPTimeout=2
MessageTimeout=5
KillWait=1
MinJobAge=3600
RequeueExit=75
NodeName=node1 NodeAddr=$net.1 CPUs=2 RealMemory=8192
NodeName=node2 NodeAddr=$net.2 CPUs=2 RealMemory=8192
NodeName=node3 NodeAddr=$net.3 CPUs=2 RealMemory=8192
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
EOF
    export SLURM_CONF=$slurm/slurm.conf
}

start_slurmctld() {
    slurmctld -D -f "$SLURM_CONF" >>"$place/log/slurmctld.out" 2>&1 &
    slurmctld_pid=$!
    disown
}

slurm_start() {
    local n
    rm -f log/finish
    start_slurmctld
    for n in 1 2 3; do start_host "$n"; done
    expect "three nodes are idle" at_least 3 sinfo -h -N -t idle
    slurm_codes
    slurm_submit tasks.txt
}

# slurm_submit TASKS: the commands of docs/cluster.md, two lines a job.
slurm_submit() {
    local lines
    lines=$(wc -l <"$1")
    job=$(sbatch --parsable --export=ALL,PER=2 --array=0-$(((lines + 1) / 2 - 1))%64 \
        --output="log/%A_%a.log" scripts/slurm/task.sbatch "$PWD/$1")
    last=$(sbatch --parsable --dependency=afterany:"$job" --output=log/finish \
        --wrap "$script finish $root $PWD/tasks.txt")
}

# slurm_codes: which exit codes are tried again, by jobs that have nothing else to do.
slurm_codes() {
    local codes n restarts=()
    rm -f once.75 once.TERM
    {
        echo "exit 1"
        echo "exit 2"
        echo "[ -e $place/once.75 ] || { touch $place/once.75; exit 75; }"
        echo "[ -e $place/once.TERM ] || { touch $place/once.TERM; kill \$\$; }"
    } >codes.txt
    codes=$(sbatch --parsable --array=0-3 --output="log/codes_%a.log" scripts/slurm/task.sbatch "$PWD/codes.txt")
    expect "the jobs of exit codes end" none squeue -h -j "$codes"
    for n in 0 1 2 3; do
        restarts+=("$(scontrol -o show job "${codes}_$n" | grep -o -E ' (JobState|Restarts)=[A-Z0-9]+' | tr -d '\n')")
    done
    report_fault "exit codes" "exit 1:${restarts[0]}; exit 2:${restarts[1]}; 75, then 0:${restarts[2]}; TERM, then 0:${restarts[3]}"
    [[ "${restarts[*]}" == *FAILED*=0*FAILED*=0*COMPLETED*=1*COMPLETED*=1* ]] || die "exit codes: ${restarts[*]}" 1
}

# slurm_misses N: it has seen that a node does not answer.
slurm_misses() { expect "node$1 is down" sinfo -h -N -n "node$1" -t down; }

# slurm_retries: jobs of the array that it has requeued for their exit code.
slurm_retries() { grep "ArrayJobId=$job .* ExitCode=75:0" log/jobs; }

# A slurmctld that is killed has forgotten its last seconds: jobs that it has just started are unknown
# to it afterwards, and it gives their numbers again. It has saved what is older.
slurm_kill() {
    sleep 8
    kill -KILL "$slurmctld_pid"
}

# slurm_restart TASKS: they end while nobody hears of it.
slurm_restart() {
    rm "$place"/hold/*
    expect "the tasks end without slurmctld" all_done "$1"
    start_slurmctld
    report_fault "slurmctld killed" "$(one_line "$1") were running, and were done before it was started again"
}

slurm_wait() {
    rm -f log/released
    expect "all jobs end" no_jobs
    report_engine "$(job_states)$([[ ! -e log/released ]] || echo "; released: $(one_line "$(<log/released)")")"
}

# no_jobs: says so if there are none. A node that comes back while it still knows a job that is given to
# it again is drained, and the job held: both are let go, as docs/cluster.md says.
no_jobs() {
    local node held
    held=$(squeue -h -r -t PENDING -o '%i %r' | awk 'tolower($0) ~ /held/ { print $1 }')
    for node in $(sinfo -h -N -t drain -o %N); do
        scontrol update nodename="$node" state=resume
    done
    if [[ -n $held ]]; then
        echo "$held" >>log/released
        # shellcheck disable=SC2086
        scontrol release $held
    fi
    none squeue -h
}

# job_states: how often jobs of the array ended in each way.
job_states() {
    awk -v job="$job" '$0 ~ "ArrayJobId=" job " " {
        match($0, /JobState=[A-Z_]+/); state = substr($0, RSTART + 9, RLENGTH - 9)
        match($0, / ExitCode=[0-9:]+ *$/); code = substr($0, RSTART + 10, RLENGTH - 10)
        count[state " " code]++
    } END { for (key in count) printf "%s%d x %s", (n++ ? ", " : ""), count[key], key }' log/jobs
}

slurm_again() {
    slurm_submit again.txt
    expect "all jobs end" no_jobs
}

slurm_finish() {
    [[ -e $root/manifest.json ]] || die "slurm, $product: the last job has not finished: $(<log/finish)" 1
}

slurm_end() {
    local n
    for n in 1 2 3; do kill_host "$n"; done
    kill -KILL "$slurmctld_pid"
}
