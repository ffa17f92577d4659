# SPDX-License-Identifier: Apache-2.0
"""Kill -9 at seeded random moments: ranks, mpirun, the poller, a merging site. Afterwards the chain verifies and no site ran two jobs at once.

    kill_test.py                 three seeds
    kill_test.py --seed 7        that one; a failure names its seed
"""
import argparse
import json
import random
import sys
import time
from datetime import datetime

from harness import Failure, SmallRun, alive, descendants, expect, is_mpirun, is_rank, kill, main, program, wait_for

SPEED = 150  # trace seconds per real second: a sample every 2 s
CLEAN, DIRTY = 20.0, 400.0
# Which of the sites A and B is clean in each sample of 300 s: alone, both, the other, none, both, alone.
DAY = ["", "A", "A", "AB", "AB", "AB", "B", "", "", "", "AB", "AB", "A", "", "", ""]
VICTIMS = ["rank", "mpirun", "poller", "merger"]


def write_trace(path):
    lines = ["point_time,A,B"]
    for i, clean in enumerate(DAY):
        seconds = i * 300
        cells = ",".join(str(CLEAN if site in clean else DIRTY) for site in "AB")
        lines.append(f"2026-01-11T{seconds // 3600:02}:{seconds // 60 % 60:02}:00+00:00,{cells}")
    path.write_text("\n".join(lines) + "\n")


class Scene:
    """One run under a poller that is started again whenever it was killed."""

    def __init__(self, run, rng):
        self.run, self.rng = run, rng
        run.store_folder.rmdir()  # who begins a run makes its store
        self.trace = run.folder / "trace.csv"
        write_trace(self.trace)
        self.start_poller()

    def start_poller(self):
        self.poller = self.run.start(program("curtail-poll"), self.run.run_file, "--watch", "--trace", self.trace, "--speed", SPEED)

    def jobs(self):
        """(site, record, exit file) of every job ever started."""
        found = []
        for record in sorted(self.run.out.glob("sites/*/jobs/*.json")):
            found.append((record.parent.parent.name, json.loads(record.read_text()), record.with_suffix(".exit")))
        return found

    def running(self):
        """(site, pid of the job's script, that is mpirun) of the jobs that run now and are ours."""
        return [(site, r["script"]["pid"]) for site, r, done in self.jobs() if not done.exists() and alive(r["script"]["pid"])]

    def victims(self, kind):
        if kind == "poller":
            return [self.poller.pid] if self.poller.poll() is None else []
        jobs = self.running()
        if kind == "merger":
            leases = sorted(self.run.store.glob("merge/*/*.json"), key=lambda p: p.stat().st_mtime)
            if not leases or time.time() - leases[-1].stat().st_mtime > 0.5:
                return []
            site = json.loads(leases[-1].read_text())["member"].split(".")[0]
            jobs = [j for j in jobs if j[0] == site]
        trees = [[pid, *descendants(pid)] for _, pid in jobs]
        wanted = is_mpirun if kind == "mpirun" else is_rank
        found = [[p for p in tree if wanted(p)] for tree in trees]
        found = [tree for tree in found if tree]
        if not found:
            return []
        tree = self.rng.choice(found)
        return tree if kind == "merger" else [self.rng.choice(tree)]

    def over(self):
        expect(self.poller.poll() in (None, 0), f"the poller left with {self.poller.returncode}")
        return self.poller.returncode == 0

    def strike(self, kind):
        """Waits for a victim of that kind, or for the end of the day, and kills it."""
        pids = wait_for(lambda: self.over() or self.victims(kind), f"a {kind} to kill", timeout=60, pause=0.005)
        if pids is True:
            return False
        for pid in pids:
            kill(pid)
        if kind == "poller":
            self.poller.wait()
            self.start_poller()
        return True

    def finish(self):
        wait_for(lambda: self.poller.poll() is not None, "the end of the day", timeout=90)
        expect(self.poller.returncode == 0, f"the poller left with {self.poller.returncode}")
        expect(not self.running(), "something still runs")


def check_jobs(scene):
    """No two jobs of a site at the same time."""
    for site in "AB":
        lives = []
        for at, record, done in scene.jobs():
            if at == site:
                began = time_of(record["started"])
                lives.append((began, done.stat().st_mtime if done.exists() else None, record["comment"]))
        lives.sort()
        for (_, ended, _), (began, _, comment) in zip(lives, lives[1:]):
            expect(ended is not None and ended <= began + 0.2, f"site {site}: {comment} began before the job before it had ended")


def time_of(text):
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def one_run(seed):
    rng = random.Random(seed)
    with SmallRun(model={"name": "small", "depth": 1, "sequence": 32, "vocabulary": 300}) as run:
        try:
            scene = Scene(run, rng)
            struck = []
            for _ in range(4):
                # The moment is drawn as a number of commits to wait for: it depends on what happens, not on how fast this machine is.
                seen = len(run.commits())
                more = rng.randint(1, 6)
                wait_for(lambda: scene.over() or len(run.commits()) >= seen + more, "commits", timeout=90)
                kind = rng.choice(VICTIMS)
                if scene.strike(kind):
                    struck.append(kind)
            scene.finish()
            expect(struck, "nobody was killed")
            run.verify()
            tip = run.commits()[-1]
            expect(tip["totals"]["tokens"] > 0, "nothing was committed")
            check_jobs(scene)
            print(f"      seed {seed}: killed {', '.join(struck)}; {tip['number']} commits, {tip['totals']['tokens']} tokens", flush=True)
        except Exception as error:
            raise Failure(f"{error} (replay with: tests/system/kill_test.py --seed {seed})") from error


def three_seeds():
    for seed in (1, 2, 3):
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
    main([three_seeds])
