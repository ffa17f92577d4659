# SPDX-License-Identifier: Apache-2.0
"""What the poller does after a person's scancel, a preemption, repeated failures and a job that is
stuck in COMPLETING: on a real Slurm cluster that soon forgets ended jobs."""
import json
import os
import subprocess

from harness import BUILD, SOURCE, case, execute, expect, main, program, wait_for
from rig import Rig
from slurm_clusters import HardCluster, lone_cluster, shared_cluster


def status(rig):
    return json.loads(execute(program("curtail-status"), rig.run.run_file, "--json").stdout)


def wait_for_hold(rig, cause):
    wait_for(lambda: rig.run.poller_events("hold"), "a hold", timeout=60)
    expect(rig.run.poller_events("hold")[-1]["cause"] == cause, f"{rig.run.poller_events('hold')}")


def resume(rig):
    execute(program("curtail-poll"), rig.run.run_file, "--resume", "A")


def expect_no_further_job(rig, jobs, polls=3):
    """No job may be submitted in the next polls. Each reads a new sample of the signal."""
    wanted = rig.samples() + polls + 1  # the first may have begun before
    wait_for(lambda: rig.samples() >= wanted, "polls", timeout=60)
    expect(len(rig.jobs()) == jobs, f"jobs {rig.jobs()}")


@case(seconds=16)
def cancelled_running_job_stays_cancelled(cluster):
    with Rig(cluster) as rig:
        rig.start_poller()
        rig.wait_for_steps(5, "training")
        cluster.run("scancel", rig.jobs()[0])
        rig.wait_for_stop(15)
        ending = rig.run.events("A", "trainer-exit")[-1]
        expect((ending["code"], ending["cause"]) == (0, "terminate"), f"{ending}")
        trained = sum(step["tokens"] for step in rig.steps())
        expect(rig.run.commits()[-1]["totals"]["tokens"] == trained, "the work is not in a commit")
        wait_for_hold(rig, "cancel")
        expect_no_further_job(rig, 1)
        expect("was cancelled by a person" in str(status(rig)["sites"][0]["hold"]), "no hold shown")
        resume(rig)
        rig.wait_for_steps(5, "training after --resume")
        expect(not rig.run.poller_events("job-failed"), "a cancel counted as a failure")


@case(seconds=6)
def cancelled_queued_job_stays_cancelled(cluster):
    with Rig(cluster) as rig:
        with rig.closed_partition():
            rig.start_poller()
            wait_for(rig.jobs, "a job")
            cluster.run("scancel", rig.jobs()[0])
            wait_for_hold(rig, "cancel")
        expect_no_further_job(rig, 1)


def cancel_a_queued_job_behind_the_poller_s_back(cluster, rig):
    """The poller submits a job and dies; a person cancels the job, and Slurm forgets it."""
    with rig.closed_partition():
        rig.start_poller()
        wait_for(rig.jobs, "a job")
        rig.kill_poller()
        job = rig.jobs()[0]
        cluster.run("scancel", job)
        wait_for(lambda: not cluster.state(job), "Slurm's forgetting the job", 90, pause=0.1)


@case(seconds=13)
def cancelled_queued_job_that_slurm_forgot_stays_cancelled(cluster):
    with Rig(cluster) as rig:
        cancel_a_queued_job_behind_the_poller_s_back(cluster, rig)
        rig.start_poller()
        wait_for_hold(rig, "cancel")
        expect_no_further_job(rig, 1)


@case(seconds=18)
def queued_job_that_vanished_without_a_record_is_no_failure(cluster):
    with Rig(cluster) as rig:
        cancel_a_queued_job_behind_the_poller_s_back(cluster, rig)
        rig.hide_completion_log()
        rig.start_poller()
        wait_for(lambda: len(rig.jobs()) == 2, "the next job")
        ended = rig.run.poller_events("job-ended")[0]
        expect((ended["job"], ended["state"]) == (rig.jobs()[0], "GONE"), f"{ended}")
        shown = status(rig)["sites"][0]
        expect(shown["failures"] == 0 and not shown["hold"], f"{shown}")
        expect(not rig.run.poller_events("hold"), f"{rig.run.poller_events('hold')}")


@case(seconds=3)
def trainer_that_a_person_started_is_shown(cluster):
    with Rig(cluster) as rig:
        job = cluster.submit("-n", "2", f"--output={rig.run.folder}/by-hand.log",
                             SOURCE / "slurm/site_train.sh", rig.run.run_file, "A",
                             CURTAIL_BUILD=str(BUILD))
        try:
            rig.wait_for_steps(5, "training")
            shown = execute(program("curtail-poll"), rig.run.run_file, "--explain").stdout
            expect(f"in job {job}, which this poller did not submit" in " ".join(shown.split()),
                   shown)
        finally:
            cluster.run("scancel", job)
        rig.wait_for_stop(15)
        shown = execute(program("curtail-poll"), rig.run.run_file, "--explain").stdout
        expect("this poller did not submit" not in " ".join(shown.split()), shown)


@case(seconds=39)
def preempted_job_contributes_and_is_followed(lone_cluster):
    with Rig(lone_cluster, ranks=2) as rig:
        rig.change_launcher(partition="preemptable")
        rig.start_poller()
        rig.wait_for_steps(5, "training")
        urgent = lone_cluster.submit("--partition=urgent", "--nodes=2", "--exclusive",
                                     "--wrap=sleep 8", "--output=/dev/null")
        rig.wait_for_stop(40)
        expect(rig.run.events("A", "trainer-exit")[-1]["code"] == 0, "the trainer failed")
        trained = sum(step["tokens"] for step in rig.steps())
        expect(rig.run.commits()[-1]["totals"]["tokens"] == trained, "the work is not in a commit")
        lone_cluster.wait_for_state(urgent, "COMPLETED", "", timeout=40)
        rig.wait_for_steps(5, "training after the urgent job")
        expect(not rig.run.poller_events("hold"), f"{rig.run.poller_events('hold')}")


