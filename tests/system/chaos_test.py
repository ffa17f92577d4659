# SPDX-License-Identifier: Apache-2.0
"""Runs of three sites under faults at seeded moments. docs/chaos.md describes what is injected, and
what is checked after each run.

    chaos_test.py                    a short run of one seed
    chaos_test.py --seed 7           one seed; a failure names its seed and keeps its folder
"""
import argparse
import atexit
import contextlib
import functools
import json
import shutil
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from chaos_account import BLOCK, read_store
from chaos_faults import Plan, play
from chaos_lives import Checks
from chaos_run import SITES, BucketRun, Federation, FolderRun, can_mount, run_options
from chaos_slurm import SlurmFederation
from chaos_tampering import check_that_changes_are_noticed
from harness import Failure, execute, expect, held_out_loss, main, program, use_docs_as_corpus
from object_storage import ObjectStorage
from slurm_clusters import Clusters

TOLERANCE_NATS = 0.1
TRAINING_SEEDS = 3
LOCAL_SEEDS = 170  # sites of greater seeds are jobs of Slurm; scripts/chaos.sh has this number too


@dataclass
class Size:
    """How much a run trains, and until when its faults begin."""
    tokens: int
    latest_fault_s: float


@dataclass
class Kind:
    """Where a run keeps its objects, and what starts its sites."""
    in_bucket: bool
    by_slurm: bool

    def __str__(self):
        return ("bucket" if self.in_bucket else "folder") + (", Slurm" if self.by_slurm else "")


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
            part = self.kept.with_suffix(".part")
            part.write_text(json.dumps(self.losses))
            part.rename(self.kept)

    def options(self):
        return run_options(training_seed(self.seed), self.size.tokens)

    def check(self, loss):
        while loss > max(self.losses) + TOLERANCE_NATS and len(self.losses) <= self.most:
            self.add_run()
        low, high = min(self.losses) - TOLERANCE_NATS, max(self.losses) + TOLERANCE_NATS
        expect(low <= loss <= high,
               f"held-out loss {loss:.4f}, not within {TOLERANCE_NATS} of {self}")

    def __str__(self):
        return (f"{min(self.losses):.4f} to {max(self.losses):.4f} ({len(self.losses)} undisturbed "
                "runs)")


class Result:
    """What a completed run has to show."""

    def __init__(self, federation, faults, size):
        run, self.faults, self.blocks = federation.run, faults, -(-size.tokens // BLOCK)
        execute(program("curtail-status"), run.run_file, "--verify", timeout=120)
        self.loss = held_out_loss(run)
        self.objects, self.lives = run.objects(), federation.lives()
        self.record, self.lost = self.account(self.objects, self.lives)

    def account(self, objects, lives):
        checks = Checks(lives, self.faults)
        record = read_store(objects, self.blocks, checks.patience_s())
        return record, checks.check(record)


def conclude(federation, faults, size):
    federation.wait_for_all_sites()
    struck = play(federation, faults)
    federation.wait_for_completion(timeout=180)
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
def federation_of(run, by_slurm):
    federation = SlurmFederation(run, clusters()) if by_slurm else Federation(run)
    try:
        yield federation
    finally:
        federation.end_jobs()


def one_run(seed, size, kind, folder):
    began = time.monotonic()
    undisturbed = Undisturbed(seed, size, folder)
    limited = can_mount()
    chosen = Plan(seed, size.latest_fault_s, kind.in_bucket, limited)
    with new_run(seed, size, kind.in_bucket, limited) as run:
        try:
            with federation_of(run, kind.by_slurm) as federation:
                result = conclude(federation, chosen.faults, size)
            undisturbed.check(result.loss)
        except Exception as error:
            raise Failure(f"{error}\n  faults: {chosen}\n  folder: {keep(run, seed, folder)}\n"
                          f"  repeat: scripts/chaos.sh --seed {seed}") from error
        print(f"      seed {seed}, {kind}: {chosen}; {result.record.tip['number']} commits; "
              f"lost {sum(lost.tokens for lost in result.lost)} tokens; "
              f"refused {dict(result.record.refused)}; held-out loss {result.loss:.4f}, "
              f"allowed near {undisturbed}; {time.monotonic() - began:.0f} s", flush=True)


def parse():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--folder", type=Path, help="for failed runs and results to use again")
    parser.add_argument("--gateway", type=Path, help="folder of a running scripts/rgw.sh")
    parser.add_argument("--clusters", type=Path,
                        help="folder of running private clusters A, B and C")
    found = parser.parse_args()
    sys.argv[1:] = []
    return found


options = parse()


def contributions_are_in_the_model_once():
    use_docs_as_corpus()
    if options.seed is None:
        one_run(1, SHORT, Kind(False, False), options.folder)
    else:
        kind = Kind(in_bucket=options.seed % 2 == 1, by_slurm=options.seed > LOCAL_SEEDS)
        one_run(options.seed, LONG, kind, options.folder)


main([contributions_are_in_the_model_once])
