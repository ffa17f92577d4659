# SPDX-License-Identifier: Apache-2.0
"""Three sites of one run. Each is a real mpirun of curtail-train with two ranks; a real poller
starts it, and starts it again after a fault."""
import json
import os
import re
import secrets
import shutil
import signal
import subprocess
import time
import urllib.error
from datetime import datetime, timedelta, timezone
from pathlib import Path

from chaos_account import time_of
from chaos_lives import GRACE_S, read_lives
from harness import (BUILD, SOURCE, SmallRun, execute, expect, kill, program, read_json_lines,
                     wait_for)
from tcp_proxy import TcpProxy

SITES = ("A", "B", "C")
DROP_AFTER_S, SKEW_S = 12, 2
ROUNDS = {
    "round_time_s": 3, "checkpoint_interval_s": 3, "poll_run_s": 0.5, "poll_run_lone_s": 0.5,
    "poll_run_starved_s": 0.5, "poll_wait_s": 0.2, "gather_time_s": 2, "lease_s": 4,
    "first_base_wait_s": 4, "drop_after_s": DROP_AFTER_S, "skew_s": SKEW_S, "max_missed": 5,
    "status_interval_s": 1,
    "keep_models": 1000,  # the account recomputes every model
}
LOCAL = {"kind": "local", "script": str(SOURCE / "slurm/site_train.sh"), "grace_s": GRACE_S,
         # NaN in the gradients may end one job after the other.
         "failures_before_hold": 1000}
STORE_MIB = 64


def can_mount():
    """Whether this process may mount a file system."""
    if os.geteuid() != 0:
        return False
    attempt = ["unshare", "--mount", "mount", "-t", "tmpfs", "none", "/mnt"]
    return subprocess.run(attempt, capture_output=True).returncode == 0


def run_options(seed, tokens):
    """The arguments of SmallRun and of its subclasses."""
    return {"sites": SITES, "rounds": ROUNDS, "launcher": LOCAL, "seed": seed,
            "training": {"tokens": tokens, "step_at_least_s": 0.1},
            "optimizer": {"schedule_tokens": tokens, "lr_scale": 0.006}}


class FolderObjects:
    """The objects of a run in a folder."""

    def __init__(self, folder):
        self.folder = folder

    def names(self, prefix):
        found = (path for path in (self.folder / prefix).rglob("*") if path.is_file())
        return [str(path.relative_to(self.folder)) for path in found
                if not path.name.startswith(".")]  # leftovers of killed writers

    def read(self, name):
        return (self.folder / name).read_bytes()

    def time(self, name):
        return (self.folder / name).stat().st_mtime

    def read_if_there(self, name):
        try:
            return self.read(name)
        except FileNotFoundError:
            return None

    def write(self, name, content):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f".{path.name}.part")
        part.write_bytes(content)
        part.rename(path)

    def remove(self, name):
        (self.folder / name).unlink()

    def newest(self, prefix):
        """The name and age in seconds of the newest object, or None."""
        try:
            times = {name: self.time(name) for name in self.names(prefix)}
        except FileNotFoundError:  # a temporary file, which has its final name now
            return None
        name = max(times, key=times.get, default=None)
        return name and (name, time.time() - times[name])


class FolderRun(SmallRun):
    """A run whose store is a folder. A store of limited size can be filled."""

    def __init__(self, limited=False, **options):
        super().__init__(**options)
        self.limited = limited
        if limited:
            execute("mount", "-t", "tmpfs", "-o", f"size={STORE_MIB}m,mode=0700", "none", self.store_folder)

    def objects(self):
        return FolderObjects(self.store)

    def save_objects(self):
        """Keeps the objects when the store goes."""
        if self.limited:
            shutil.copytree(self.store_folder, self.folder / "objects", dirs_exist_ok=True)

    def close(self):
        self.end_processes()
        if self.limited:
            execute("umount", self.store_folder)
        super().close()


