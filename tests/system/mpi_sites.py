# SPDX-License-Identifier: Apache-2.0
"""Two sites that exchange payloads over MPI, as jobs of a private Slurm cluster. The store is a
folder."""
import json
import sys
import time
from pathlib import Path

from harness import (BUILD, SOURCE, SmallRun, alive, descendants, execute, expect, is_mpirun,
                     program, program_of, stat_fields, wait_for)

MPI = {"connect": "auto", "interface": "lo", "peers": ["127.0.0.0/8"], "ports": "22000-22900",
       "timeout_s": 5}
SITES = ("A", "B")
# A payload of 8 MB, so that a transfer takes some milliseconds. Nearly all of it is the embedding,
# which costs little to train.
MODEL = {"name": "wide", "depth": 1, "sequence": 32, "vocabulary": 16_000}


def parent_of(pid):
    fields = stat_fields(pid)
    return int(fields[1]) if fields else None


def bytes_over_loopback():
    line = next(l for l in Path("/proc/net/dev").read_text().splitlines() if "lo:" in l)
    return int(line.split(":")[1].split()[0])


def wait_for_transfer(size, timeout=30):
    """Returns as soon as `size` bytes of one transfer have come over the loopback interface. What
    other programs send counts too: then the moment is another one."""
    deadline = time.monotonic() + timeout
    began = last = bytes_over_loopback()
    changed = time.monotonic()
    while last - began < size:
        time.sleep(0.0005)
        now = bytes_over_loopback()
        if now != last:
            last, changed = now, time.monotonic()
        elif time.monotonic() > changed + 0.02:
            began = last
        expect(time.monotonic() < deadline, "no transfer over MPI")


class TwoSites:
    """Keyword arguments change the key `mpi` of a site: A={"interface": "eth0"}."""

    def __init__(self, cluster, start=True, **changes):
        self.cluster = cluster
        self.run = SmallRun(model=MODEL, training={"batch_tokens": 128, "step_at_least_s": 0.8},
                            rounds={"keep_models": 100, "drop_after_s": 30})
        self.jobs = {}
        for site in SITES:
            self.run.change_site(site, mpi={**MPI, **changes.get(site, {})})
        self.begin = start

    def start(self, site):
        script = SOURCE / "slurm/site_train.sh"
        self.jobs[site] = self.cluster.submit(
            "--ntasks=1", f"--chdir={self.run.folder}", "--no-requeue",
            f"--export=ALL,CURTAIL_BUILD={BUILD},OMP_NUM_THREADS=1,TMPDIR={self.run.folder}",
            f"--output={self.run.folder}/job-{site}-%j.out", script, self.run.run_file, site)

    def __enter__(self):
        try:
            for site in SITES if self.begin else ():
                self.start(site)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, kind, *_):
        if kind is not None:
            print(self.log()[-6000:], file=sys.stderr)
        self.close()

    def close(self):
        for site in self.jobs:
            self.cluster.run("scancel", "--full", "--signal=KILL", self.jobs[site], code=None)
        for site in self.jobs:
            wait_for(lambda s=site: not self.is_queued(s), f"the end of the job of {site}", 30)
        self.run.close()

    def is_queued(self, site):
        return self.jobs[site] in self.cluster.run("squeue", "--noheader", "--format=%i").split()

    def log(self):
        return "\n".join(path.read_text(errors="replace")
                         for path in sorted(self.run.folder.glob("job-*.out")))

    def warnings(self):
        return [line for line in self.log().splitlines() if "no MPI connection" in line]

    def leader(self, site):
        """The process that trains the site."""
        wanted = f"{self.run.run_file}\0--site\0{site}\0"
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and program_of(entry.name) == "curtail-train":
                try:
                    if wanted in (entry / "cmdline").read_text():
                        return int(entry.name)
                except OSError:
                    pass
        return None

    def processes(self, site, name):
        """The processes of this name that belong to the site: curtail-train, mpirun (of the job),
        bridge-mpirun, ompi-server or curtail-bridge."""
        leader = self.leader(site)
        if leader is None:
            return []
        if name == "curtail-train":
            return [leader]
        if name == "mpirun":
            parent = parent_of(leader)
            return [parent] if is_mpirun(parent) else []
        program = name.removeprefix("bridge-")
        return [pid for pid in descendants(leader) if program_of(pid) == program]

    def read(self, site, way):
        return sum(event[f"{way}_bytes"] for event in self.run.events(site, "payloads-read"))

    def merges(self):
        """The times of the commits to which both sites contributed."""
        return [commit["time"] for commit in self.run.commits()
                if len({d["member"].split(".")[0] for d in commit["decided"]
                        if d["outcome"] == "included" and d["tokens"] > 0}) == 2]

    def wait_for_mpi(self):
        wait_for(lambda: all(self.read(site, "mpi") > 0 for site in SITES), "payloads over MPI", 60)

    def wait_for_merges(self, count, timeout=60):
        before = len(self.merges())
        wait_for(lambda: len(self.merges()) >= before + count, f"{count} merges", timeout)

    def wait_for_commits(self, count):
        before = len(self.run.commits())
        wait_for(lambda: len(self.run.commits()) >= before + count, f"{count} commits", 60)

    def end(self, sites=SITES, leaves_folder=False):
        """Ends the jobs as the poller does. They must end well, and leave nothing. Only the folder
        of a killed leader remains until the next start."""
        leaders = [self.leader(site) for site in sites]
        expect(all(leaders), f"leaders {leaders}")
        pids = [pid for leader in leaders for pid in (leader, *descendants(leader))]
        for site in sites:
            self.cluster.run("scancel", "--batch", "--signal=USR1", self.jobs[site])
        wait_for(lambda: not any(alive(pid) for pid in pids), "the end of all processes", 20)
        for site in sites:
            code = self.run.events(site, "trainer-exit")[-1]["code"]
            expect(code == 0, f"{site}: exit code {code}")
        self.run.verify()
        if leaves_folder:
            return
        folders = list(self.run.folder.glob("curtail-bridge-*"))
        expect(not folders, folders)

    def status(self):
        return json.loads(execute(program("curtail-status"), self.run.run_file, "--json").stdout)
