# SPDX-License-Identifier: Apache-2.0
"""A job trains only while its poller permits it: each test breaks one thing in an open window, on a
real Slurm cluster. No step may start later than the permission allows, and the site must continue
by itself once the cause is gone. --long runs every test at the times of a real centre."""
import datetime
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time

from harness import BUILD, SOURCE, SmallRun, expect, kill, main, program, wait_for
from slurm_clusters import HardCluster

LONG = "--long" in sys.argv
if LONG:
    sys.argv.remove("--long")
POLL_PERIOD_S, LIFETIME_S, OUTAGE_S = (60, 180, 120) if LONG else (1, 4, 20)
CLOSE_DELAY_S, MAX_AGE_S = (60, 120) if LONG else (2, 3)
# The trainer reads the permission twice a second.
READ_S = 0.8
FAKETIME = "/usr/lib/{}/faketime/libfaketime.so.1"


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
    """A run of one site on the cluster, its poller, and a clean signal unless `segments` is given."""

    def __init__(self, cluster, segments=((7200, 50),), prologue=None):
        self.cluster = cluster
        launcher = {"script": str(SOURCE / "slurm/site_train.sh"), "grace_s": 10,
                    "slurm_conf": cluster.environment["SLURM_CONF"], "partition": "train"}
        self.run = SmallRun(sites=("A",), launcher=launcher)
        if prologue is not None:
            (self.run.folder / "prologue.sh").write_text(prologue)
            launcher["prologue"] = "prologue.sh"
        self.run.write("site_A.json", {
            "site": "A", "ranks": 2, "region": "A", "launcher": launcher,
            "poll_period_s": POLL_PERIOD_S, "permission_lifetime_s": LIFETIME_S,
            "signal_max_age_s": MAX_AGE_S, "window": {"close_delay_s": CLOSE_DELAY_S}})
        (self.run.folder / "trace.csv").write_text(trace(segments))
        self.site = self.run.out / "sites/A"
        self.watch = PermissionWatch(self.site / "permission.json")
        self.watch.start()
        self.poller = None

    def start_poller(self, environment=None, before=None):
        log = open(self.run.folder / "poller.log", "ab")
        self.poller = subprocess.Popen(
            [program("curtail-poll"), self.run.run_file, "--trace", self.run.folder / "trace.csv",
             "--watch"], stdout=log, stderr=log, stdin=subprocess.DEVNULL, preexec_fn=before,
            env={**os.environ, **(environment or {})})
        return self.poller

    def kill_poller(self):
        kill(self.poller.pid)
        self.poller.wait()

    def steps(self):
        return self.run.metrics("A")

    def wait_for_steps(self, more, what):
        target = len(self.steps()) + more
        wait_for(lambda: len(self.steps()) >= target, what, timeout=60 + 4 * LIFETIME_S)

    def wait_for_stop(self, limit):
        """Returns once the trainer has exited, which must happen within `limit` seconds."""
        exits = len(self.run.events("A", "trainer-exit"))
        wait_for(lambda: len(self.run.events("A", "trainer-exit")) > exits, "the trainer's exit",
                 timeout=limit)

    def windows(self):
        path = self.run.out / "poller/events.jsonl"
        lines = path.read_text().splitlines() if path.exists() else []
        return [e["window"] for e in map(json.loads, lines) if e["type"] == "window-open"]

    def jobs(self):
        path = self.run.out / "poller/events.jsonl"
        return [e["job"] for e in map(json.loads, path.read_text().splitlines())
                if e["type"] == "job-submitted"]

    def check_steps(self):
        """No step started later than the newest permission before it allows."""
        checked = 0
        for step in self.steps():
            start = step["monotonic_s"] - step["step_s"]
            before = [p for p in self.watch.seen if p["at"] + READ_S < start]
            if not before:
                continue
            newest = before[-1]
            expect(start <= newest["at"] + READ_S + newest["lifetime_s"],
                   f"step {step['step']} began {start - newest['at']:.2f} s after {newest}")
            checked += 1
        expect(checked > 5, f"only {checked} steps could be checked")

    def __enter__(self):
        self.run.__enter__()
        return self

    def __exit__(self, kind, *rest):
        self.watch.ended.set()
        self.watch.join()
        if kind is not None:
            for path in [self.run.folder / "poller.log", *self.site.glob("*.log"),
                         self.run.out / "poller/events.jsonl", self.site / "permission.json"]:
                if path.exists():
                    print(f"== {path.name}\n{path.read_text()[-3000:]}", file=sys.stderr)
        if self.poller is not None and self.poller.poll() is None:
            self.poller.send_signal(signal.SIGTERM)
            try:
                self.poller.wait(timeout=60)
            except subprocess.TimeoutExpired:
                self.kill_poller()
        for job in self.jobs() if (self.run.out / "poller/events.jsonl").exists() else []:
            self.cluster.run("scancel", job, code=None)
        self.run.__exit__(kind, *rest)


def expect_stop_in_time(rig, since, limit=LIFETIME_S):
    """The trainer exits at most `limit` seconds after `since`, plus its last step and commit."""
    rig.wait_for_stop(limit + READ_S + 10 - (time.monotonic() - since))


def expect_same_window(rig):
    expect(len(rig.windows()) == 1, f"windows {rig.windows()}")


def permission_of_a_killed_poller_ends(cluster):
    with Rig(cluster) as rig:
        rig.start_poller()
        rig.wait_for_steps(5, "training")
        rig.kill_poller()
        expect_stop_in_time(rig, time.monotonic())
        ending = rig.run.events("A", "trainer-exit")[-1]
        expect((ending["code"], ending["cause"]) == (0, "permission"), f"{ending}")
        rig.start_poller()
        rig.wait_for_steps(5, "training after the poller's return")
        expect_same_window(rig)
        rig.check_steps()