class BucketObjects:
    """The objects of a run in a bucket."""

    def __init__(self, storage, bucket):
        self.storage, self.bucket, self.prefix = storage, bucket, "runs/small/"
        self.times = {key.removeprefix(self.prefix): time_of(time)
                      for key, time in storage.list_with_times(self.prefix, bucket).items()}

    def names(self, prefix):
        return [name for name in self.times if name.startswith(prefix)]

    def request(self, method, name, content=b""):
        return self.storage.request(method, f"/{self.bucket}/{self.prefix}{name}", body=content)

    def read(self, name):
        return self.request("GET", name)

    def read_if_there(self, name):
        try:
            return self.read(name)
        except urllib.error.HTTPError as error:
            if error.code != 404:
                raise
            return None

    def write(self, name, content):
        self.request("PUT", name, content)

    def remove(self, name):
        self.request("DELETE", name)

    def time(self, name):
        return self.times[name]


class BucketRun(SmallRun):
    """A run whose store is a bucket of its own. Each site reaches it through a proxy."""

    def __init__(self, storage, **options):
        super().__init__(**options)
        self.storage, self.bucket = storage, "chaos-" + secrets.token_hex(4)
        storage.add_bucket(self.bucket)
        self.store_folder.rmdir()
        self.config["store"] = f"s3://{self.bucket}"
        self.config["s3"] = {"endpoint": storage.endpoint,
                             "credentials": str(storage.credentials())}
        self.save()
        port = int(storage.endpoint.rsplit(":", 1)[1])
        self.proxies = {site: TcpProxy(port) for site in options["sites"]}
        for site, proxy in self.proxies.items():
            own = {"endpoint": f"http://127.0.0.1:{proxy.port}",
                   "credentials": str(storage.credentials(site))}
            self.change_site(site, s3=own)

    def objects(self):
        return BucketObjects(self.storage, self.bucket)

    def pieces(self, site, stream):
        objects = self.objects()
        return [objects.read(name) for name in sorted(objects.names(f"journal/{site}/{stream}/"))]

    def save_objects(self):
        objects = self.objects()
        for name in objects.names(""):
            path = self.folder / "objects" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(objects.read(name))

    def close(self):
        self.end_processes()
        for proxy in self.proxies.values():
            proxy.close()
        self.storage.remove_bucket(self.bucket)
        super().close()


