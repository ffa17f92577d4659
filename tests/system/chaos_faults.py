# SPDX-License-Identifier: Apache-2.0
"""The faults of the chaos runs, and how a seed chooses them."""
import random
import time

from chaos_run import SITES
from harness import kill


class Fault:
    """Something that breaks at a seeded moment, and is repaired `seconds` later."""

    lossy = False  # the job may lose what it has not stored
    removes = False  # the members of the site may be removed

    def __init__(self, after, site, seconds=0.0):
        self.after, self.site, self.seconds = after, site, seconds
        self.begun = self.ended = self.job = None

    def __str__(self):
        where = f" {self.site}" if self.site else ""
        lasts = f" for {self.seconds:.1f} s" if self.seconds else ""
        return f"{self.name}{where} at {self.after:.1f} s{lasts}"

    def begin(self, federation):
        """Breaks it. Returns False if that is not possible yet."""
        job = federation.job(self.site)
        if not job.runs:
            return False
        self.job = job.id
        self.strike(job)
        return True

    def end(self, federation):
        pass


class KillSite(Fault):
    name, lossy, removes = "kill", True, True

    def strike(self, job):
        for pid in job.ranks:
            kill(pid)


class KillRank(Fault):
    name, lossy, removes = "kill-rank", True, True

    def __init__(self, *arguments, rank=0):
        super().__init__(*arguments)
        self.rank = rank

    def strike(self, job):
        kill(sorted(job.ranks)[self.rank])


def play(federation, faults):
    """Lets the faults happen at their times after the first step of the last site."""
    start = time.monotonic()
    for fault in faults:
        fault.begun = fault.ended = None
    while not all(fault.ended for fault in faults):
        now = time.monotonic() - start
        over = federation.complete()
        for fault in faults:
            if fault.begun is None and over:
                fault.ended = now
            elif fault.begun is None and now >= fault.after and fault.begin(federation):
                fault.begun, fault.begun_at = now, time.time()
            elif fault.begun is not None and fault.ended is None and \
                    (over or now >= fault.begun + fault.seconds):
                fault.end(federation)
                fault.ended, fault.ended_at = now, time.time()
        time.sleep(0.02)
    return [fault for fault in faults if fault.begun is not None]


class Plan:
    """What a seed chooses. An undisturbed run trains for longer than `latest_s`."""

    def __init__(self, seed, latest_s):
        self.random, self.latest_s = random.Random(seed), latest_s
        self.faults = [self.fault() for _ in range(self.random.randint(1, 3))]

    def fault(self):
        kind = self.random.choice([KillSite, KillRank])
        after, site = self.random.uniform(0, self.latest_s), self.random.choice(SITES)
        if kind is KillRank:
            return KillRank(after, site, rank=self.random.randrange(2))
        return kind(after, site)

    def __str__(self):
        return ", ".join(map(str, self.faults))
