# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Starts and stops munged and each cluster's slurmctld and slurmd.

readonly READY_SECONDS=20 # for daemons to become ready

start_munged() {
    local i
    mkdir -m 700 "$root/munge"
    head -c 128 /dev/urandom >"$root/munge/key"
    # --force: munged expects its socket's folder to be open to all users; this one is private.
    start munged munged --foreground --force --num-threads=2 --key-file="$root/munge/key" \
        --socket="$socket" --pid-file="$root/munge/pid" --log-file="$root/munge/log" \
        --seed-file="$root/munge/seed" || return 1
    for ((i = 0; i < READY_SECONDS * 50; ++i)); do
        [[ -S $socket ]] && break
        sleep 0.02
    done
}

start_controller() { # SITE [OPTION]
    SLURM_CONF=$root/$1/slurm.conf start "slurmctld-$1" slurmctld -D "${@:2}"
}

start_node() { # SITE NODE
    local -a namespaces
    find_namespaces "$2"
    SLURM_CONF=$root/$1/slurm.conf start "slurmd-$1-$2" "${namespaces[@]}" slurmd -D -N "$2"
}

start_cluster() { # SITE CTLD_PORT SLURMD_PORT...
    local node
    rm -rf "${root:?}/$1"
    write_conf "$@"
    start_controller "$1" -c || return 1
    for node in $(node_names); do
        start_node "$1" "$node" || return 1
    done
}

count_daemons() { # CLUSTERS: prints how many daemons that many clusters have
    echo $((1 + $1 * (1 + $(node_names | wc -w))))
}

is_ready() { # SITE: whether all nodes have registered and are idle
    local shown
    shown=$(SLURM_CONF=$root/$1/slurm.conf timeout 5 scontrol -o show nodes 2>/dev/null) ||
        return 1
    [[ $(grep -c " State=IDLE .* SlurmdStartTime=2" <<<"$shown") == $(node_names | wc -w) ]]
}

wait_ready() { # SITE DAEMONS: fails at the time limit, or once fewer daemons are alive
    local i
    for ((i = 0; ; ++i)); do
        is_ready "$1" && return 0
        if ((i == READY_SECONDS * 20)) || (($(count_alive) < $2)); then return 1; fi
        sleep 0.05
    done
}

wait_controller() { # SITE: fails if it does not answer in time
    local i
    for ((i = 0; i < READY_SECONDS * 20; ++i)); do
        SLURM_CONF=$root/$1/slurm.conf timeout 5 scontrol ping 2>/dev/null | grep -q "is UP" &&
            return 0
        sleep 0.05
    done
    return 1
}

start_all() { # SITE...: fails if a daemon is not ready in time, e.g. because its port was taken
    local site count
    local -a ports
    rm -rf "$root"/munge "$root"/*.out
    start_munged || return 1
    count=$(($(count_daemons 1) - 1))
    mapfile -t ports < <(free_ports $((count * $#)))
    for site in "$@"; do
        start_cluster "$site" "${ports[@]:0:count}" || return 1
        ports=("${ports[@]:count}")
    done
    for site in "$@"; do
        wait_ready "$site" "$(count_daemons $#)" || return 1
    done
}

stop_all() {
    local name pid started
    [[ -f $root/processes ]] || return 0
    # Controllers save their state, so they stop before the nodes; munged is the last.
    while read -r name pid started; do
        stop "$pid" "$started"
    done < <(sort -k1,1 "$root/processes" | grep -v ^munged)
    while read -r name pid started; do
        stop "$pid" "$started"
    done < <(grep ^munged "$root/processes")
    rm -f "$root/processes"
}
