# SPDX-License-Identifier: Apache-2.0
"""Sends kill -9 at seeded random times to ranks, mpirun, the poller and a merging site. Afterwards
the chain must verify, no site may have run two jobs at once, and the journal must have each line of
the sites' logs once. A killed job may lose only what it trained after the last contribution that it
stored. Nothing else may lose anything.

    kill_test.py                 two seeds
    kill_test.py --seed 7        one seed; a failure names its seed
"""
import argparse
import json
import random
import sys
import time
from datetime import datetime

from chaos_account import BLOCK, blocks_of, read_contributions
from chaos_lives import check_foreign, check_life, read_lives
from chaos_run import FolderObjects, arguments_of
from harness import (PACED, Failure, SmallRun, alive, descendants, expect, is_mpirun, is_rank, kill,
                     main, program, wait_for)

SPEED = 150  # trace seconds per real second: a sample every 2 s
CLEAN, DIRTY = 20.0, 400.0
# The clean sites in each sample of 300 s: one, both, the other, none, both, one.
DAY = ["", "A", "A", "AB", "AB", "AB", "B", "", "", "", "AB", "AB", "A", "", "", ""]
VICTIMS = ["rank", "mpirun", "poller", "merger"]
ROUNDS = {
    "drop_after_s": 12,  # longer than a busy machine delays a site
    "keep_models": 1000,  # the account recomputes every model
}
PATIENCE_S = 20  # longest time from a site's read of a header to its record, on a busy machine


def write_trace(path):
    lines = ["point_time,A,B"]
    for i, clean in enumerate(DAY):
        seconds = i * 300
        cells = ",".join(str(CLEAN if site in clean else DIRTY) for site in "AB")
        time_of_day = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:00"
        lines.append(f"2026-01-11T{time_of_day}+00:00,{cells}")
    path.write_text("\n".join(lines) + "\n")


def job_of(pid):
    """(site, job) of a process of a trainer; None for another process."""
    words = arguments_of(pid)
    if "--job" not in words:
        return None
    return tuple(words[words.index(option) + 1] for option in ("--site", "--job"))


class Scene:
    """One run and its poller, which is restarted whenever it has been killed."""

    def __init__(self, run, rng):
        self.run, self.rng = run, rng
        self.killed = set()  # (site, job)
        run.store_folder.rmdir()  # the poller creates it
        self.trace = run.folder / "trace.csv"
        write_trace(self.trace)
        self.start_poller()

    def start_poller(self):
        self.poller = self.run.start(program("curtail-poll"), self.run.run_file, "--watch",
                                     "--trace", self.trace, "--speed", SPEED)

    def jobs(self):
        """(site, record, exit file) of every job that was ever started."""
        records = sorted(self.run.out.glob("sites/*/jobs/*.json"))
        return [(path.parent.parent.name, json.loads(path.read_text()), path.with_suffix(".exit"))
                for path in records]

    def running(self):
        """(site, pid) of every running job; the pid is the script's, which has become mpirun."""
        jobs = [(site, record["script"]["pid"]) for site, record, exit_file in self.jobs()
                if not exit_file.exists()]
        return [(site, pid) for site, pid in jobs if alive(pid)]

    def merging_site(self):
        """The site that took a merge lease within the last half second, if any."""
        try:
            leases = sorted(self.run.store.glob("merge/*/*.json"), key=lambda p: p.stat().st_mtime)
        except FileNotFoundError:  # a temporary folder, which has its final name now
            leases = []
        if not leases or time.time() - leases[-1].stat().st_mtime > 0.5:
            return None
        return json.loads(leases[-1].read_text())["member"].split(".")[0]

    def victims(self, kind):
        """Pids to kill; empty if no process of that kind exists now."""
        if kind == "poller":
            return [self.poller.pid] if self.poller.poll() is None else []
        jobs = self.running()
        if kind == "merger":
            merging = self.merging_site()
            jobs = [(site, pid) for site, pid in jobs if site == merging]
        matches = is_mpirun if kind == "mpirun" else is_rank
        trees = [[p for p in [pid, *descendants(pid)] if matches(p)] for _, pid in jobs]
        trees = [tree for tree in trees if tree]
        if not trees:
            return []
        tree = self.rng.choice(trees)
        return tree if kind == "merger" else [self.rng.choice(tree)]

    def over(self):
        code = self.poller.poll()
        expect(code in (None, 0), f"the poller exited with {code}")
        return code == 0

    def strike(self, kind):
        """Waits for a victim of that kind and kills it; False if the day ends first."""
        pids = wait_for(lambda: self.over() or self.victims(kind), f"a {kind} to kill", timeout=60,
                        pause=0.005)
        if pids is True:
            return False
        self.killed |= {job_of(pid) for pid in pids} - {None}
        for pid in pids:
            kill(pid)
        if kind == "poller":
            self.poller.wait()
            self.start_poller()
        return True

    def finish(self):
        wait_for(lambda: self.poller.poll() is not None, "the end of the day", timeout=90)
        expect(self.poller.returncode == 0, f"the poller exited with {self.poller.returncode}")
        expect(not self.running(), "a job is still running")