def arguments_of(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")[:-1]
    except OSError:
        return []


class Job:
    """The processes of one job of a site: those that name the run's file and the site."""

    def __init__(self, run, site):
        self.site, self.ranks, self.starter, self.mpirun, self.id = site, [], None, None, ""
        for entry in Path("/proc").iterdir():
            words = arguments_of(entry.name) if entry.name.isdigit() else []
            if str(run.run_file) in words and "--site" in words and \
                    words[words.index("--site") + 1] == site:
                self.add(int(entry.name), words)

    def add(self, pid, words):
        name = Path(words[0]).name
        if name == "curtail-train":
            self.ranks.append(pid)
            self.id = words[words.index("--job") + 1]
        elif name == "curtail-forward-stop":
            self.starter = pid
        elif name in ("mpirun", "orterun"):
            self.mpirun = pid

    @property
    def runs(self):
        return len(self.ranks) == 2 and self.starter is not None and self.mpirun is not None

    def processes(self):
        return [self.starter, self.mpirun, *self.ranks]


def write_trace(path, closed):
    """A trace of ten minutes with a sample a second. `closed` has, for each site whose window does
    not stay open, the second at which it closes and that at which it opens again."""
    begin = datetime(2026, 1, 11, 17, 0, tzinfo=timezone.utc)
    lines = ["point_time," + ",".join(SITES)]
    for second in range(600):
        shut = [site for site in closed if closed[site][0] <= second < closed[site][1]]
        cells = ",".join("500" if site in shut else "50" for site in SITES)
        lines.append(f"{(begin + timedelta(seconds=second)).isoformat()},{cells}")
    path.write_text("\n".join(lines) + "\n")


def copy_if_there(source, target):
    """Files of a running trainer may vanish."""
    try:
        shutil.copy2(source, target)
    except FileNotFoundError:
        pass


class Twin:
    """A second poller for one site, with a folder of its own: an empty one, or a copy of what the
    trainers of the site know."""

    def __init__(self, run, site, name, copied):
        self.run, self.site, self.out = run, site, run.folder / name
        self.begun_at = time.time()
        if copied:
            leave = shutil.ignore_patterns(".*", "jobs", "job-logs", "permission.json")
            shutil.copytree(run.out / "sites" / site, self.out / "sites" / site, ignore=leave,
                            copy_function=copy_if_there)
        self.out.mkdir(exist_ok=True)
        shutil.copy(run.out / "clock.json", self.out)  # the clocks of live runs agree, too
        settings = json.loads((run.folder / f"site_{site}.json").read_text())
        prologue = {k: v for k, v in settings["launcher"].items() if k == "prologue"}
        run.write(f"{name}_{site}.json", {**settings, "launcher": {**LOCAL, **prologue}})
        sites = [f"{name}_{site}.json" if file == f"site_{site}.json" else file
                 for file in run.config["sites"]]
        run.write(f"{name}.json", {**run.config, "folder": name, "sites": sites})
        self.run_file, trace = run.folder / f"{name}.json", run.folder / f"{name}.csv"
        write_trace(trace, {})
        self.poller = run.start(program("curtail-poll"), self.run_file, "--watch", "--site", site,
                                "--trace", trace, "--look-every", 0.5)

    def stop(self):
        """Asks the poller to drain its job and to end."""
        self.poller.send_signal(signal.SIGTERM)

    def lives(self):
        """The jobs of this poller. A copied folder also has lines of earlier ones."""
        lives = [life for life in read_lives(self.out / "sites" / self.site, self.site)
                 if life.begun_at >= self.begun_at]
        for life in lives:
            life.job = f"{self.out.name} {life.job}"
        return lives


def is_member(folder):
    """Whether the job that runs in the folder of a site has joined."""
    kinds = [event["type"] for event in read_json_lines(folder / "events.jsonl")
             if event["type"] in ("trainer-start", "joined", "trainer-exit")]
    return kinds[-1:] == ["joined"]


class Federation:
    """A run and the poller that keeps its sites training. `closed` is as in write_trace(); a site
    whose window never opens takes no part. `poison` has, for each site whose ranks send NaN, which
    messages."""

    def __init__(self, run, closed=None, poison=None):
        self.run, self.closed, self.poisoned = run, closed or {}, set(poison or {})
        self.sites = [site for site in SITES if self.closed.get(site, (1, 1))[0] > 0]
        self.closing = {site for site, (begin, _) in self.closed.items() if begin > 0}
        self.resumed, self.twins = {}, []
        self.helped, self.repaired = 0, set()
        write_trace(run.folder / "trace.csv", self.closed)
        for site in SITES:
            run.change_site(site, poll_period_s=1, signal_max_age_s=10, permission_lifetime_s=20,
                            window={"close_delay_s": 1})
        for site, messages in (poison or {}).items():
            self.poison(site, messages)
        self.start_poller()

    def poison(self, site, messages):
        prologue = self.run.folder / f"prologue_{site}.sh"
        prologue.write_text(f"export LD_PRELOAD={BUILD}/tests/libnan_in_gradients.so\n"
                            f"export CURTAIL_TEST_NAN='{messages}'\n")
        launcher = json.loads((self.run.folder / f"site_{site}.json").read_text())["launcher"]
        self.run.change_site(site, launcher={**launcher, "prologue": prologue.name})

    def start_poller(self):
        self.poller = self.run.start(program("curtail-poll"), self.run.run_file, "--watch",
                                     "--trace", self.run.folder / "trace.csv", "--look-every", 0.5)

    def start_twin(self, site, copied):
        twin = Twin(self.run, site, f"twin{len(self.twins) + 1}", copied)
        self.twins.append(twin)
        return twin

    def pollers(self):
        return [self.poller, *(twin.poller for twin in self.twins)]

    def job(self, site):
        return Job(self.run, site)

    def all_jobs(self):
        """The jobs of all folders, each with the folder of its site."""
        for site in SITES:
            yield self.job(site), self.run.out / "sites" / site
        for twin in self.twins:
            yield Job(twin, twin.site), twin.out / "sites" / twin.site

    def all_jobs_are_members(self):
        """Whether each job that runs has joined."""
        return all(is_member(folder) for job, folder in self.all_jobs() if job.starter or job.ranks)

    def signal(self, job, name):
        """Sends a signal to the first process of a job, as Slurm does."""
        kill(job.starter, getattr(signal, "SIG" + name))

    def has_trained(self, site):
        return bool(self.run.events(site, "first-step"))

    def complete(self):
        return (self.run.out / "complete.json").exists()

    def wait_for_all_sites(self):
        wait_for(lambda: all(map(self.has_trained, self.sites)), "a step of each site", 90,
                 pause=0.05)

    def resume_after_nan(self):
        """A site whose training has diverged waits for a person."""
        for site in self.poisoned:
            held = sum(e["site"] == site for e in self.run.poller_events("hold"))
            if held > self.resumed.get(site, 0):
                self.resumed[site] = held
                execute(program("curtail-poll"), self.run.run_file, "--resume", site)

    def repair(self):
        """Does what a trainer says that has lost the chain, at every site. Returns whether one of
        the sites could repair all."""
        codes = []
        for file, site in [*((self.run.run_file, site) for site in self.sites),
                           *((twin.run_file, twin.site) for twin in self.twins)]:
            done = execute(program("curtail-store"), "repair", file, "--site", site, code=None)
            codes.append(done.returncode)
            self.repaired |= {int(name) for name in
                              re.findall(r"^copied +commits/(\d+).json$", done.stdout, re.M)}
        return 0 in codes

    def repair_if_asked(self):
        """A trainer that exits with 76 waits for a person."""
        asking = sum(event["code"] == 76 for _, folder in self.all_jobs()
                     for event in read_json_lines(folder / "events.jsonl")
                     if event["type"] == "trainer-exit")
        if asking > self.helped:
            self.helped = asking
            self.repair()

    def wait_for_completion(self, timeout):
        def complete():
            self.resume_after_nan()
            self.repair_if_asked()
            return self.complete()
        wait_for(complete, "the end of the run", timeout, pause=0.1)
        for poller in self.pollers()[1:]:
            self.wait_for_poller(poller)
        wait_for(lambda: not any(job.ranks for job, _ in self.all_jobs()), "the end of all jobs",
                 60, pause=0.1)

    def stop_poller(self):
        self.poller.send_signal(signal.SIGTERM)
        self.wait_for_poller(self.poller)

    def wait_for_poller(self, poller):
        code = wait_for(lambda: poller.poll() is not None and [poller.poll()],
                        "the end of the poller", 60)[0]
        # A stopped replay exits with 130.
        expect(code in (0, 130), f"the poller exited with {code}")

    def end_jobs(self):
        """Ends what outlives a killed poller; the run does that for local jobs."""

    def check_jobs(self):
        """No two jobs of a site may have run at the same time."""
        for site in SITES:
            jobs = []
            for path in (self.run.out / "sites" / site / "jobs").glob("*.json"):
                end, record = path.with_suffix(".exit"), json.loads(path.read_text())
                jobs.append((time_of(record["started"]), end.exists() and end.stat().st_mtime,
                             record["comment"]))
            jobs.sort()
            for (_, ended, _), (started, _, comment) in zip(jobs, jobs[1:]):
                expect(ended and ended <= started + 0.2,
                       f"site {site}: {comment} started before the previous job had ended")

    def lives(self):
        lives = [life for site in SITES
                 for life in read_lives(self.run.out / "sites" / site, site)]
        return lives + [life for twin in self.twins for life in twin.lives()]