@case(seconds=7)
def preempted_job_gets_an_early_signal_where_slurm_sends_one():
    # The signal of sbatch --signal arrives when the grace time begins, long before TERM.
    with HardCluster(kill_wait=10, epilog=0, grace=60, user_signal=1) as cluster:
        with Rig(cluster) as rig:
            rig.change_launcher(partition="preemptable")
            rig.start_poller()
            rig.wait_for_steps(5, "training")
            cluster.submit("--partition=urgent", "--nodes=2", "--exclusive", "--wrap=true",
                           "--output=/dev/null")
            rig.wait_for_stop(30)
            ending = rig.run.events("A", "trainer-exit")[-1]
            expect((ending["code"], ending["cause"]) == (0, "drain"), f"{ending}")


@case(seconds=26)
def job_that_keeps_failing_is_held(cluster):
    # Each job fails after it has run for a while.
    failing = "sleep 2; echo 'error: the disk of node1 is broken' >&2; exit 3\n"
    with Rig(cluster, prologue=failing) as rig:
        rig.change_launcher(failures_before_hold=2)
        rig.start_poller()
        wait_for_hold(rig, "failures")
        hold = rig.run.poller_events("hold")[-1]["why"]
        for part in ("2 jobs failed in a row", "exit code 3", "(log: "):
            expect(part in hold, hold)
        expect_no_further_job(rig, 2)
        (rig.run.folder / "prologue.sh").write_text("true\n")
        resume(rig)
        rig.wait_for_steps(5, "training after --resume")


@case(seconds=12)
def job_stuck_in_completing_does_not_block_the_site(lone_cluster):
    with Rig(lone_cluster) as rig:
        rig.change_launcher(completing_s=5)
        rig.start_poller()
        rig.wait_for_steps(5, "training")
        lone_cluster.hold_epilog()
        try:
            lone_cluster.run("scancel", "--batch", "--signal=USR1", rig.jobs()[0])
            rig.wait_for_stop(15)
            wait_for(lambda: len(rig.jobs()) == 2, "the next job", timeout=40)
            log = (rig.run.folder / "poller.log").read_text()
            expect("has been COMPLETING for more than 5.0 s" in log, log[-1500:])
            # Slurm finds another node for it.
            lone_cluster.wait_for_state(rig.jobs()[1], "RUNNING")
            expect(lone_cluster.state(rig.jobs()[0]) == "COMPLETING", "the first job is not stuck")
        finally:
            lone_cluster.release_epilog()
        rig.wait_for_steps(5, "training after the stuck job")


def poll_with(rig, *options):
    """Runs curtail-poll with arguments that may be no UTF-8."""
    return subprocess.run([program("curtail-poll"), rig.run.run_file, *options], env=os.environ,
                          capture_output=True, text=True, check=False)


@case(seconds=4)
def pause_before_the_first_poll_keeps_the_run_usable(cluster):
    with Rig(cluster) as rig:
        for reason, why in ((b"K\xfchlung", "must be one line of UTF-8 text"),
                            (b"a\nb", "must be one line of UTF-8 text"),
                            (b"x" * 1001, "has more than 1000 bytes"),
                            (b" ", "a pause needs a reason")):
            done = poll_with(rig, "--pause", "A", "--reason", reason)
            expect(done.returncode == 64 and why in done.stderr, f"{reason}: {done.stderr}")
        expect(not (rig.site / "hold.json").exists(), "a refused pause is stored")
        done = poll_with(rig, "--pause", "A", "--reason", "K\u00fchlung")
        expect(done.returncode == 0, done.stderr)
        resume(rig)
        (rig.site / "permission.json").unlink()
        (rig.site / "permission.json").mkdir()
        done = poll_with(rig, "--pause", "A", "--reason", "maintenance")
        expect(done.returncode == 73 and "A: paused" in done.stdout, done)
        expect("site A is paused, but its permission still stands" in done.stderr, done.stderr)
        (rig.site / "permission.json").rmdir()
        resume(rig)
        (rig.site / "permission.json").unlink(missing_ok=True)
        (rig.site / "hold.json").unlink()
        (rig.site / "hold.json").mkdir()
        done = poll_with(rig, "--pause", "A", "--reason", "maintenance")
        expect(done.returncode == 73 and "A: paused" not in done.stdout, done)
        expect("the permission of site A was ended" in done.stderr
               and "remove the folder" in done.stderr, done.stderr)
        permission = json.loads((rig.site / "permission.json").read_text())
        expect(permission["lifetime_s"] == 0, permission)
        (rig.site / "hold.json").rmdir()
        resume(rig)
        rig.start_poller()
        rig.wait_for_steps(5, "training")


@case(seconds=8)
def stop_without_a_controller_ends_the_job(lone_cluster):
    with Rig(lone_cluster) as rig:
        rig.start_poller()
        rig.wait_for_steps(5, "training")
        done = poll_with(rig, "--pause", "A")
        expect(done.returncode == 64 and "a pause needs a reason" in done.stderr, done.stderr)
        lone_cluster.clusters("controller", "stop", "A")
        try:
            execute(program("curtail-poll"), rig.run.run_file, "--stop", "--reason", "maintenance")
            rig.wait_for_stop(15)
        finally:
            lone_cluster.clusters("controller", "start", "A")
        resume(rig)
        rig.wait_for_steps(5, "training after --resume")


if __name__ == "__main__":
    main(cluster=shared_cluster, lone_cluster=lone_cluster)
