#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Private Slurm clusters on this machine, one per site: each a slurmctld and a slurmd on loopback ports, all behind one munged.
# For root or an ordinary user; nothing outside one folder is written, and no system service is touched. See docs/slurm.md.
set -euo pipefail
umask 077

readonly EX_USAGE=64 EX_UNAVAILABLE=69 EX_OSERR=71 EX_CANTCREAT=73 EX_TEMPFAIL=75
readonly SOCKET_LIMIT=107     # bytes of a path in sockaddr_un
readonly READY_SECONDS=20     # for daemons to come up
readonly STOP_SECONDS=5       # for a daemon to go down before it is killed
readonly FIRST_PORT=20000 LAST_PORT=32000
PATH=$PATH:/usr/sbin:/sbin
export LC_ALL=C TZ=UTC

usage() {
    cat <<EOT
usage: private_clusters.sh up [--if-needed] [SITE...]   start one cluster per site [CAISO_NORTH SPP_TX NEM_SA]
       private_clusters.sh down                         cancel their jobs, stop them, leave nothing running
       private_clusters.sh status                       nodes and jobs of each
       private_clusters.sh env SITE                     the line that points Slurm's commands at one: eval "\$(... env SITE)"

Environment:
  CURTAIL_CLUSTERS            working folder [the one that build/clusters links to while there is one, else
                              \${TMPDIR:-/tmp}/curtail-<hash of checkout>-<uid>]
  CURTAIL_CLUSTER_CPUS        CPUs of each cluster [number of cores, at least 4]
  CURTAIL_CLUSTER_KILL_WAIT   seconds between TERM and KILL of a cancelled job [10]

Exit codes: 0 done; 64 wrong command line; 69 a program is missing, or \`status\` found nothing up; 71 a daemon did not start;
73 the working folder cannot be made; 75 clusters are already up, or another up or down is at work.
EOT
}

# A terminal that is gone refuses words; that is no reason to stop half way.
say() { echo "private_clusters.sh: $*" >&2 || true; }
die() { local code=$1; shift; say "$*"; exit "$code"; }

checkout=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)
marker=.curtail-clusters
if [[ -n ${CURTAIL_CLUSTERS:-} ]]; then
    root=$CURTAIL_CLUSTERS
    link=
else
    link=$checkout/build/clusters
    root=$(readlink "$link" || true)
    # TMPDIR may have been another one when they came up.
    if [[ ! -f $root/$marker ]]; then
        hash=$(printf %s "$checkout" | sha256sum)
        root=${TMPDIR:-/tmp}/curtail-${hash:0:8}-$(id -u)
    fi
fi
[[ $root == /* ]] || die $EX_USAGE "working folder $root: must be an absolute path; set CURTAIL_CLUSTERS or TMPDIR"
socket=$root/munge/socket
user=$(id -un)
host=$(hostname -s)

# ---- processes: a line "NAME PID STARTED" each, STARTED as in field 22 of /proc/PID/stat, so that a reused pid is not mistaken

started_at() { # PID: prints its start time; fails if there is no such process or only its corpse
    local stat
    stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 1
    stat=${stat##*) }
    local -a field
    read -ra field <<<"$stat"
    [[ ${field[0]} != Z ]] && echo "${field[19]}"
}

is_alive() { # PID STARTED
    [[ $(started_at "$1" || true) == "$2" ]]
}

start() { # NAME COMMAND...: runs a daemon in its own session, in the foreground of nobody
    local name=$1 pid started
    shift
    setsid "$@" </dev/null >>"$root/$name.out" 2>&1 9>&- &
    pid=$!
    disown
    started=$(started_at $pid) || return 1
    echo "$name $pid $started" >>"$root/processes"
}

stop() { # PID STARTED: TERM, later KILL
    local i
    is_alive "$1" "$2" || return 0
    kill "$1" 2>/dev/null || true
    for ((i = 0; i < STOP_SECONDS * 20; ++i)); do
        is_alive "$1" "$2" || return 0
        sleep 0.05
    done
    kill -9 "$1" 2>/dev/null || true
}

count_alive() {
    local name pid started alive=0
    [[ -f $root/processes ]] || { echo 0; return; }
    while read -r name pid started; do
        if is_alive "$pid" "$started"; then alive=$((alive + 1)); fi
    done <"$root/processes"
    echo $alive
}

# ---- folder and ports

make_root() {
    ((${#socket} <= SOCKET_LIMIT)) ||
        die $EX_CANTCREAT "working folder $root is too long: the path of munge's socket has ${#socket} characters, at most $SOCKET_LIMIT work; set TMPDIR to a shorter folder"
    if ! mkdir -m 700 "$root" 2>/dev/null && [[ -L $root || ! -d $root ]]; then
        die $EX_CANTCREAT "cannot make the working folder $root; set TMPDIR to a folder that can be written"
    fi
    [[ $(stat -c %u:%a "$root") == "$(id -u):700" ]] ||
        die $EX_CANTCREAT "working folder $root belongs to somebody else or is open to others (mode 700 is wanted); remove it or set TMPDIR"
    # What `down` removes must be a folder of ours, whatever CURTAIL_CLUSTERS says.
    [[ -f $root/$marker || -z $(ls -A "$root") ]] ||
        die $EX_CANTCREAT "$root holds something else than clusters; name an empty folder"
    : >"$root/$marker"
}

remove_root() {
    local site
    local -a sites=()
    [[ ! -f $root/sites ]] || read -ra sites <"$root/sites"
    for site in munge sites processes lock "$marker" "${sites[@]}"; do rm -rf "${root:?}/$site"; done
    rm -f "$root"/*.out
    rmdir "$root" 2>/dev/null || say "$root is not empty, it stays"
}

take_lock() {
    exec 9>"$root/lock"
    flock -n 9 || die $EX_TEMPFAIL "another up or down of $root is at work; wait until it has finished"
}

make_link() {
    [[ -n $link ]] || return 0
    (umask 022 && mkdir -p "${link%/*}")
    [[ -L $link || ! -e $link ]] || die $EX_CANTCREAT "$link is in the way; remove it"
    ln -sfn "$root" "$link"
}

free_ports() { # COUNT: prints that many ports on which nobody listens
    local -A used=()
    local port count=$1 tries
    while read -r port; do used[$((16#$port))]=1; done < <(awk 'FNR > 1 {sub(/.*:/, "", $2); print $2}' /proc/net/tcp /proc/net/tcp6 2>/dev/null)
    port=$((FIRST_PORT + (RANDOM * 32768 + RANDOM) % (LAST_PORT - FIRST_PORT)))
    for ((tries = 0; count > 0 && tries < LAST_PORT - FIRST_PORT; ++tries)); do
        port=$((port + 1 < LAST_PORT ? port + 1 : FIRST_PORT))
        [[ -n ${used[$port]:-} ]] && continue
        echo $port
        count=$((count - 1))
    done
    ((count == 0))
}

# ---- one cluster

write_conf() { # SITE CTLD_PORT SLURMD_PORT
    local folder=$root/$1 cpus=${CURTAIL_CLUSTER_CPUS:-0}
    if ((cpus == 0)); then cpus=$(nproc); cpus=$((cpus < 4 ? 4 : cpus)); fi
    mkdir -p "$folder"/{state,spool,log}
    cat >"$folder/slurm.conf" <<EOT
ClusterName=$1
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort=$2
SlurmUser=$user
SlurmdUser=$user
AuthType=auth/munge
AuthInfo=socket=$socket
CredType=cred/munge
# Without these two the daemons listen on every interface.
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.pid
SlurmctldLogFile=$folder/log/slurmctld.log
SlurmdLogFile=$folder/log/slurmd.log
MailProg=/bin/true
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
JobCompType=jobcomp/filetxt
JobCompLoc=$folder/log/jobcomp.txt
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
# Jobs start within half a second instead of two.
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=2,sched_min_interval=100000,bf_interval=2,batch_sched_delay=0
ReturnToService=2
SlurmdTimeout=30
KillWait=${CURTAIL_CLUSTER_KILL_WAIT:-10}
# Ended jobs stay visible for a day: they are a private cluster's only accounting.
MinJobAge=86400
# More CPUs than the machine has are fine: a job's ranks share the cores.
SlurmdParameters=config_overrides
NodeName=$host NodeAddr=127.0.0.1 Port=$3 CPUs=$cpus State=UNKNOWN
PartitionName=train Nodes=$host Default=YES MaxTime=INFINITE State=UP
EOT
}

is_ready() { # SITE: the node has registered and is idle
    local shown
    shown=$(SLURM_CONF=$root/$1/slurm.conf timeout 5 scontrol -o show node "$host" 2>/dev/null) || return 1
    [[ $shown == *" State=IDLE "* && $shown == *" SlurmdStartTime=2"* ]]
}

start_all() { # SITE...: fails if any daemon is not ready in time, for instance because somebody took its port meanwhile
    local site i ports
    rm -rf "$root"/munge "$root"/*.out
    mkdir -m 700 "$root/munge"
    head -c 128 /dev/urandom >"$root/munge/key"
    # --force: munged wants its socket's folder open to all users; this one is for its owner alone.
    start munged munged --foreground --force --num-threads=2 --key-file="$root/munge/key" --socket="$socket" \
        --pid-file="$root/munge/pid" --log-file="$root/munge/log" --seed-file="$root/munge/seed" || return 1
    for ((i = 0; i < READY_SECONDS * 50; ++i)); do
        [[ -S $socket ]] && break
        sleep 0.02
    done
    mapfile -t ports < <(free_ports $((2 * $#)))
    for site in "$@"; do
        rm -rf "${root:?}/$site"
        write_conf "$site" "${ports[0]}" "${ports[1]}"
        ports=("${ports[@]:2}")
        SLURM_CONF=$root/$site/slurm.conf start "slurmctld-$site" slurmctld -D -c || return 1
        SLURM_CONF=$root/$site/slurm.conf start "slurmd-$site" slurmd -D -N "$host" || return 1
    done
    for site in "$@"; do
        for ((i = 0; ; ++i)); do
            is_ready "$site" && break
            if ((i == READY_SECONDS * 20)) || (($(count_alive) < 1 + 2 * $#)); then return 1; fi
            sleep 0.05
        done
    done
}

stop_all() {
    local name pid started
    [[ -f $root/processes ]] || return 0
    # Controllers first: they save their state, then the nodes, munged last.
    while read -r name pid started; do stop "$pid" "$started"; done < <(sort -k1,1r "$root/processes" | grep -v ^munged)
    while read -r name pid started; do stop "$pid" "$started"; done < <(grep ^munged "$root/processes")
    rm -f "$root/processes"
}

# ---- jobs

has_controller() { # SITE: without one Slurm's commands only wait for their time-out
    local name pid started
    while read -r name pid started; do
        if [[ $name == "slurmctld-$1" ]] && is_alive "$pid" "$started"; then return 0; fi
    done <"$root/processes"
    return 1
}

cancel_jobs() {
    local conf i
    local -a confs=()
    [[ -f $root/processes ]] || return 0
    for conf in "$root"/*/slurm.conf; do
        if [[ -f $conf ]] && has_controller "$(basename "${conf%/slurm.conf}")"; then confs+=("$conf"); fi
    done
    for conf in "${confs[@]}"; do SLURM_CONF=$conf timeout 5 scancel -u "$user" 2>/dev/null & done
    wait
    for conf in "${confs[@]}"; do
        for ((i = 0; i < (${CURTAIL_CLUSTER_KILL_WAIT:-10} + 10) * 10; ++i)); do
            # An error ends the wait too: a controller that does not answer will not.
            [[ -n $(SLURM_CONF=$conf timeout 5 squeue -h 2>/dev/null || true) ]] || break
            sleep 0.1
        done
    done
}

leftover_steps() { # pids of job steps of our clusters: each has its slurmd's log open
    local folder
    for folder in /proc/[0-9]*; do
        [[ $(cat "$folder/comm" 2>/dev/null) == slurmstepd ]] || continue
        [[ -z $(find "$folder/fd" -lname "$root/*/log/slurmd.log" 2>/dev/null) ]] || echo "${folder#/proc/}"
    done
}

descendants() { # PID
    local child
    local -a children
    read -ra children -d '' < <(cat /proc/"$1"/task/*/children 2>/dev/null) || true
    for child in "${children[@]}"; do
        echo "$child"
        descendants "$child"
    done
}

end_leftover_steps() { # where a controller was dead, its jobs live on
    local step pid
    for step in $(leftover_steps); do
        for pid in $(descendants "$step"); do kill -9 "$pid" 2>/dev/null || true; done
        sleep 0.2
        kill -9 "$step" 2>/dev/null || true
    done
}

# ---- commands

check_programs() {
    local program
    for program in munged slurmctld slurmd sinfo scontrol flock setsid; do
        command -v "$program" >/dev/null ||
            die $EX_UNAVAILABLE "$program is not installed; apt-get install munge slurmctld slurmd slurm-client slurm-wlm-basic-plugins, or run scripts/setup.sh"
    done
}

command_up() {
    local if_needed=0 alive attempt site
    if [[ ${1:-} == --if-needed ]]; then if_needed=1; shift; fi
    local -a sites=("$@")
    ((${#sites[@]})) || sites=(CAISO_NORTH SPP_TX NEM_SA)
    for site in "${sites[@]}"; do
        [[ $site != -* ]] || die $EX_USAGE "unknown option $site; see private_clusters.sh --help"
        [[ $site =~ ^[A-Za-z0-9][A-Za-z0-9_-]{0,31}$ && $site != munge ]] ||
            die $EX_USAGE "bad site name \"$site\": 1 to 32 letters, digits, '_' or '-'"
    done
    check_programs
    make_root
    take_lock
    alive=$(count_alive)
    if ((alive > 0)); then
        local known=
        [[ -f $root/sites ]] && known=$(<"$root/sites")
        if [[ $known == "${sites[*]}" && $alive == $((1 + 2 * ${#sites[@]})) ]]; then
            ((if_needed)) || die $EX_TEMPFAIL "clusters are already up in $root ($known); run \`private_clusters.sh down\` first, or \`up --if-needed\` to use them"
            make_link
            say "clusters are already up in $root ($known)"
            return 0
        fi
        die $EX_TEMPFAIL "other or broken clusters are up in $root ($known; $alive daemons alive); run \`private_clusters.sh down\` first"
    fi
    trap 'stop_all' EXIT
    rm -f "$root/processes"
    echo "${sites[*]}" >"$root/sites"
    for attempt in 1 2 3; do
        if start_all "${sites[@]}"; then
            trap - EXIT
            make_link
            say "up in $root: ${sites[*]}"
            return 0
        fi
        say "attempt $attempt: not all daemons became ready"
        stop_all
    done
    tail -n 5 "$root"/*.out "$root"/*/log/*.log >&2 2>/dev/null || true
    die $EX_OSERR "the clusters did not start; the logs are in $root/*.out and $root/SITE/log"
}

command_down() {
    (($# == 0)) || die $EX_USAGE "down takes no words, but \"$1\""
    if [[ ! -d $root || -L $root ]]; then
        [[ ! -L $link ]] || rm -f "$link"
        return 0
    fi
    make_root
    take_lock
    cancel_jobs
    end_leftover_steps
    stop_all
    [[ ! -L $link ]] || rm -f "$link"
    remove_root
}

command_status() {
    local site alive
    (($# == 0)) || die $EX_USAGE "status takes no words, but \"$1\""
    alive=$(count_alive)
    if ((alive == 0)); then
        echo "no clusters are up in $root"
        exit $EX_UNAVAILABLE
    fi
    for site in $(<"$root/sites"); do
        echo "== $site  SLURM_CONF=$root/$site/slurm.conf"
        SLURM_CONF=$root/$site/slurm.conf timeout 5 sinfo -N || echo "$site does not answer"
        SLURM_CONF=$root/$site/slurm.conf timeout 5 squeue -o '%.8i %.32j %.10T %.10M %.20S' || true
    done
}

command_env() {
    (($# == 1)) || die $EX_USAGE "env wants one site"
    [[ -f $root/$1/slurm.conf ]] || die $EX_UNAVAILABLE "no cluster $1 in $root; run \`private_clusters.sh up\` first"
    echo "export SLURM_CONF=$root/$1/slurm.conf"
}

case ${1:-} in
up | down | status | env)
    command=$1
    shift
    "command_$command" "$@"
    ;;
-h | --help | help) usage ;;
*)
    usage >&2
    exit $EX_USAGE
    ;;
esac
