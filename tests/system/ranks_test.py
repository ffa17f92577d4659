# SPDX-License-Identifier: Apache-2.0
"""Ranks that hang, die or are suspended: the others end the job, or wait. --long tries both ranks
everywhere, and suspends for a minute with the default time limits."""
import os
import random
import signal
import time
from pathlib import Path

from harness import (BUILD, LONG, PACED, SOURCE, SmallRun, case, descendants, expect, is_rank, kill, main,
                     mpirun, program, program_of, rank_of, wait_for)

GRACE_S = 6
RANK_TIMEOUT_S = 3
# mpirun waits some seconds before it kills a rank that does not respond.
KILL_S = 10


class Job:
    """A lone site with two ranks that has committed its own weights."""

    def __init__(self, **training):
        launcher = {"kind": "local", "script": str(SOURCE / "slurm/site_train.sh"),
                    "grace_s": GRACE_S}
        self.run = SmallRun(launcher=launcher, training={**PACED, **training})

    def __enter__(self):
        self.job = self.run.start(SOURCE / "slurm/site_train.sh", self.run.run_file, "A")
        wait_for(lambda: self.committed_tokens() > 0, "a checkpoint")
        found = (pid for pid in descendants(self.job.pid) if is_rank(pid))
        self.ranks = {rank_of(pid): pid for pid in found}
        return self

    def __exit__(self, *_):
        self.run.close()

    def committed_tokens(self):
        commits = self.run.commits()
        return commits[-1]["totals"]["tokens"] if commits else 0

    def steps(self):
        return len(self.run.metrics("A"))

    def expect_end(self, code, within_s, *reasons):
        began = time.monotonic()
        expect(self.job.wait(within_s + KILL_S + 20) == code, f"exit code {self.job.returncode}")
        took = time.monotonic() - began
        expect(took < within_s + KILL_S, f"it took {took:.1f} s")
        expect(any(reason in self.run.log() for reason in reasons),
               f"the log does not say {' or '.join(reasons)}")
        self.run.verify()


@case(seconds=12)
def stopped_rank_ends_the_job_within_the_grace():
    for rank in (0, 1) if LONG else (0,):
        with Job() as job:
            kill(job.ranks[rank], signal.SIGSTOP)
            job.job.send_signal(signal.SIGUSR1)
            # Whichever thread of the leader notices first.
            job.expect_end(69, GRACE_S, "a rank did not arrive in the time for a stop",
                           "cannot leave in time")
            if rank != 0:
                expect([e["code"] for e in job.run.events("A", "trainer-exit")] == [69],
                       "the exit is not in the events")


@case(seconds=8)
def stopped_rank_ends_the_job_without_a_stop_request():
    for rank in (0, 1) if LONG else (1,):
        with Job(rank_timeout_s=RANK_TIMEOUT_S) as job:
            kill(job.ranks[rank], signal.SIGSTOP)
            job.expect_end(69, RANK_TIMEOUT_S, "a rank did not arrive within 3.0 s")


@case(seconds=15)
def killed_rank_ends_the_job_and_the_next_one_continues():
    for rank in (0, 1):
        with Job() as job:
            # The second snapshot begins after the first one is whole.
            wait_for(lambda: list((job.run.out / "sites/A").glob("snapshot-b.*")), "two snapshots")
            kill(job.ranks[rank])
            job.expect_end(69, 0, "signal 9 (Killed) ended one of its processes")
            before = job.committed_tokens()
            expect("resuming from" not in job.run.log(), "the first process had no snapshot")
            job.job = job.run.start(SOURCE / "slurm/site_train.sh", job.run.run_file, "A")
            wait_for(lambda: job.committed_tokens() > before, "a later commit")
            expect("resuming from" in job.run.log(), "the optimizer's state is lost")
            job.job.send_signal(signal.SIGUSR1)
            expect(job.job.wait(20) == 0, f"exit code {job.job.returncode}")
            job.run.verify()


def expect_to_go_on_after(job, pids, seconds):
    for pid in pids:
        kill(pid, signal.SIGSTOP)
    time.sleep(seconds)
    for pid in pids:
        kill(pid, signal.SIGCONT)
    before = job.steps()
    wait_for(lambda: job.steps() > before + 3, "more steps")
    job.job.send_signal(signal.SIGUSR1)
    expect(job.job.wait(20) == 0, f"exit code {job.job.returncode}")
    job.run.verify()


@case(seconds=8)
def suspended_job_goes_on():
    training, seconds = ({}, 60) if LONG else ({"rank_timeout_s": RANK_TIMEOUT_S}, 5)
    with Job(**training) as job:
        expect_to_go_on_after(job, job.ranks.values(), seconds)


@case(seconds=12)
def suspended_rank_delays_the_others():
    for rank in (0, 1):
        with Job() as job:
            expect_to_go_on_after(job, [job.ranks[rank]], 60 if LONG else 3)


