# SPDX-License-Identifier: Apache-2.0
"""A run of one site with a poller on a real Slurm cluster, for tests that break something in it."""
import contextlib
import datetime
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from harness import (LONG, PACED, POWER, SOURCE, SmallRun, expect, kill, program, read_json_lines,
                     wait_for)

POLL_PERIOD_S, LIFETIME_S, OUTAGE_S = (60, 180, 120) if LONG else (1, 4, 20)
CLOSE_DELAY_S, MAX_AGE_S = (60, 120) if LONG else (2, 3)
# The trainer reads the permission twice a second.
READ_S = 0.8
# PermissionWatch notes a permission at most this long after it appeared.
WATCH_S = 0.2


def trace(segments):
    """A trace of one sample per second. `segments` is a list of (seconds, intensity or None)."""
    begin = datetime.datetime(2026, 1, 11, 17, 0, tzinfo=datetime.timezone.utc)
    lines, second = ["point_time,A"], 0
    for seconds, intensity in segments:
        for _ in range(seconds):
            at = (begin + datetime.timedelta(seconds=second)).strftime("%Y-%m-%dT%H:%M:%SZ")
            lines.append(f"{at},{'' if intensity is None else intensity}")
            second += 1
    return "\n".join(lines) + "\n"


class PermissionWatch(threading.Thread):
    """Notes when each permission appeared, on the monotonic clock that the trainers use too."""

    def __init__(self, path):
        super().__init__(daemon=True)
        self.path, self.seen, self.ended = path, [], threading.Event()

    def run(self):
        while not self.ended.wait(0.02):
            try:
                text = json.loads(self.path.read_text())
            except (OSError, ValueError):
                continue
            if not self.seen or self.seen[-1]["serial"] != text["serial"]:
                self.seen.append({"at": time.monotonic(), **text})


class Rig:
    """A run of one site on the cluster, and its poller. The signal is a trace of `segments`, unless
    `source` has the poller's options for another one. `changes` replaces keys of the site."""

    def __init__(self, cluster, segments=((7200, 50),), prologue=None, source=None, changes=None,
                 ranks=1):
        self.cluster = cluster
        self.launcher = {"script": str(SOURCE / "slurm/site_train.sh"), "grace_s": 10,
                         "slurm_conf": cluster.environment["SLURM_CONF"], "partition": "train"}
        self.run = SmallRun(sites=("A",), ranks=ranks, launcher=self.launcher, training=PACED)
        if prologue is not None:
            (self.run.folder / "prologue.sh").write_text(prologue)
            self.launcher["prologue"] = "prologue.sh"
        self.run.write("site_A.json", {
            "site": "A", "ranks": ranks, "region": "A", "power": POWER,
            "launcher": self.launcher,
            "poll_period_s": POLL_PERIOD_S, "permission_lifetime_s": LIFETIME_S,
            "signal_max_age_s": MAX_AGE_S, "window": {"close_delay_s": CLOSE_DELAY_S},
            **(changes or {})})
        (self.run.folder / "trace.csv").write_text(trace(segments))
        self.source = source or ["--trace", self.run.folder / "trace.csv"]
        self.site = self.run.out / "sites/A"
        self.watch = PermissionWatch(self.site / "permission.json")
        self.watch.start()
        self.poller = None
        self.known_exits = 0

    def start_poller(self, environment=None, before=None):
        log = open(self.run.folder / "poller.log", "ab")
        self.poller = subprocess.Popen(
            [program("curtail-poll"), self.run.run_file, *self.source, "--watch", "--look-every",
             "1"], stdout=log, stderr=log, stdin=subprocess.DEVNULL, preexec_fn=before,
            env={**os.environ, **(environment or {})})
        return self.poller

    def change_launcher(self, **changes):
        self.launcher.update(changes)
        self.run.change_site("A", launcher=self.launcher)

    @contextlib.contextmanager
    def closed_partition(self):
        """Meanwhile, jobs of the site wait."""
        with self.cluster.closed_partition() as name:
            self.change_launcher(partition=name)
            yield

    def hide_completion_log(self):
        """From now on, `sacct --completion` finds no job for the poller."""
        text = Path(self.launcher["slurm_conf"]).read_text()
        hidden = self.run.folder / "slurm.conf"
        hidden.write_text(re.sub("(?m)^JobCompLoc=.*$", f"JobCompLoc={self.run.folder}/none", text))
        self.change_launcher(slurm_conf=str(hidden))

    def kill_poller(self):
        kill(self.poller.pid)
        self.poller.wait()

    def steps(self):
        return self.run.metrics("A")

    def wait_for_steps(self, more, what):
        target = len(self.steps()) + more
        wait_for(lambda: len(self.steps()) >= target, what, timeout=60 + 4 * LIFETIME_S)
        self.known_exits = self.exits()

    def exits(self):
        return len(self.run.events("A", "trainer-exit"))

    def wait_for_stop(self, limit):
        """Returns once the trainer that wait_for_steps() saw last has exited, which must happen
        within `limit` seconds."""
        wait_for(lambda: self.exits() > self.known_exits, "the trainer's exit", timeout=limit)
        self.known_exits = self.exits()

    def windows(self):
        return [e["window"] for e in self.run.poller_events("window-open")]

    def samples(self):
        """The number of samples that the poller has received. The trace has a new one for each
        poll."""
        return len(read_json_lines(self.run.out / "poller/sites/A/signals.jsonl"))

    def jobs(self):
        return [e["job"] for e in self.run.poller_events("job-submitted")]

    def steps_with_permission(self):
        """The steps before which the trainer must have read a permission: (step, start, newest of
        these permissions)."""
        found = []
        for step in self.steps():
            start = step["monotonic_s"] - step["step_s"]
            before = [p for p in self.watch.seen if p["at"] + READ_S < start]
            if before:
                found.append((step, start, before[-1]))
        return found

    def check_steps(self):
        """No step started later than allowed by the newest permission that the trainer must have
        read before it, or by a newer one that it may have read."""
        wait_for(lambda: len(self.steps_with_permission()) > 5, "6 steps that can be checked",
                 timeout=LIFETIME_S)
        for step, start, newest in self.steps_with_permission():
            newer = [p for p in self.watch.seen if start - READ_S <= p["at"] <= start + WATCH_S]
            expect(any(start <= p["at"] + READ_S + p["lifetime_s"] for p in [newest, *newer]),
                   f"step {step['step']} began {start - newest['at']:.2f} s after {newest}")

    def __enter__(self):
        self.run.__enter__()
        return self

    def __exit__(self, kind, *rest):
        self.watch.ended.set()
        self.watch.join()
        if kind is not None:
            for path in [*self.run.folder.glob("*.log"), *self.site.glob("*.log"),
                         *self.run.out.glob("poller/sites/*/events.jsonl"),
                         self.site / "permission.json"]:
                if path.exists():
                    print(f"== {path.name}\n{path.read_text()[-3000:]}", file=sys.stderr)
        if self.poller is not None and self.poller.poll() is None:
            self.poller.send_signal(signal.SIGTERM)
            try:
                self.poller.wait(timeout=60)
            except subprocess.TimeoutExpired:
                self.kill_poller()
        for job in self.jobs():
            self.cluster.run("scancel", job, code=None)
        self.run.__exit__(kind, *rest)


def expect_stop_in_time(rig, since, limit=LIFETIME_S):
    """The trainer exits at most `limit` seconds after `since`, plus its last step and commit."""
    rig.wait_for_stop(limit + READ_S + 10 - (time.monotonic() - since))
