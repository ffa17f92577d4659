# SPDX-License-Identifier: Apache-2.0
"""curtail-train under mpirun: without a store, alone in a run, two sites side by side."""
import json
import os
import pty
import re
import select
import signal
import subprocess
import time
from pathlib import Path

from harness import SOURCE, SmallRun, descendants, execute, expect, is_rank, kill, main, program, wait_for


def rank_of(pid):
    words = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    return int(next(w for w in words if w.startswith(b"OMPI_COMM_WORLD_RANK=")).split(b"=")[1])


def losses(run, site="A"):
    return [m["loss"] for m in run.metrics(site)]


def ranks_give_the_same_losses():
    curves = {}
    for ranks in (1, 2, 4):
        with SmallRun(training={"steps": 20}) as run:
            run.train("A", "--alone", ranks=ranks)
            curves[ranks] = losses(run)
    expect(all(len(c) == 20 for c in curves.values()), f"20 steps each, found {[len(c) for c in curves.values()]}")
    worst = max(abs(a - b) for n in (2, 4) for a, b in zip(curves[1], curves[n]))
    expect(worst <= 1e-4, f"losses differ by {worst}")
    expect(curves[1][-1] < curves[1][0] - 0.1, f"nothing was learned: {curves[1][0]} to {curves[1][-1]}")


def resumed_run_continues_to_the_bit():
    with SmallRun(training={"steps": 20}) as whole:
        whole.train("A", "--alone")
        expected = losses(whole)
    with SmallRun(training={"steps": 8}) as run:
        run.train("A", "--alone")
        run.config["training"]["steps"] = 20
        run.save()
        run.train("A", "--alone")
        found = losses(run)
    expect(found == expected, f"losses differ after the resume: {found[8:11]} against {expected[8:11]}")


def lone_site_commits_and_leaves_in_time():
    with SmallRun() as run:
        job = run.start_training("A")
        wait_for(lambda: len(run.commits()) >= 5, "five commits")
        asked = time.monotonic()
        job.send_signal(signal.SIGUSR1)
        expect(job.wait(20) == 0, f"exit code {job.returncode}")
        took = time.monotonic() - asked
        expect(took < 2, f"from SIGUSR1 to exit {took:.2f} s")
        tip = run.commits()[-1]
        # It has left by its commit, or by a header that the next member decides if there was nothing left to commit.
        headers = [json.loads(p.read_text()) for p in run.store.glob("contrib/*/*.json")]
        expect(tip["members"] == [] or any(h["leaving"] for h in headers), "the leaver neither left nor said so")
        trained = sum(m["tokens"] for m in run.metrics("A"))
        pending = sum(h["tokens"] for h in headers)
        expect(tip["totals"]["tokens"] + pending == trained, f"committed {tip['totals']['tokens']} and pending {pending} tokens, trained {trained}")
        run.verify()


def two_sites_merge():
    with SmallRun() as run:
        jobs = [run.start_training(site) for site in ("A", "B")]
        both = lambda: [c for c in run.commits() if len({d["member"].split(".")[0] for d in c["decided"] if d["outcome"] == "included" and d["tokens"] > 0}) == 2]
        wait_for(lambda: len(both()) >= 4, "four commits merged from two sites", timeout=60)
        for job in jobs:
            job.send_signal(signal.SIGUSR1)
        expect([job.wait(20) for job in jobs] == [0, 0], "both leave with 0")
        # The last contributions stay pending until the next start folds them.
        job = run.start_training("A")
        before = len(run.commits())
        wait_for(lambda: len(run.commits()) > before + 2, "the next start")
        job.send_signal(signal.SIGUSR1)
        expect(job.wait(20) == 0, "leaves with 0")
        tip = run.commits()[-1]
        trained = sum(m["tokens"] for site in ("A", "B") for m in run.metrics(site))
        expect(tip["totals"]["tokens"] == trained, f"committed {tip['totals']['tokens']} tokens, trained {trained}")
        run.verify()


def complete_stream_ends_the_run():
    with SmallRun(epochs=1) as run:
        run.train("A")
        tip = run.commits()[-1]
        expect(tip["complete"], "the last commit is not complete")
        expect((run.out / "complete.json").exists(), "no complete.json")
        run.train("A")
        expect(len(run.commits()) == tip["number"], "a complete run grew")
        run.verify()


