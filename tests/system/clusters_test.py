# SPDX-License-Identifier: Apache-2.0
"""Clusters that slurm/private_clusters.sh starts with --hard."""
from harness import MPI_ENVIRONMENT, expect, main
from slurm_clusters import SITE, HardCluster

SLEEP = ("--output=/dev/null", "--wrap", "exec sleep 300")


def mpirun_starts_ranks_on_each_node(cluster):
    for options, expected in ((["--nodelist=node1"], ["node1", "node1"]),
                              (["--nodelist=node2"], ["node2", "node2"]),
                              (["--nodes=2"], ["node1", "node2"])):
        log = cluster.folder / "hosts"
        command = 'mpirun -n 2 --bind-to none sh -c "echo rank on \\$(hostname)"'
        cluster.run("sbatch", "--wait", "--ntasks=2", *options, f"--output={log}", "--wrap",
                    command, **MPI_ENVIRONMENT)
        found = sorted(l.split()[-1] for l in log.read_text().splitlines() if "rank on" in l)
        log.unlink()
        expect(found == expected, f"{options}: {found}")


def epilog_holds_a_job_in_completing(cluster):
    cluster.hold_epilog()
    job = cluster.submit(*SLEEP)
    cluster.wait_for_state(job, "RUNNING")
    cluster.run("scancel", job)
    cluster.wait_for_state(job, "COMPLETING")
    cluster.release_epilog()
    cluster.wait_for_state(job, "CANCELLED", "")


def urgent_job_preempts_and_requeues(cluster):
    whole = ("--nodes=2", "--exclusive")
    victim = cluster.submit("--partition=preemptable", "--requeue", *whole, *SLEEP)
    cluster.wait_for_state(victim, "RUNNING")
    urgent = cluster.submit("--partition=urgent", *whole, *SLEEP)
    cluster.wait_for_state(urgent, "RUNNING")
    cluster.wait_for_state(victim, "PENDING")
    cluster.run("scancel", victim, urgent)
    cluster.wait_for_state(urgent, "CANCELLED", "")


def only_the_partition_preemptable_is_preempted(cluster):
    shown = cluster.run("scontrol", "--oneliner", "show", "partition")
    modes = [line.split("PreemptMode=")[1].split()[0] for line in sorted(shown.splitlines())]
    expect(modes == ["REQUEUE", "OFF", "OFF"], f"preemptable, train, urgent: {modes}")


def job_outlives_an_outage_of_the_controller(cluster):
    job = cluster.submit(*SLEEP)
    cluster.wait_for_state(job, "RUNNING")
    cluster.clusters("controller", "stop", SITE)
    answer = cluster.run("timeout", 5, "scontrol", "ping", code=None)
    expect("DOWN" in answer, f"after `stop`: {answer}")
    cluster.clusters("controller", "start", SITE)
    expect(cluster.state(job) == "RUNNING", f"after `start`: {cluster.state(job)}")
    cluster.run("scancel", job)


def if_needed_refuses_the_other_kind_of_cluster(cluster):
    cluster.clusters("up", "--if-needed", "--hard", SITE)
    cluster.clusters("up", "--if-needed", SITE, code=75)


if __name__ == "__main__":
    with HardCluster(kill_wait=2, grace=1, epilog=0) as shared:
        main(shared.bind([
            mpirun_starts_ranks_on_each_node,
            epilog_holds_a_job_in_completing,
            urgent_job_preempts_and_requeues,
            only_the_partition_preemptable_is_preempted,
            job_outlives_an_outage_of_the_controller,
            if_needed_refuses_the_other_kind_of_cluster,
        ]))
