# SPDX-License-Identifier: Apache-2.0
"""Clusters that slurm/private_clusters.sh starts with --hard."""
import contextlib
import tempfile
from pathlib import Path

from harness import MPI_ENVIRONMENT, case, expect, main
from slurm_clusters import SITE, HardCluster, lone_cluster, shared_cluster


@contextlib.contextmanager
def submitted(cluster, *options):
    """A job that sleeps. It is cancelled at the end, also after a failure: other cases follow."""
    job = cluster.submit(*options, "--output=/dev/null", "--wrap", "exec sleep 300")
    try:
        yield job
    finally:
        cluster.run("scancel", job, code=None)


@case(seconds=6)
def mpirun_starts_ranks_on_each_node(cluster):
    folder = tempfile.TemporaryDirectory(prefix="curtail-hosts-")
    for options, expected in ((["--nodes=1", "--nodelist=node1"], ["node1", "node1"]),
                              (["--nodes=1", "--nodelist=node2"], ["node2", "node2"]),
                              (["--nodes=2", "--nodelist=node[1-2]"], ["node1", "node2"])):
        log = Path(folder.name, "log")
        command = 'mpirun -n 2 --bind-to none sh -c "echo rank on \\$(hostname)"'
        cluster.run("sbatch", "--wait", "--ntasks=2", *options, f"--output={log}", "--wrap",
                    command, **MPI_ENVIRONMENT)
        found = sorted(l.split()[-1] for l in log.read_text().splitlines() if "rank on" in l)
        expect(found == expected, f"{options}: {found}")


@case()
def epilog_holds_a_job_in_completing(lone_cluster):
    lone_cluster.hold_epilog()
    with submitted(lone_cluster) as job:
        lone_cluster.wait_for_state(job, "RUNNING")
        try:
            lone_cluster.run("scancel", job)
            lone_cluster.wait_for_state(job, "COMPLETING")
        finally:
            lone_cluster.release_epilog()
        lone_cluster.wait_for_state(job, "CANCELLED", "")


@case(seconds=15)
def urgent_job_preempts_and_requeues(lone_cluster):
    whole = ("--nodes=2", "--exclusive")
    with submitted(lone_cluster, "--partition=preemptable", "--requeue", *whole) as victim:
        lone_cluster.wait_for_state(victim, "RUNNING")
        with submitted(lone_cluster, "--partition=urgent", *whole) as urgent:
            lone_cluster.wait_for_state(urgent, "RUNNING")
            lone_cluster.wait_for_state(victim, "PENDING")
        lone_cluster.wait_for_state(urgent, "CANCELLED", "")


@case()
def only_the_partition_preemptable_is_preempted(cluster):
    names = ("preemptable", "train", "urgent")
    shown = [cluster.run("scontrol", "--oneliner", "show", "partition", name) for name in names]
    modes = [line.split("PreemptMode=")[1].split()[0] for line in shown]
    expect(modes == ["REQUEUE", "OFF", "OFF"], f"{names}: {modes}")


@case()
def job_outlives_an_outage_of_the_controller(lone_cluster):
    with submitted(lone_cluster) as job:
        lone_cluster.wait_for_state(job, "RUNNING")
        lone_cluster.clusters("controller", "stop", SITE)
        try:
            answer = lone_cluster.run("timeout", 5, "scontrol", "ping", code=None)
        finally:
            lone_cluster.clusters("controller", "start", SITE)
        expect("DOWN" in answer, f"after `stop`: {answer}")
        expect(lone_cluster.state(job) == "RUNNING", f"after `start`: {lone_cluster.state(job)}")


@case()
def if_needed_refuses_the_other_kind_of_cluster(lone_cluster):
    lone_cluster.clusters("up", "--if-needed", "--hard", SITE)
    lone_cluster.clusters("up", "--if-needed", SITE, code=75)


@case()
def a_cluster_has_as_many_nodes_as_requested():
    for nodes in (1, 3):
        with HardCluster(nodes=nodes) as cluster:
            shown = cluster.run("sinfo", "--noheader", "--partition=train", "--format=%D").split()
            expect(shown == [str(nodes)], f"{nodes} nodes requested: {shown}")


if __name__ == "__main__":
    main(cluster=shared_cluster, lone_cluster=lone_cluster)
