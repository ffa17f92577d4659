# SPDX-License-Identifier: Apache-2.0
"""Two sites that exchange payloads over MPI. Each has a job of its own; the store is a folder. Then
parts of the bridge between them die, hang or cannot be built: the sites go on over the store."""
import os
import random
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

from harness import (SmallRun, alive, descendants, expect, kill, main, program, program_of,
                     wait_for)

MPI = {"connect": "auto", "interface": "lo", "peers": ["127.0.0.0/8"], "ports": "43000-43900",
       "timeout_s": 5}
# Payloads of some megabytes, so that a transfer has several pieces.
MODEL = {"name": "middle", "depth": 2, "sequence": 32, "vocabulary": 300}
LONG = "--long" in sys.argv


class TwoSites:
    def __init__(self, start=True, **changes):
        self.run = SmallRun(model=MODEL)
        self.begin = start
        self.jobs = {}
        for site in ("A", "B"):
            self.run.change_site(site, mpi={**MPI, **changes.get(site, {})})

    def __enter__(self):
        if self.begin:
            self.jobs = {site: self.run.start_training(site, ranks=1) for site in ("A", "B")}
        return self

    def __exit__(self, kind, *_):
        if kind is not None:
            print(self.run.log()[-6000:], file=sys.stderr)
        self.run.close()

    def read(self, site, way):
        return sum(event[f"{way}_bytes"]
                   for event in self.run.events(site, "payloads-read"))

    def merges(self):
        return sum(len({d["member"].split(".")[0] for d in commit["decided"]
                        if d["outcome"] == "included" and d["tokens"] > 0}) == 2
                   for commit in self.run.commits())

    def wait_for_mpi(self):
        wait_for(lambda: all(self.read(site, "mpi") > 0 for site in "AB"), "payloads over MPI", 60)

    def wait_for_merges(self, count):
        before = self.merges()
        wait_for(lambda: self.merges() >= before + count, f"{count} merges", 60)

    def processes(self, site, name):
        """The processes of this name that belong to the site's bridges."""
        return [pid for pid in descendants(self.jobs[site].pid) if program_of(pid) == name and
                (name != "mpirun" or program_of(parent_of(pid)) == "curtail-train")]

    def end(self, sites="AB"):
        pids = [pid for site in sites for pid in descendants(self.jobs[site].pid)]
        for site in sites:
            self.jobs[site].send_signal(signal.SIGUSR1)
        for site in sites:
            expect(self.jobs[site].wait(30) == 0, f"{site}: exit code {self.jobs[site].returncode}")
        wait_for(lambda: not any(alive(pid) for pid in pids), "the end of all processes", 20)
        self.run.verify()
        folders = list(Path(os.environ.get("TMPDIR", "/tmp")).glob("curtail-bridge-*"))
        expect(not [f for f in folders if f.stat().st_mtime > self.began], folders)

    began = time.time()


def parent_of(pid):
    return int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])


def warnings(log):
    return [line for line in log.splitlines() if "no MPI connection" in line]


def payloads_come_over_mpi():
    with TwoSites() as two:
        two.wait_for_mpi()
        two.wait_for_merges(3)
        two.end()
        log = two.run.log()
        expect("exchanges payloads with B (" in log, "no message of A")
        expect("exchanges payloads with A (" in log, "no message of B")


def break_one(number, name, how):
    """Breaks one process of the bridge at a random moment. Both sites go on."""
    source = random.Random(number)
    with TwoSites() as two:
        two.wait_for_mpi()
        site = source.choice("AB")
        found = two.processes(site, name)
        if not found:  # only the older member has an ompi-server
            site = "B" if site == "A" else "A"
            found = two.processes(site, name)
        time.sleep(source.random())
        kill(found[0], how)
        two.wait_for_merges(3)
        if how == signal.SIGSTOP:
            kill(found[0], signal.SIGCONT)
        two.end()


def broken_bridges_cost_no_round():
    moments = 20 if LONG else 1
    for name in ("curtail-bridge", "mpirun", "ompi-server"):
        for how in (signal.SIGKILL, signal.SIGSTOP):
            for number in range(moments):
                print(f"      {name}, {how.name}, seed {number}", flush=True)
                break_one(number, name, how)


def killed_site_ends_its_bridges_and_no_other():
    with TwoSites() as two:
        two.wait_for_mpi()
        job = two.jobs["B"]
        bridges = two.processes("B", "curtail-bridge") + two.processes("B", "ompi-server")
        for pid in [job.pid, *(p for p in descendants(job.pid) if program_of(p) == "curtail-train")]:
            kill(pid)
        job.wait(20)
        wait_for(lambda: not any(alive(pid) for pid in bridges), "the end of B's bridges", 20)
        before = len(two.run.commits())
        wait_for(lambda: len(two.run.commits()) > before + 1, "later commits of A", 60)
        # B comes back as another member. It removes what its killed process has left.
        read = two.read("B", "mpi")
        two.jobs["B"] = two.run.start_training("B", ranks=1)
        wait_for(lambda: two.read("B", "mpi") > read, "payloads over MPI again", 60)
        two.end()


def start_check(two, site):
    return subprocess.Popen([program("curtail-train"), "--mpi-check", two.run.run_file, "--site",
                             site], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def check_tries_the_connection():
    with TwoSites(start=False) as two:
        checks = [start_check(two, site) for site in "AB"]
        for site, other, check in zip("AB", "BA", checks):
            out, errors = check.communicate(timeout=60)
            expect(check.returncode == 0, errors)
            for text in (f"site       {site} on ", "interface  lo, ports 43000-43900", "Open MPI v4",
                         "MPI_THREAD_", f"other end  {other} on ", "received   64 MB at ",
                         "sent       64 MB at ", f"{site} and {other} exchange payloads over MPI"):
                expect(text in out, (text, out))
    for changes, why in (({"connect": "off"}, "mpi.connect is off in the file of site A"),
                         ({"interface": "no0"}, "no network interface no0")):
        with TwoSites(start=False, A=changes) as two:
            checks = [start_check(two, site) for site in "AB"]
            out, errors = checks[0].communicate(timeout=90)
            expect(checks[0].returncode == 69 and not out, (checks[0].returncode, out))
            expect(why in errors and "this site uses the store" in errors, errors)
            kill(checks[1].pid)
            checks[1].communicate()


def sites_that_cannot_connect_use_the_store():
    taken = socket.create_server(("0.0.0.0", 0))
    port = taken.getsockname()[1]
    for changes, why in (({"A": {"interface": "no0"}}, "no network interface no0; set mpi.interface to one of:"),
                         ({"A": {"peers": ["10.9.0.0/16"]}, "B": {"peers": ["10.9.0.0/16"]}},
                          "mpi.peers"),
                         ({"A": {"ports": f"{port}-{port}"}}, "listen at no port of")):
        with TwoSites(**changes) as two:
            two.wait_for_merges(2)
            wait_for(lambda: warnings(two.run.log()), f"a warning for {changes}", 60)
            expect(any(why in line for line in warnings(two.run.log())), warnings(two.run.log()))
            expect(all(two.read(site, "mpi") == 0 for site in "AB"), "payloads came over MPI")
            two.end()


if __name__ == "__main__":
    sys.argv = [argument for argument in sys.argv if argument != "--long"]
    main([payloads_come_over_mpi, broken_bridges_cost_no_round,
          killed_site_ends_its_bridges_and_no_other, sites_that_cannot_connect_use_the_store,
          check_tries_the_connection])
