# SPDX-License-Identifier: Apache-2.0
"""Runs of up to three sites under faults at seeded moments. docs/chaos.md describes what is
injected, and what is checked after each run.

    chaos_test.py                    short runs of three seeds that depend on the commit
    chaos_test.py --seed 7           one seed; a failure names its seed and keeps its folder
"""
import argparse
import atexit
import contextlib
import functools
import json
import os
import shutil
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from chaos_account import BLOCK, read_store
from chaos_faults import KillMerger, play
from chaos_lives import Checks
from chaos_plan import Plan
from chaos_run import SITES, BucketRun, Federation, FolderRun, can_mount, run_options
from chaos_slurm import SlurmFederation
from chaos_store import (Recalled, all_taken, check_restored, is_recent, lost_streams,
                         verify)
from chaos_tampering import check_that_changes_are_noticed
from harness import (SOURCE, Failure, case, execute, expect, held_out_loss, main, program, shared,
                     use_docs_as_corpus)
from object_storage import ObjectStorage
from slurm_clusters import Clusters

TOLERANCE_NATS, TOLERANCE_OF_ONE_NATS = 0.1, 0.05
TRAINING_SEEDS = 3
SLURM_EVERY = 7  # sites of these seeds are jobs of Slurm; scripts/chaos.sh has this number too


@dataclass
class Size:
    """How much a run trains, and until when its faults begin."""
    tokens: int
    latest_fault_s: float


LONG, SHORT = Size(240_000, 12), Size(120_000, 5)


def training_seed(seed):
    """Every third seed takes all training seeds in turn, as all seeds together do."""
    return 1 + seed // 3 % TRAINING_SEEDS


class Undisturbed:
    """The held-out losses of undisturbed runs with the same initial weights and order of documents
    as a disturbed run: one of one site, and up to `most` of three.

    One site makes more steps one after the other, so its loss is lower. That of a disturbed run is
    in between, because at times fewer than three sites train. The losses of two runs of three sites
    can differ by more than the tolerance, because it depends on chance which site starts first, and
    for how long it then trains alone."""
    most = 4

    def __init__(self, seed, size, cache):
        self.seed, self.size = seed, size
        self.kept = cache and cache / f"undisturbed-{training_seed(seed)}-{size.tokens}.json"
        if self.kept and self.kept.exists():
            self.losses = json.loads(self.kept.read_text())
        else:
            self.losses = [self.of_one_site()]
            self.add_run()

    def of_one_site(self):
        alone = {"sites": ("A",), "training": {"tokens": self.size.tokens}}
        with FolderRun(**{**self.options(), **alone}) as run:
            run.train("A")
            return held_out_loss(run)

    def add_run(self):
        """Trains three sites without a fault."""
        with FolderRun(**self.options()) as run:
            result = conclude(Federation(run), [], self.size)
            if self.size is SHORT and len(self.losses) == 1:
                check_that_changes_are_noticed(result.objects, result.lives, result.account)
        self.losses.append(result.loss)
        if self.kept:
            part = self.kept.with_suffix(f".{os.getpid()}.part")
            part.write_text(json.dumps(self.losses))
            part.rename(self.kept)

    def options(self):
        return run_options(training_seed(self.seed), self.size.tokens)

    def check(self, loss, sites):
        """One site learns what the undisturbed one learned, in the same order."""
        if len(sites) == 1:
            low, high, tolerance = self.losses[0], self.losses[0], TOLERANCE_OF_ONE_NATS
        else:
            while loss > max(self.losses) + TOLERANCE_NATS and len(self.losses) <= self.most:
                self.add_run()
            low, high, tolerance = min(self.losses), max(self.losses), TOLERANCE_NATS
        expect(low - tolerance <= loss <= high + tolerance,
               f"held-out loss {loss:.4f} of {len(sites)} sites, not within {tolerance} of {self}")

    def __str__(self):
        return (f"{min(self.losses):.4f} to {max(self.losses):.4f} ({len(self.losses)} undisturbed "
                "runs)")


