# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What `up --hard` adds: preemption, a prolog and an epilog that take time, and more nodes.

node_names() { # prints the names of a cluster's nodes
    local i
    ((hard)) || { echo "$host"; return; }
    for ((i = 1; i <= ${CURTAIL_CLUSTER_NODES:-2}; ++i)); do echo "node$i"; done
}

check_settings() {
    local name value
    for name in KILL_WAIT PROLOG EPILOG GRACE; do
        value=CURTAIL_CLUSTER_$name
        [[ ${!value:-0} =~ ^[0-9]{1,4}$ || "$name ${!value:-}" =~ ^(PRO|EPI)LOG\ hold$ ]] ||
            die "$EX_USAGE" "$value=${!value} is not a number of seconds below 10000"
    done
    [[ ${CURTAIL_CLUSTER_NODES:-2} =~ ^[1-9][0-9]?$ ]] ||
        die "$EX_USAGE" "CURTAIL_CLUSTER_NODES=$CURTAIL_CLUSTER_NODES is not from 1 to 99"
    [[ ${CURTAIL_CLUSTER_PREEMPT:-REQUEUE} =~ ^(REQUEUE|CANCEL)$ ]] ||
        die "$EX_USAGE" "CURTAIL_CLUSTER_PREEMPT=$CURTAIL_CLUSTER_PREEMPT: write REQUEUE or CANCEL"
}

hard_conf() { # FOLDER: lines of slurm.conf
    cat <<EOT
MinJobAge=2
Prolog=$1/hooks/prolog
Epilog=$1/hooks/epilog
PreemptType=preempt/partition_prio
PreemptMode=${CURTAIL_CLUSTER_PREEMPT:-REQUEUE}
PartitionName=preemptable Nodes=ALL MaxTime=INFINITE GraceTime=${CURTAIL_CLUSTER_GRACE:-10}
PartitionName=urgent Nodes=ALL MaxTime=INFINITE PriorityTier=10 PreemptMode=OFF
EOT
    [[ ${CURTAIL_CLUSTER_USER_SIGNAL:-0} == 0 ]] ||
        echo SlurmctldParameters=preempt_send_user_signal
}

write_hooks() { # FOLDER
    local name
    mkdir "$1/hooks"
    for name in prolog epilog; do
        install -m 700 "$checkout/slurm/private_clusters/hook.sh" "$1/hooks/$name"
    done
    echo "${CURTAIL_CLUSTER_PROLOG:-0}" >"$1/hooks/prolog_s"
    echo "${CURTAIL_CLUSTER_EPILOG:-5}" >"$1/hooks/epilog_s"
}

end_hooks() { # ends the prologs and epilogs of all clusters
    local file
    for file in "$root"/*/hooks/*_s; do
        [[ ! -e $file ]] || echo 0 >"$file"
    done
}

check_namespaces() {
    ((hard)) || return 0
    write_hosts
    find_namespaces node1
    "${namespaces[@]}" true 2>/dev/null || die "$EX_UNAVAILABLE" "--hard needs namespaces for" \
        "host names and mounts, which the kernel does not permit; run as root, or allow" \
        "unprivileged user namespaces"
}

# mpirun recognizes its own node by the host name, and by names whose address is an interface's. On
# each node, only the node's own name has such an address.
write_hosts() {
    local own=127.0.0.1 other=127.0.0.2 # the interface's address, and one that is only routed to it
    local node
    for node in $(node_names); do
        {
            echo "$own localhost"
            node_names | sed "s/^/$other /; s/^$other $node\$/$own $node/"
        } >"$root/hosts-$node"
    done
}

# Sets the array namespaces: a command that runs another one on the host NODE. Without --hard, it is
# empty.
find_namespaces() { # NODE
    namespaces=()
    ((hard)) || return 0
    namespaces=(unshare --uts --mount)
    ((EUID == 0)) || namespaces+=(--user --map-current-user --keep-caps)
    # shellcheck disable=SC2016  # the inner shell expands these
    namespaces+=(sh -c 'hostname "$0" && mount --bind "$1" /etc/hosts && shift && exec "$@"'
        "$1" "$root/hosts-$1")
}
