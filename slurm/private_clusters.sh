#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Private Slurm clusters on this machine, one per site: each is a slurmctld and a slurmd on loopback
# ports, and all of them share one munged. Works as root or as an ordinary user, writes only inside
# one folder, and touches no system service. See docs/slurm.md.
set -euo pipefail
umask 077

readonly EX_USAGE=64 EX_UNAVAILABLE=69 EX_OSERR=71 EX_CANTCREAT=73 EX_TEMPFAIL=75
PATH=$PATH:/usr/sbin:/sbin
export LC_ALL=C TZ=UTC

usage() {
    cat <<EOT
usage: private_clusters.sh up [--if-needed] [--hard] [SITE...]
                                    start one cluster per site [CAISO_NORTH SPP_TX NEM_SA]
       private_clusters.sh down     cancel the jobs of all clusters and stop all daemons
       private_clusters.sh status   show the nodes and jobs of each cluster
       private_clusters.sh env SITE
                                    print a line that selects the cluster of SITE when the shell
                                    evaluates it: eval "\$(... env SITE)"
       private_clusters.sh controller stop|start SITE
                                    stop or start only the slurmctld of SITE; jobs keep running

--hard starts clusters that are harder for a program to use: several nodes, node1, node2 and so
on; jobs that vanish from squeue soon after their end; a slow prolog and epilog; and the partitions
preemptable and urgent, whose jobs preempt those of preemptable.

Environment:
  CURTAIL_CLUSTERS            working folder [the target of the link build/clusters; if there is no
                              link: \${TMPDIR:-/tmp}/curtail-<hash of checkout>-<uid>]
  CURTAIL_CLUSTER_CPUS        CPUs of each node [number of cores, at least 4]
  CURTAIL_CLUSTER_KILL_WAIT   seconds between TERM and KILL of a cancelled job [10]
with --hard also:
  CURTAIL_CLUSTER_NODES       nodes of each cluster, 1 to 99 [2]
  CURTAIL_CLUSTER_PROLOG      seconds that each job's prolog takes [0]
  CURTAIL_CLUSTER_EPILOG      seconds that each job's epilog takes, or \`hold\` [5]
  CURTAIL_CLUSTER_PREEMPT     what happens to a preempted job: REQUEUE or CANCEL [REQUEUE]
  CURTAIL_CLUSTER_GRACE       seconds between a job's preemption and KillWait (GraceTime) [10]
  CURTAIL_CLUSTER_USER_SIGNAL 1: a preempted job gets its --signal (preempt_send_user_signal) [0]

Exit codes: 0 success; 64 usage error; 69 a program or cluster is missing; 71 a daemon did not
start; 73 the working folder cannot be created; 75 clusters are already up, or another command is
starting or stopping daemons.
EOT
}

# Writing fails once the terminal has closed; that must not stop the script half way.
say() { echo "private_clusters.sh: $*" >&2 || true; }
die() { local code=$1; shift; say "$*"; exit "$code"; }

checkout=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)
user=$(id -un)
host=$(hostname -s)
hard=0 # 1 after `up --hard`

# shellcheck source=slurm/private_clusters/folder.sh
source "$checkout/slurm/private_clusters/folder.sh"
# shellcheck source=slurm/private_clusters/processes.sh
source "$checkout/slurm/private_clusters/processes.sh"
# shellcheck source=slurm/private_clusters/configuration.sh
source "$checkout/slurm/private_clusters/configuration.sh"
# shellcheck source=slurm/private_clusters/hard.sh
source "$checkout/slurm/private_clusters/hard.sh"
# shellcheck source=slurm/private_clusters/daemons.sh
source "$checkout/slurm/private_clusters/daemons.sh"
# shellcheck source=slurm/private_clusters/jobs.sh
source "$checkout/slurm/private_clusters/jobs.sh"
# shellcheck source=slurm/private_clusters/commands.sh
source "$checkout/slurm/private_clusters/commands.sh"

find_root
case ${1:-} in
up | down | status | env | controller)
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
