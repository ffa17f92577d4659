# SPDX-License-Identifier: Apache-2.0
"""The row `cut-to-adopt` of bench/bench_rounds.py: three sites of one rank each exchange a model of
92 M parameters through a folder, with the programs of this build and with those of commit d3ccb0c,
whose configuration has fewer keys."""
import shutil
from pathlib import Path

from common import BUILD, OLD_BUILD  # before harness, which clears variables that common reads
from site_rows import SITES, moment

import harness
from harness import SmallRun, wait_for

LARGE_MODEL = {"name": "large", "depth": 8, "sequence": 32, "vocabulary": 65536}
# A site holds one block, i.e. one step, in each round: then it has nothing to train on and waits.
CUT_ROUNDS = {"block_tokens": 32, "grant_quantum_blocks": 1, "round_time_s": 1,
              "checkpoint_interval_s": 1, "gather_time_s": 120, "lease_s": 240,
              "first_base_wait_s": 60, "poll_wait_s": 0.1}
TRAINING = {"batch_tokens": 32, "device_batch_rows": 1}


class LargeRun(SmallRun):
    """Three sites of one rank with a model of 92 M parameters. With `build`, the programs of the
    version d3ccb0c, whose configuration has fewer keys."""

    def __init__(self, build=None):
        self.bin = (build or BUILD) / "bin"
        super().__init__(sites=SITES, ranks=1, model=LARGE_MODEL, rounds=CUT_ROUNDS,
                         training=TRAINING)
        if build:
            shutil.rmtree(self.folder / "data")
            harness.execute(self.bin / "curtail-data", "prepare", self.corpus, "--out",
                            self.folder / "data", "--vocabulary", 300, "--held-out", 0.2,
                            "--seed", 1)
            self.config["rounds"].pop("status_interval_s")
            self.save()

    def training(self, site, ranks, options):
        train = (self.bin / "curtail-train", self.run_file, "--site", site, *options)
        return harness.mpirun(ranks, *train)


def durations(run):
    """For each merge of all sites: from the moment before it when the last site stopped training to
    the last adoption of its model."""
    pauses = [moment(e) for s in SITES for e in run.events(s, "state") if e["state"] == "exchange"]
    merges = sorted((e for s in SITES for e in run.events(s, "merged") if e["sites"] == len(SITES)),
                    key=lambda e: e["commit"])
    found = []
    for merge in merges:
        adopted = [moment(e) for s in SITES for e in run.events(s, "adopted")
                   if e["commit"] == merge["commit"]]
        before = [time for time in pauses if time < moment(merge)]
        if len(adopted) == len(SITES) and before:
            found.append(max(adopted) - max(before))
    return found


def exchange_times(build, rounds):
    with LargeRun(build) as run:
        for site in SITES:
            run.start_training(site, ranks=1)
        found = wait_for(lambda: len(durations(run)) >= rounds and durations(run),
                         f"{rounds} rounds", 240, pause=0.5)
        return found[:rounds]


def cut_to_adopt():
    """From the moment when the last of three sites stops training for its cut to the last adoption
    of the merged model, with one rank each, 92 M parameters and a store in a folder: the time of
    commit d3ccb0c / ours. Each site trains one step of 32 tokens in a round, then waits."""
    own, old = [], []
    for _ in range(2):
        own += exchange_times(None, 3)
        old += exchange_times(Path(OLD_BUILD), 3)
    return {"what": "cut to adopt, three sites, 92 M parameters: d3ccb0c / Curtail", "unit": "s",
            "a": old, "b": own, "at_least": 3}