@case(seconds=11)
def idle_leader_keeps_its_followers():
    with Job(rank_timeout_s=RANK_TIMEOUT_S) as job:
        away = job.run.store_folder.with_name("away")
        job.run.store_folder.rename(away)
        time.sleep(2 * RANK_TIMEOUT_S)
        away.rename(job.run.store_folder)
        before = len(job.run.commits())
        wait_for(lambda: len(job.run.commits()) > before, "a later commit")
        job.job.send_signal(signal.SIGUSR1)
        expect(job.job.wait(20) == 0, f"exit code {job.job.returncode}")
        job.run.verify()


def blocked_signals(pid):
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1], 16) for line in lines if line.startswith("SigBlk"))


def start_that_hangs(run, *launcher):
    """Starts a rank that waits in MPI_Init for another one, which never calls it."""
    block = (program("curtail-block-signals"), "USR1", "USR2", "TERM", "--")
    train = (*block, program("curtail-train"), run.run_file, "--site", "A")
    job = run.start(*launcher, *mpirun(1, *train), ":", "-n", 1, *block, "sleep", 60)
    return job, wait_for(lambda: [pid for pid in descendants(job.pid) if is_rank(pid)], "a rank")[0]


@case(seconds=5)
def start_of_mpi_has_a_limit_of_time():
    with SmallRun(training={"rank_timeout_s": RANK_TIMEOUT_S}) as run:
        job, _ = start_that_hangs(run)
        expect(job.wait(RANK_TIMEOUT_S + KILL_S + 20) == 69, f"exit code {job.returncode}")
        expect("cannot start MPI: the ranks have not met within 3.0 s" in run.log(), run.log())
        expect("(TMPDIR) has space" in run.log(), run.log())


@case(seconds=2)
def stop_request_ends_a_start_of_mpi_that_hangs():
    for number in (signal.SIGTERM, signal.SIGUSR1):
        with SmallRun() as run:
            job, rank = start_that_hangs(run, program("curtail-forward-stop"))
            wait_for(lambda: blocked_signals(rank) == 0, "the start of MPI")
            job.send_signal(number)
            began = time.monotonic()
            expect(job.wait(30) == 0, f"exit code {job.returncode}")
            expect(time.monotonic() - began < KILL_S, "it did not end at once")
            expect("there was nothing to save" in run.log(), run.log())


@case(seconds=2)
def stop_request_ends_a_start_that_waits_for_credentials():
    with SmallRun(ranks=1) as run:
        run.config["store"] = "s3://bucket/prefix"
        run.config["s3"] = {"endpoint": "http://127.0.0.1:9"}
        run.save()
        settings = run.folder / "aws"
        settings.write_text("[default]\ncredential_process = sleep 60\n")
        settings.chmod(0o600)
        job = run.start("env", f"AWS_CONFIG_FILE={settings}", SOURCE / "slurm/site_train.sh",
                        run.run_file, "A")
        asks = lambda: [pid for pid in descendants(job.pid) if program_of(pid) == "sleep"]
        wait_for(asks, "the program for credentials")
        began = time.monotonic()
        job.send_signal(signal.SIGTERM)
        expect(job.wait(30) == 0, f"exit code {job.returncode}\n{run.log()}")
        expect(time.monotonic() - began < KILL_S, "it did not end at once")
        expect("there was nothing to save" in run.log() and not asks(), run.log())


@case(seconds=15)
def stop_request_ends_a_start_whose_file_system_hangs():
    launcher = {"kind": "local", "script": str(SOURCE / "slurm/site_train.sh"), "grace_s": 3}
    with SmallRun(ranks=1, training=PACED, launcher=launcher) as run:
        job = run.start_training("A")
        wait_for(lambda: list((run.out / "sites/A").glob("snapshot-a.*")), "a snapshot")
        job.send_signal(signal.SIGUSR1)
        expect(job.wait(20) == 0, f"exit code {job.returncode}")
        for part in ("processes.json", "permission.json", "snapshot-"):
            before = run.log().count("open hangs")
            job = run.start(program("curtail-forward-stop"), "env",
                            f"LD_PRELOAD={BUILD}/tests/libhanging_open.so",
                            f"HANGING_OPEN={part}", *run.training("A", 1, ()))
            wait_for(lambda: run.log().count("open hangs") > before, part)
            began = time.monotonic()
            job.send_signal(signal.SIGTERM)
            job.wait(30)
            expect(time.monotonic() - began < 3 + 10, f"{part}: it did not end in time")
            expect("cannot leave in time" in run.log(), run.log())


@case(seconds=9)
def a_stop_at_any_moment_of_the_start_is_clean():
    seed = int.from_bytes(os.urandom(4), "big")
    print(f"seed {seed}")
    chance = random.Random(seed)
    with SmallRun(training=PACED) as run:
        for _ in range(4):
            job = run.start(SOURCE / "slurm/site_train.sh", run.run_file, "A")
            time.sleep(chance.uniform(0, 1.5))
            job.send_signal(chance.choice([signal.SIGUSR1, signal.SIGTERM]))
            expect(job.wait(20) == 0, f"exit code {job.returncode}\n{run.log()}")
            starts, exits = (run.events("A", f"trainer-{word}") for word in ("start", "exit"))
            expect(len(starts) == len(exits), f"{len(starts)} starts, {len(exits)} exits")
        if run.commits():
            run.verify()


if __name__ == "__main__":
    main()
