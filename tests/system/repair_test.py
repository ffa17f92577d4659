# SPDX-License-Identifier: Apache-2.0
"""Damages or deletes the newest model in the store. The run must go on, and then verify."""
import os
import shutil
import signal

from harness import PACED, SmallRun, case, expect, main, wait_for

REPAIR_WAIT_S = 12


def small_run(**rounds):
    return SmallRun(ranks=1, training=PACED, rounds={"repair_wait_s": REPAIR_WAIT_S, **rounds})


def stop(job):
    job.send_signal(signal.SIGUSR1)
    expect(job.wait(30) == 0, f"exit code {job.returncode}")


def newest_models(run):
    """The commits that made a model, newest first."""
    return [c for c in reversed(run.commits()) if c["kind"] != "roster"]


def newest_model(run):
    """The entry of the newest model in its commit, and the path of the object."""
    part = newest_models(run)[0]["model"]["parts"][0]
    return part, run.store / part["name"]


def kept(run, site):
    return run.out / "sites" / site / "kept"


def copy_of(run, site, part):
    return run.kept_copy(site, part)


def train_two_sites(run, commits=8):
    """Lets both sites train until the chain has so many commits, and stops them."""
    jobs = [run.start_training(site) for site in ("A", "B")]
    wait_for(lambda: len(run.commits()) >= commits, f"{commits} commits", timeout=60)
    for job in jobs:
        job.send_signal(signal.SIGUSR1)
    expect([job.wait(30) for job in jobs] == [0, 0], "both must exit with 0")


def expect_more_rounds(run, rounds=2):
    before = newest_models(run)[0]["round"]
    wait_for(lambda: newest_models(run)[0]["round"] >= before + rounds, f"{rounds} more rounds",
             timeout=60)


def repaired(run, site):
    return [name for event in run.events(site, "repaired") for name in event["names"]]


@case(seconds=7)
def starting_site_stores_its_copy_again():
    with small_run() as run:
        train_two_sites(run)
        part, path = newest_model(run)
        site = next((s for s in "AB" if copy_of(run, s, part).exists()), None)
        expect(site is not None, "no site has a copy of the newest model")
        expect(copy_of(run, site, part).read_bytes() == path.read_bytes(),
               "the copy differs from the object")
        os.truncate(path, 1000)
        job = run.start_training(site)
        expect_more_rounds(run)
        stop(job)
        expect(part["name"] in repaired(run, site), "the site did not store the model again")
        run.verify()


@case(seconds=27)
def reader_waits_for_a_resting_site():
    """The model of a lone site cannot be computed once more: only the site has a copy."""
    with small_run() as run:
        job = run.start_training("A")
        wait_for(lambda: len(newest_models(run)) >= 3, "three models", timeout=60)
        stop(job)
        part, path = newest_model(run)
        path.unlink()
        shutil.move(kept(run, "A"), run.folder / "kept")
        failed = run.train("B", ranks=2, code=75, timeout=90)
        for text in (part["name"], "the chain is valid up to commit",
                     "a site that rests may have a copy", "curtail-store fork"):
            expect(text in failed.stderr, f"{text!r} is not in: {failed.stderr}")
        shutil.move(run.folder / "kept", kept(run, "A"))
        reader = run.start_training("B")
        round_ = newest_models(run)[0]["round"]
        requests = list((run.store / "repair" / str(round_)).glob("*.json"))
        wait_for(lambda: len(list((run.store / "repair" / str(round_)).glob("*.json"))) >
                 len(requests), "another request", timeout=60)
        job = run.start_training("A")
        expect_more_rounds(run)
        stop(reader)
        stop(job)
        expect(part["name"] in repaired(run, "A"), "site A did not store the model again")
        run.verify()


def can_recompute(run):
    """True if the newest model was merged from contributions in the store."""
    included = [d for d in newest_models(run)[0]["decided"]
                if d["outcome"] == "included" and d["tokens"] > 0]
    return included and not any(d["inline"] for d in included)


@case(seconds=8)
def model_without_copies_is_computed_once_more():
    with small_run(checkpoint_interval_s=5, drop_after_s=15) as run:
        for attempt in range(8):
            train_two_sites(run, len(run.commits()) + 8)
            if can_recompute(run):
                break
        expect(can_recompute(run), "no model was merged from contributions")
        part, path = newest_model(run)
        whole = path.read_bytes()
        path.unlink()
        for site in "AB":
            shutil.rmtree(kept(run, site), ignore_errors=True)
        job = run.start_training("A")
        wait_for(path.exists, "the model to be stored again", timeout=60)
        expect(path.read_bytes() == whole, "the model has other bytes")
        expect_more_rounds(run)
        stop(job)
        run.verify()


@case(seconds=14)
def sites_train_on_while_models_disappear():
    with small_run() as run:
        jobs = [run.start_training(site) for site in ("A", "B")]
        wait_for(lambda: len(run.commits()) >= 6, "six commits", timeout=60)
        for remove in (True, False, True):
            part, path = newest_model(run)
            try:
                path.unlink() if remove else os.truncate(path, 1000)
            except FileNotFoundError:
                pass  # a newer model has replaced it
            expect_more_rounds(run, 4)
        for job in jobs:
            stop(job)
        run.verify()


if __name__ == "__main__":
    main()
