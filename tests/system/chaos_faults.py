# SPDX-License-Identifier: Apache-2.0
"""Faults of the chaos runs that break processes, connections and servers."""
import errno
import json
import signal
import time

from chaos_lives import MAY_REMOVE_S
from harness import kill


class Fault:
    """Something that breaks at a seeded moment, and is repaired `seconds` later."""

    lossy = False  # the job may lose what it has not stored
    breaks_store = False  # the store fails for `site`, or for all sites if that is None
    doubles = False  # another process of `site` runs meanwhile
    taken = {}  # objects that it has removed from the store: name -> (content, time)
    target = None  # only one fault at a time breaks this part of a site, or of the store

    def __init__(self, after, site=None, seconds=0.0):
        self.after, self.site, self.seconds = after, site, seconds
        self.job = None
        self.begun = self.ended = None  # seconds on the clock of play()
        self.begun_at = self.ended_at = None  # seconds since 1970

    def __str__(self):
        where = f" {self.site}" if self.site else ""
        lasts = f" for {self.seconds:.1f} s" if self.seconds else ""
        return f"{self.name}{where} at {self.after:.1f} s{lasts}"

    @property
    def removes(self):
        """Whether the members of the site may be removed."""
        return self.lossy

    def begin(self, federation):
        """Breaks it. Returns False if that is not possible yet."""
        job = federation.job(self.site)
        if not job.runs:
            return False
        self.job = job.id
        self.strike(job, federation)
        return True

    def may_end(self, federation):
        """Whether the end, whose time has come, may happen now."""
        return True

    def end(self, federation):
        """Repairs it."""


class KillSite(Fault):
    name, lossy = "kill", True

    def strike(self, job, _):
        for pid in job.ranks:
            kill(pid)


class KillRank(Fault):
    name, lossy = "kill-rank", True
    rank = 0

    def strike(self, job, _):
        kill(sorted(job.ranks)[self.rank])


class KillMpirun(Fault):
    name, lossy = "kill-mpirun", True

    def strike(self, job, _):
        kill(job.mpirun)


class KillMerger(KillSite):
    """Kills the ranks of the site that has just taken the lease for a merge."""
    name = "kill-merger"

    def begin(self, federation):
        newest = federation.run.objects().newest("merge/")
        if newest is None or newest[1] > 0.5:
            return False
        lease = json.loads(federation.run.objects().read(newest[0]))
        self.site = lease["member"].split(".")[0]
        return super().begin(federation)


class KillPoller(Fault):
    name, target = "kill-poller", "poller"

    def begin(self, federation):
        kill(federation.poller.pid)
        federation.poller.wait()
        return True

    def end(self, federation):
        federation.start_poller()


class Pause(Fault):
    name, target = "pause", "job"

    @property
    def removes(self):
        return self.seconds > MAY_REMOVE_S

    def strike(self, job, _):
        self.pids = job.processes()
        for pid in self.pids:
            kill(pid, signal.SIGSTOP)

    def end(self, federation):
        for pid in self.pids:
            kill(pid, signal.SIGCONT)


class Terminate(Fault):
    name = "term"

    def strike(self, job, federation):
        federation.signal(job, "TERM")


class Drain(Fault):
    name = "usr1"

    def strike(self, job, federation):
        federation.signal(job, "USR1")


class FullStore(Fault):
    name, target, breaks_store = "full store", "store", True

    def begin(self, federation):
        self.filler = federation.run.store_folder / "filler"
        with open(self.filler, "wb", buffering=0) as file:
            try:
                while file.write(bytes(1 << 20)):
                    pass
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise
        return True

    def end(self, federation):
        self.filler.unlink()


class GatewayRestart(Fault):
    name, target, breaks_store = "gateway down", "store", True

    def begin(self, federation):
        federation.run.storage.gateway("kill")
        return True

    def end(self, federation):
        federation.run.storage.gateway("start")


class Reset(Fault):
    name, target, breaks_store = "reset", "proxy", True

    def begin(self, federation):
        federation.run.proxies[self.site].reset()
        return True

    def end(self, federation):
        federation.run.proxies[self.site].heal()


class Stall(Reset):
    name = "stall"

    def begin(self, federation):
        federation.run.proxies[self.site].stall()
        return True


class Twins(Fault):
    """A second poller starts jobs of the site for a while."""
    name, target, doubles = "twins", "twins", True
    copied = False

    def __str__(self):
        return super().__str__() + (" in a copied folder" if self.copied else "")

    def strike(self, job, federation):
        self.twin = federation.start_twin(self.site, self.copied)

    def end(self, federation):
        self.twin.stop()


def must_wait(fault, faults):
    return fault.target is not None and any(
        other.begun is not None and other.ended is None and
        (other.target, other.site) == (fault.target, fault.site) for other in faults)


def advance(fault, faults, federation, now):
    """Begins or ends a fault whose time has come."""
    over = federation.complete()
    if fault.begun is None and over:
        fault.ended = now
    elif fault.begun is None:
        if now >= fault.after and not must_wait(fault, faults) and fault.begin(federation):
            fault.begun, fault.begun_at = now, time.time()
    elif over or now >= fault.begun + fault.seconds and fault.may_end(federation):
        fault.end(federation)
        fault.ended, fault.ended_at = now, time.time()


def play(federation, faults):
    """Lets the faults happen at their times after this call, until the run is complete. Returns
    those that happened."""
    start = time.monotonic()
    try:
        while waiting := [fault for fault in faults if fault.ended is None]:
            for fault in waiting:
                advance(fault, faults, federation, time.monotonic() - start)
            time.sleep(0.02)
    finally:
        for fault in faults:
            if fault.begun is not None and fault.ended is None:
                fault.end(federation)
    return [fault for fault in faults if fault.begun is not None]