class Result:
    """What a completed run has to show."""

    def __init__(self, federation, faults, size):
        run, self.faults, self.blocks = federation.run, faults, -(-size.tokens // BLOCK)
        self.poisoned, self.taken = federation.poisoned, all_taken(faults)
        if is_recent(faults):  # the run may have ended before a site has looked
            expect(federation.repair(), "no site could repair the run")
        self.lives = federation.lives()
        check_restored(run.objects(), self.taken, self.lives, federation.repaired)
        self.loss = held_out_loss(run)
        self.record, self.lost = self.account(run.objects(), self.lives)
        verify(run, self.taken)
        self.objects = run.objects()
        federation.check_jobs()
        # Of two folders, only one goes on to publish. Nobody makes lost pieces again.
        parted = {twin.site for twin in federation.twins}
        parted |= {stream.split("/")[1] for stream in lost_streams(self.taken)}
        for site in set(SITES) - parted:
            run.check_journal(site)

    def exits(self):
        """How often jobs ended with which code, as text."""
        codes = Counter(life.exit["code"] if life.exit else "killed" for life in self.lives)
        return ", ".join(f"{code} ({number})" for code, number in codes.items())

    def account(self, objects, lives):
        checks = Checks(lives, self.faults, self.poisoned)
        recalled = Recalled(objects, self.taken)
        record = read_store(recalled, self.blocks, checks.patience_s(), self.poisoned)
        record.gone = recalled.gone()
        return record, checks.check(record)


def conclude(federation, faults, size):
    federation.wait_for_all_sites()
    struck = play(federation, faults)
    # The window of a site may be closed until the run is complete.
    expect(struck or all(fault.site in federation.closing for fault in faults),
           "no fault has happened")
    federation.wait_for_completion(timeout=300)
    federation.stop_poller()
    return Result(federation, struck, size)


def keep(run, seed, folder):
    """Keeps the folder of a failed run."""
    kept = Path(tempfile.mkdtemp(prefix=f"failed-{seed}-", dir=folder))
    run.end_processes()
    run.save_objects()
    shutil.copytree(run.folder, kept, dirs_exist_ok=True, symlinks=True)
    return kept


def new_run(seed, size, in_bucket, limited):
    values = run_options(training_seed(seed), size.tokens)
    if not in_bucket:
        return FolderRun(limited=limited, **values)
    return BucketRun(storage(), **values)


@functools.cache
def storage():
    """The gateway for all runs of this process: that of --gateway, or one of its own."""
    found = ObjectStorage(SITES, options.gateway)
    atexit.register(found.__exit__)
    return found


@functools.cache
def clusters():
    """The clusters for all runs of this process: those of --clusters, or own ones."""
    found = Clusters(SITES, options.clusters)
    atexit.register(found.close)
    return found


@contextlib.contextmanager
def federation_of(run, by_slurm, chosen):
    arguments = (chosen.closed, chosen.poison)
    federation = SlurmFederation(run, clusters(), *arguments) if by_slurm else \
        Federation(run, *arguments)
    try:
        yield federation
    finally:
        federation.end_jobs()


def one_run(seed, size, by_slurm=False):
    """The store of an odd seed is a bucket."""
    began, in_bucket = time.monotonic(), seed % 2 == 1
    undisturbed = Undisturbed(seed, size, options.folder)
    limited = can_mount()
    chosen = Plan(seed, size.latest_fault_s, in_bucket, limited)
    with new_run(seed, size, in_bucket, limited) as run:
        try:
            with federation_of(run, by_slurm, chosen) as federation:
                result = conclude(federation, chosen.faults, size)
            undisturbed.check(result.loss, federation.sites)
        except Exception as error:
            short = " --short" if size is SHORT else ""
            raise Failure(f"{error}\n  faults: {chosen}\n"
                          f"  folder: {keep(run, seed, options.kept)}\n"
                          f"  repeat: scripts/chaos.sh --seed {seed}{short}\n"
                          "  Add this seed to tests/system/chaos_seeds.txt.") from error
        print(f"      seed {seed}, {'bucket' if in_bucket else 'folder'}"
              f"{', Slurm' if by_slurm else ''}: {chosen}; {result.record.tip['number']} commits; "
              f"lost {sum(lost.tokens for lost in result.lost)} tokens; "
              f"refused {dict(result.record.refused)}; exits {result.exits()}; "
              f"held-out loss {result.loss:.4f}, allowed near {undisturbed}; "
              f"{time.monotonic() - began:.0f} s", flush=True)


def first_seed():
    """The first of three seeds with the same training seed; it depends on the commit."""
    return 6 * (int(execute(SOURCE / "scripts/seed_of_commit.sh").stdout) // 6)


@case(seconds=25)
def work_in_a_folder_counts_once(undisturbed):
    one_run(first_seed(), SHORT)


@case(seconds=30)
def work_in_a_bucket_counts_once(undisturbed):
    one_run(first_seed() + 1, SHORT)


@case(seconds=25)
def work_counts_once_under_other_faults(undisturbed):
    one_run(first_seed() + 2, SHORT)


@case()
def one_site_alone_gets_no_fault_of_a_merger():
    for seed in range(2000):
        chosen = Plan(seed, SHORT.latest_fault_s, in_bucket=False, can_fill=True)
        never_open = [site for site, (begin, _) in chosen.closed.items() if begin == 0]
        kills_merger = any(isinstance(fault, KillMerger) for fault in chosen.faults)
        expect(not kills_merger or len(never_open) < 2, f"seed {seed}: {chosen}")


@case()
def short_seeds_that_once_failed_pass(undisturbed):
    for line in (SOURCE / "tests/system/chaos_seeds.txt").read_text().splitlines():
        seed, *words = line.partition("#")[0].split() or ("",)
        if words == ["--short"]:
            one_run(int(seed), SHORT)


@contextlib.contextmanager
def undisturbed_runs():
    """The folder with the losses of undisturbed runs."""
    options.folder = shared("undisturbed")
    yield options.folder


def parse():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--short", action="store_true", help="as `make test` runs the seed")
    parser.add_argument("--undisturbed", type=Path, metavar="FOLDER",
                        help="write the losses of undisturbed runs to FOLDER")
    parser.add_argument("--folder", type=Path, help="for failed runs and results to use again")
    parser.add_argument("--gateway", type=Path, help="folder of a running scripts/rgw.sh")
    parser.add_argument("--clusters", type=Path,
                        help="folder of running private clusters A, B and C")
    parser.add_argument("cases", nargs="*")
    found = parser.parse_args()
    sys.argv[1:] = found.cases
    found.kept = found.folder
    return found


if __name__ == "__main__":
    options = parse()
    use_docs_as_corpus()
    if options.undisturbed:
        Undisturbed(first_seed(), SHORT, options.undisturbed)
    elif options.seed is not None:
        one_run(options.seed, SHORT if options.short else LONG,
                not options.short and options.seed % SLURM_EVERY == 0)
    else:
        main(undisturbed=undisturbed_runs)