def check_jobs(scene):
    """No two jobs of a site may have run at the same time."""
    for site in "AB":
        jobs = []
        for job_site, record, exit_file in scene.jobs():
            if job_site == site:
                ended = exit_file.stat().st_mtime if exit_file.exists() else None
                jobs.append((time_of(record["started"]), ended, record["comment"]))
        jobs.sort()
        for (_, ended, _), (started, _, comment) in zip(jobs, jobs[1:]):
            expect(ended is not None and ended <= started + 0.2,
                   f"site {site}: {comment} started before the previous job had ended")


def time_of(text):
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def held_tokens(commits, member):
    """The tokens of the blocks that a member last held."""
    return next(BLOCK * len(blocks_of(entry["held"])) for commit in reversed(commits)
                for entry in commit["members"] if entry["id"] == member)


def check_work(scene):
    """Compares what the sites have trained with the store. Returns the number of lost tokens."""
    record = read_contributions(FolderObjects(scene.run.store), PATIENCE_S)
    commits = scene.run.commits()
    lives = [life for site in "AB" for life in read_lives(scene.run.out / "sites" / site, site)]
    check_foreign(record, lives)
    losses = [loss for life in lives for loss in check_life(life, record)]
    for loss in losses:
        where = f"job {loss.life.job} of {loss.life.site} lost {loss.tokens} tokens"
        expect((loss.life.site, loss.life.job) in scene.killed,
               f"{where}, and nothing had killed it")
        held = held_tokens(commits, loss.member)
        expect(loss.tokens <= held, f"{where}, and its member held {held}")
    return sum(loss.tokens for loss in losses)


def one_run(seed):
    rng = random.Random(seed)
    with SmallRun(training=PACED, rounds=ROUNDS) as run:
        try:
            scene = Scene(run, rng)
            struck = []
            for _ in range(4):
                # A number of commits to wait for does not depend on the speed of the machine.
                wanted = len(run.commits()) + rng.randint(1, 6)
                wait_for(lambda: scene.over() or len(run.commits()) >= wanted, "commits",
                         timeout=90)
                kind = rng.choice(VICTIMS)
                time.sleep(rng.uniform(0, 1))  # a moment between two commits
                if scene.strike(kind):
                    struck.append(kind)
            scene.finish()
            expect(struck, "no process was killed")
            run.verify()
            tip = run.commits()[-1]
            expect(tip["totals"]["tokens"] > 0, "nothing was committed")
            lost = check_work(scene)
            check_jobs(scene)
            for site in "AB":
                run.check_journal(site)
            print(f"      seed {seed}: killed {', '.join(struck)}; {tip['number']} commits,"
                  f" {tip['totals']['tokens']} tokens, {lost} lost", flush=True)
        except Exception as error:
            replay = f"tests/system/kill_test.py --seed {seed}"
            raise Failure(f"{error} (replay with: {replay})") from error


def two_seeds():
    for seed in (1, 5):
        one_run(seed)


parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int)
arguments = parser.parse_args()
sys.argv[1:] = []
if arguments.seed is not None:

    def this_seed():
        one_run(arguments.seed)

    main([this_seed])
else:
    main([two_seeds])
