# SPDX-License-Identifier: Apache-2.0
"""The faults of the chaos runs, and how a seed chooses them."""
import errno
import json
import random
import signal
import time

from chaos_lives import MAY_REMOVE_S
from chaos_run import DROP_AFTER_S, SITES, SKEW_S
from harness import kill

SHORT_S = (0.5, 8)  # shorter than `drop_after`
LONG_PAUSE_S = (DROP_AFTER_S + SKEW_S + 2, DROP_AFTER_S + SKEW_S + 6)


class Fault:
    """Something that breaks at a seeded moment, and is repaired `seconds` later."""

    lossy = False  # the job may lose what it has not stored
    breaks_store = False  # the store fails for `site`, or for all sites if that is None
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
    name, target, breaks_store = "full store", "folder", True

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
    name, target, breaks_store = "gateway down", "gateway", True

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
    elif over or now >= fault.begun + fault.seconds:
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


class Plan:
    """What a seed chooses. An undisturbed run trains for longer than `latest_s`."""

    def __init__(self, seed, latest_s, in_bucket, can_fill):
        self.random = random.Random(seed)
        self.closed = self.choose_windows(latest_s)
        sites = [site for site in SITES if self.closed.get(site, (1, 1))[0] > 0]
        self.poison = {}
        if self.random.random() < 0.25:
            self.poison[self.random.choice(sites)] = \
                f"{self.random.randint(10, 200)} {self.random.choice([1, 3, 12, 40])}"
        of_sites = [self.kill_site, self.kill_part, self.pause, self.stop]
        of_stores = [self.fill]
        if len(sites) > 1:
            of_stores.append(self.kill_merger)  # one site alone merges nothing
        if in_bucket:
            of_stores = [self.restart, self.cut, self.cut]
        kinds = self.random.choices([*of_sites, *of_stores, self.kill_poller],
                                    k=self.random.randint(1, 3))
        chosen = [kind(self.random.uniform(0, latest_s), self.random.choice(sites))
                  for kind in kinds]
        if len(chosen) > 1 and self.random.random() < 0.5:
            # The second fault begins during the first one.
            chosen[1].after = chosen[0].after + self.random.uniform(0, max(chosen[0].seconds, 1))
        chosen.sort(key=lambda fault: fault.after)
        self.left_out = [f for f in chosen if isinstance(f, FullStore) and not can_fill]
        self.faults = [fault for fault in chosen if fault not in self.left_out]

    def choose_windows(self, latest_s):
        """Usually, all windows stay open. Those of up to two sites never open, and one may close
        for a while."""
        taking_part = self.random.choices([1, 2, 3], [15, 15, 70])[0]
        closed = {site: (0, 600) for site in SITES[taking_part:]}
        if self.random.random() < 0.3:
            begin = self.random.randint(6, 6 + int(latest_s))
            closed[SITES[0]] = (begin, begin + self.random.randint(2, 8))
        return closed

    def __str__(self):
        text = ", ".join(map(str, self.faults)) or "nothing"
        if self.left_out:
            left_out = ", ".join(map(str, self.left_out))
            text += f" (left out, because mounting is not allowed: {left_out})"
        for site, (begin, end) in self.closed.items():
            text += f", {site} closed from {begin} to {end} s"
        for site, messages in self.poison.items():
            text += f", NaN in messages of {site}: {messages}"
        return text

    def kill_site(self, after, site):
        return KillSite(after, site)

    def kill_part(self, after, site):
        fault = self.random.choice([KillRank, KillMpirun])(after, site)
        fault.rank = self.random.randrange(2)
        return fault

    def kill_merger(self, after, _):
        return KillMerger(after)

    def kill_poller(self, after, _):
        return KillPoller(after)

    def pause(self, after, site):
        long = self.random.random() < 0.3
        return Pause(after, site, self.random.uniform(*(LONG_PAUSE_S if long else SHORT_S)))

    def stop(self, after, site):
        return self.random.choice([Terminate, Drain])(after, site)

    def fill(self, after, _):
        return FullStore(after, None, self.random.uniform(*SHORT_S))

    def restart(self, after, _):
        return GatewayRestart(after, None, self.random.uniform(*SHORT_S))

    def cut(self, after, site):
        return self.random.choice([Reset, Stall])(after, site, self.random.uniform(*SHORT_S))