def another_configuration_is_refused():
    with SmallRun(epochs=1) as run:
        run.train("A")
        run.config["seed"] = 2
        run.save()
        done = run.train("A", code=78)
        expect("seed" in done.stderr, done.stderr)


def damaged_inputs_are_named():
    with SmallRun(training={"steps": 4}) as run:
        run.train("A", "--alone")
        snapshot = run.out / "sites/A/snapshot.h5"
        whole = snapshot.read_bytes()
        snapshot.write_bytes(whole[: len(whole) // 2])
        done = run.train("A", "--alone", code=65)
        expect("snapshot" in done.stderr, done.stderr)
        expect(snapshot.stat().st_size == len(whole) // 2, "the damaged snapshot was touched")
        snapshot.write_bytes(whole)
        shard = sorted((run.folder / "data").glob("train-*.h5"))[0]
        bytes_ = shard.read_bytes()
        shard.write_bytes(bytes_[:-100])
        run.config["training"]["steps"] = 8
        run.save()
        done = run.train("A", "--alone", code=65)
        expect(shard.name in done.stderr, done.stderr)


def store_that_is_not_mounted_is_refused():
    with SmallRun() as run:
        run.store_folder.rmdir()
        done = run.train("A", ranks=1, code=69)
        expect(f"mkdir -p {run.store_folder}" in done.stderr, done.stderr)
        expect(not run.store_folder.exists(), "a trainer made the store")


def unusable_store_is_said():
    with SmallRun() as run:
        run.store_folder.rmdir()
        run.store_folder.write_text("a file where the store should be")
        done = execute("mpirun", "-n", 1, program("curtail-train"), run.run_file, "--site", "A", code=None)
        expect(done.returncode in (69, 73, 74, 77), f"exit code {done.returncode}")
        expect("store" in done.stderr, done.stderr)


def a_rank_that_hangs_does_not_hold_the_site_beyond_its_grace():
    grace = 4
    with SmallRun(launcher={"kind": "local", "script": str(SOURCE / "slurm/site_train.sh"), "grace_s": grace}) as run:
        job = run.start_training("A")
        wait_for(lambda: len(run.commits()) >= 2, "two commits")
        ranks = {rank_of(pid): pid for pid in descendants(job.pid) if is_rank(pid)}
        kill(ranks[1], signal.SIGSTOP)
        asked = time.monotonic()
        job.send_signal(signal.SIGUSR1)
        expect(job.wait(30) == 69, f"exit code {job.returncode}")
        # mpirun gives a rank that does not hear some seconds before it kills it.
        expect(time.monotonic() - asked < grace + 10, f"it took {time.monotonic() - asked:.1f} s")
        expect("cannot leave in time" in run.log(), "no last words")
        expect([e["code"] for e in run.events("A", "trainer-exit")] == [69], "the exit is not in the events")
        run.verify()


def progress_is_shown_on_a_terminal():
    with SmallRun() as run:
        ours, theirs = pty.openpty()
        words = [program("curtail-train"), str(run.run_file), "--site", "A", "--alone"]
        job = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=theirs)
        run.processes.append(job)
        os.close(theirs)
        shown = b""
        while b"tokens/s" not in shown:
            expect(select.select([ours], [], [], 30)[0], f"no progress line: {shown!r}")
            shown += os.read(ours, 4096)
        expect(re.search(rb"training  step \d+  loss \d\.\d+  \d+ tokens/s", shown), repr(shown))
        job.send_signal(signal.SIGUSR1)
        expect(job.wait(20) == 0, f"exit code {job.returncode}")
        os.close(ours)


def unknown_site_names_the_nearest():
    with SmallRun() as run:
        done = execute(program("curtail-train"), run.run_file, "--site", "AB", code=78)
        expect('did you mean "A"' in done.stderr, done.stderr)


main([ranks_give_the_same_losses, resumed_run_continues_to_the_bit, lone_site_commits_and_leaves_in_time, two_sites_merge, complete_stream_ends_the_run,
      another_configuration_is_refused, damaged_inputs_are_named, store_that_is_not_mounted_is_refused, unusable_store_is_said,
      a_rank_that_hangs_does_not_hold_the_site_beyond_its_grace, progress_is_shown_on_a_terminal, unknown_site_names_the_nearest])