def permission_ends_while_the_poller_s_disk_is_full(cluster):
    with Rig(cluster) as rig:
        ignored = lambda: signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        rig.start_poller(before=ignored)
        rig.wait_for_steps(5, "training")
        subprocess.run(["prlimit", "--pid", str(rig.poller.pid), "--fsize=0:unlimited"], check=True)
        expect_stop_in_time(rig, time.monotonic())
        subprocess.run(["prlimit", "--pid", str(rig.poller.pid), "--fsize=unlimited:unlimited"],
                       check=True)
        rig.wait_for_steps(5, "training after disk space was freed")
        expect_same_window(rig)
        rig.check_steps()


def permission_survives_the_loss_of_the_poller_s_state(cluster):
    with Rig(cluster) as rig:
        rig.start_poller()
        rig.wait_for_steps(5, "training")
        rig.kill_poller()
        shutil.rmtree(rig.run.out / "poller")
        rig.start_poller()
        rig.wait_for_steps(5, "training after the loss of the state")
        expect_same_window(rig)
        rig.check_steps()
        expect(len(rig.run.events("A", "trainer-start")) == 1, "the running job was not adopted")


def permission_is_renewed_while_the_controller_is_stopped(cluster):
    with Rig(cluster) as rig:
        rig.start_poller()
        rig.wait_for_steps(5, "training")
        cluster.clusters("controller", "stop", "A")
        try:
            end = time.monotonic() + OUTAGE_S
            while time.monotonic() < end:
                rig.wait_for_steps(1, "training without a controller")
        finally:
            cluster.clusters("controller", "start", "A")
        rig.wait_for_steps(5, "training after the controller's return")
        expect_same_window(rig)
        expect(len(rig.jobs()) == 1, f"jobs {rig.jobs()}")
        rig.check_steps()


def permission_ends_at_the_close_of_the_window_without_a_controller(cluster):
    open_s = 15 if not LONG else 300
    with Rig(cluster, [(open_s, 50), (7200, 500)]) as rig:
        begun = time.monotonic()
        rig.start_poller()
        rig.wait_for_steps(5, "training")
        cluster.clusters("controller", "stop", "A")
        try:
            expect_stop_in_time(rig, begun, open_s + CLOSE_DELAY_S + 2 * POLL_PERIOD_S)
        finally:
            cluster.clusters("controller", "start", "A")
        expect_same_window(rig)
        rig.check_steps()


def fail_safe_when_the_signal_is_silent(cluster):
    clean_s, quiet_s = (15 if not LONG else 300), MAX_AGE_S + CLOSE_DELAY_S + 10
    with Rig(cluster, [(clean_s, 50), (quiet_s, None), (7200, 50)]) as rig:
        begun = time.monotonic()
        rig.start_poller()
        rig.wait_for_steps(5, "training")
        expect_stop_in_time(rig, begun, clean_s + MAX_AGE_S + CLOSE_DELAY_S + 2 * POLL_PERIOD_S)
        rig.wait_for_steps(5, "training after the first fresh sample")
        expect(len(rig.windows()) == 2, f"windows {rig.windows()}")
        rig.check_steps()


def faketime(rig_folder, offset):
    """Environment of a process whose clock shows another time; the monotonic clock is real."""
    library = FAKETIME.format(os.uname().machine + "-linux-gnu")
    expect(os.path.exists(library), f"{library} is missing; install the package faketime")
    file = rig_folder / "faketime"
    file.write_text(offset)
    return {"LD_PRELOAD": library, "FAKETIME_TIMESTAMP_FILE": str(file), "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1"}


def fail_safe_when_the_poller_s_clock_is_an_hour_back(cluster):
    with Rig(cluster) as rig:
        environment = faketime(rig.run.folder, "+0")
        rig.start_poller(environment)
        rig.wait_for_steps(5, "training")
        (rig.run.folder / "faketime").write_text("-3600")
        expect_stop_in_time(rig, time.monotonic())
        (rig.run.folder / "faketime").write_text("+0")
        rig.wait_for_steps(5, "training after the clock was corrected")
        expect_same_window(rig)
        rig.check_steps()


def fail_safe_when_the_job_s_clock_is_an_hour_back(cluster):
    folder = cluster.folder / "clock"
    folder.mkdir(exist_ok=True)
    environment = faketime(folder, "+0")
    exports = "".join(f"export {name}={value}\n" for name, value in environment.items())
    with Rig(cluster, prologue=exports) as rig:
        rig.start_poller()
        rig.wait_for_steps(5, "training")
        (folder / "faketime").write_text("-3600")
        expect_stop_in_time(rig, time.monotonic())
        (folder / "faketime").write_text("+0")
        rig.wait_for_steps(5, "training after the clock was corrected")
        expect_same_window(rig)
        rig.check_steps()
    shutil.rmtree(folder)


if __name__ == "__main__":
    with HardCluster(kill_wait=10, epilog=0) as shared:
        main(shared.bind([
            permission_of_a_killed_poller_ends,
            permission_ends_while_the_poller_s_disk_is_full,
            permission_survives_the_loss_of_the_poller_s_state,
            permission_is_renewed_while_the_controller_is_stopped,
            permission_ends_at_the_close_of_the_window_without_a_controller,
            fail_safe_when_the_signal_is_silent,
            fail_safe_when_the_poller_s_clock_is_an_hour_back,
            fail_safe_when_the_job_s_clock_is_an_hour_back,
        ]))
