# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# One cluster's ports and slurm.conf.

readonly FIRST_PORT=23000 LAST_PORT=32000

# COUNT: prints that many ports on which no process listens. Scripts that start at the same time
# have different process ids, so they choose different ports.
free_ports() {
    local -A used=()
    local port count=$1 tries
    while read -r port; do
        used[$((16#$port))]=1
    done < <(awk 'FNR > 1 {sub(/.*:/, "", $2); print $2}' /proc/net/tcp /proc/net/tcp6 2>/dev/null)
    port=$((FIRST_PORT + 16 * $$ % (LAST_PORT - FIRST_PORT)))
    for ((tries = 0; count > 0 && tries < LAST_PORT - FIRST_PORT; ++tries)); do
        port=$((port + 1 < LAST_PORT ? port + 1 : FIRST_PORT))
        [[ -n ${used[$port]:-} ]] && continue
        echo $port
        count=$((count - 1))
    done
    ((count == 0))
}

cluster_cpus() {
    local cpus=${CURTAIL_CLUSTER_CPUS:-0}
    if ((cpus == 0)); then
        cpus=$(nproc)
        cpus=$((cpus < 4 ? 4 : cpus))
    fi
    echo "$cpus"
}

node_lines() { # SLURMD_PORT...: one line of slurm.conf per node
    local node
    for node in $(node_names); do
        echo "NodeName=$node NodeAddr=127.0.0.1 Port=$1 CPUs=$(cluster_cpus) State=UNKNOWN"
        shift
    done
}

easy_conf() {
    # Ended jobs stay visible for a day; a private cluster has no other accounting.
    echo MinJobAge=86400
}

write_conf() { # SITE CTLD_PORT SLURMD_PORT...
    local folder=$root/$1
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
# Without these two options, the daemons listen on every interface.
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
StateSaveLocation=$folder/state
# Paths of sockets in this folder are limited to 107 bytes.
SlurmdSpoolDir=$folder/$( ((hard)) && echo %n || echo spool)
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd-%n.pid
SlurmctldLogFile=$folder/log/slurmctld.log
SlurmdLogFile=$folder/log/slurmd-%n.log
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
# A cluster may claim more CPUs than the machine has: the ranks of its jobs share the cores.
SlurmdParameters=config_overrides
$(node_lines "${@:3}")
PartitionName=train Nodes=ALL Default=YES MaxTime=INFINITE PreemptMode=OFF
$(if ((hard)); then hard_conf "$folder"; else easy_conf; fi)
EOT
    ((hard == 0)) || write_hooks "$folder"
}
