# SPDX-License-Identifier: Apache-2.0
"""Clusters that slurm/private_clusters.sh starts with --hard."""
import os

from harness import MPI_ENVIRONMENT, case, expect, main
from slurm_clusters import SITE, lone_cluster, shared_cluster

SLEEP = ("--output=/dev/null", "--wrap", "exec sleep 300")


@case(seconds=6)
def mpirun_starts_ranks_on_each_node(cluster):
    for options, expected in ((["--nodelist=node1"], ["node1", "node1"]),
                              (["--nodelist=node2"], ["node2", "node2"]),
                              (["--nodes=2"], ["node1", "node2"])):
        log = cluster.folder / f"hosts-{os.getpid()}"
        command = 'mpirun -n 2 --bind-to none sh -c "echo rank on \\$(hostname)"'
        cluster.run("sbatch", "--wait", "--ntasks=2", *options, f"--output={log}", "--wrap",
                    command, **MPI_ENVIRONMENT)
        found = sorted(l.split()[-1] for l in log.read_text().splitlines() if "rank on" in l)
        log.unlink()
        expect(found == expected, f"{options}: {found}")


@case()
def epilog_holds_a_job_in_completing(lone_cluster):
    lone_cluster.hold_epilog()
    job = lone_cluster.submit(*SLEEP)
    lone_cluster.wait_for_state(job, "RUNNING")
    lone_cluster.run("scancel", job)
    lone_cluster.wait_for_state(job, "COMPLETING")
    lone_cluster.release_epilog()
    lone_cluster.wait_for_state(job, "CANCELLED", "")


@case(seconds=15)
def urgent_job_preempts_and_requeues(lone_cluster):
    whole = ("--nodes=2", "--exclusive")
    victim = lone_cluster.submit("--partition=preemptable", "--requeue", *whole, *SLEEP)
    lone_cluster.wait_for_state(victim, "RUNNING")
    urgent = lone_cluster.submit("--partition=urgent", *whole, *SLEEP)
    lone_cluster.wait_for_state(urgent, "RUNNING")
    lone_cluster.wait_for_state(victim, "PENDING")
    lone_cluster.run("scancel", victim, urgent)
    lone_cluster.wait_for_state(urgent, "CANCELLED", "")


@case()
def only_the_partition_preemptable_is_preempted(cluster):
    names = ("preemptable", "train", "urgent")
    shown = [cluster.run("scontrol", "--oneliner", "show", "partition", name) for name in names]
    modes = [line.split("PreemptMode=")[1].split()[0] for line in shown]
    expect(modes == ["REQUEUE", "OFF", "OFF"], f"{names}: {modes}")


@case()
def job_outlives_an_outage_of_the_controller(lone_cluster):
    job = lone_cluster.submit(*SLEEP)
    lone_cluster.wait_for_state(job, "RUNNING")
    lone_cluster.clusters("controller", "stop", SITE)
    answer = lone_cluster.run("timeout", 5, "scontrol", "ping", code=None)
    expect("DOWN" in answer, f"after `stop`: {answer}")
    lone_cluster.clusters("controller", "start", SITE)
    expect(lone_cluster.state(job) == "RUNNING", f"after `start`: {lone_cluster.state(job)}")
    lone_cluster.run("scancel", job)


@case()
def if_needed_refuses_the_other_kind_of_cluster(lone_cluster):
    lone_cluster.clusters("up", "--if-needed", "--hard", SITE)
    lone_cluster.clusters("up", "--if-needed", SITE, code=75)


if __name__ == "__main__":
    main(cluster=shared_cluster, lone_cluster=lone_cluster)
