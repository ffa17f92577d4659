# SPDX-License-Identifier: Apache-2.0
"""curtail-train under mpirun: without a store, as a lone member of a run, and as two sites."""
import json
import os
import pty
import random
import re
import select
import signal
import subprocess
import time

import h5py

from harness import (PACED, SmallRun, case, descendants, execute, expect, is_rank, kill, main,
                     program, stat_fields, wait_for)


def losses(run, site="A"):
    return [m["loss"] for m in run.metrics(site)]


@case(seconds=8)
def any_number_of_ranks_gives_the_same_losses():
    curves = {}
    for ranks in (1, 2, 4):
        with SmallRun(training={"steps": 20}) as run:
            run.train("A", "--alone", ranks=ranks)
            curves[ranks] = losses(run)
    lengths = [len(c) for c in curves.values()]
    expect(lengths == [20, 20, 20], f"expected 20 steps each, found {lengths}")
    worst = max(abs(a - b) for n in (2, 4) for a, b in zip(curves[1], curves[n]))
    expect(worst <= 1e-4, f"losses differ by {worst}")
    first, last = curves[1][0], curves[1][-1]
    expect(last < first - 0.1, f"the model did not learn: {first} to {last}")


@case(seconds=4)
def bfloat16_and_recomputed_activations_train_the_same_model():
    curves = {}
    for name, options in {"plain": {}, "recomputed": {"checkpoint_activations": True},
                          "bf16": {"precision": "bf16"}}.items():
        with SmallRun(training={"steps": 20, **options}) as run:
            run.train("A", "--alone")
            curves[name] = losses(run)
    expect(curves["recomputed"] == curves["plain"], "recomputed activations change the losses")
    worst = max(abs(a - b) for a, b in zip(curves["plain"], curves["bf16"]))
    expect(0 < worst < 0.02 * curves["plain"][0], f"losses in bfloat16 differ by {worst}")


@case(seconds=5)
def resumed_run_continues_bit_exactly():
    with SmallRun(training={"steps": 20}) as whole:
        whole.train("A", "--alone")
        expected = losses(whole)
    with SmallRun(training={"steps": 8}) as run:
        run.train("A", "--alone")
        run.config["training"]["steps"] = 20
        run.save()
        run.train("A", "--alone")
        found = losses(run)
    expect(found == expected,
           f"losses differ after the resume: {found[8:11]} instead of {expected[8:11]}")


def last_state(run):
    """What the newest whole snapshot has: position, and the digest of each rank's tensors."""
    headers = {}
    for path in (run.out / "sites/A").glob("snapshot-*.h5"):
        text = h5py.File(path)["header"][:].tobytes().rstrip(b"\0").split(b"\n", 1)[1]
        header = json.loads(text)
        headers.setdefault(header["serial"], {})[header["rank"]] = header["tensors"]
        headers[header["serial"]]["position"] = \
            [header[key] for key in ("tokens", "steps", "optimizer_steps")]
    return headers[max(headers)]


def steps_made(run):
    computed = ("step", "round", "tokens", "progress_tokens", "loss", "lr_scale", "gradient_norm",
                "update_norm")
    return [[line[key] for key in computed] for line in run.metrics("A")]


def interrupt(run, ranks, chance):
    """Trains until a random moment of a random step, in which one rank is asked to stop. Returns
    whether that was before the last step."""
    job = run.start_training("A", "--alone", ranks=ranks)
    seen = len(run.metrics("A"))
    steps = seen + chance.randint(1, 3)
    wait_for(lambda: job.poll() is not None or len(run.metrics("A")) >= steps, "steps", pause=0.005)
    time.sleep(chance.uniform(0, 0.1))
    pids = sorted(pid for pid in descendants(job.pid) if is_rank(pid))
    if pids:
        kill(chance.choice(pids), chance.choice([signal.SIGUSR1, signal.SIGTERM]))
    expect(job.wait(20) == 0, f"exit code {job.returncode}\n{run.log()}")
    return len(run.metrics("A")) < run.config["training"]["steps"]


@case(seconds=9)
def alone_a_stop_at_any_moment_changes_nothing():
    seed = int.from_bytes(os.urandom(4), "big")
    print(f"seed {seed}")
    chance = random.Random(seed)
    # A step has 32 blocks, and takes 128 passes, or 64 on each of two ranks.
    training = {"steps": 7, "batch_tokens": 4096, "device_batch_rows": 1}
    for ranks in (1, 2):
        with SmallRun(training=training) as whole, SmallRun(training=training) as run:
            whole.train("A", "--alone", ranks=ranks)
            interruptions = 0
            while interrupt(run, ranks, chance):
                interruptions += 1
            expect(interruptions > 0, "no interruption")
            expect(steps_made(run) == steps_made(whole), f"{ranks} ranks made other steps")
            expect(last_state(run) == last_state(whole), f"{ranks} ranks end in another state")


@case(seconds=10)
def resumes_with_other_numbers_of_ranks_and_from_the_older_slot():
    with SmallRun(training={"steps": 20}) as whole:
        whole.train("A", "--alone", ranks=1)
        expected = losses(whole)
    with SmallRun(training={"steps": 5, "snapshot_every_steps": 5}) as run:
        for steps, ranks in ((5, 2), (10, 1), (15, 4), (20, 3)):
            run.config["training"]["steps"] = steps
            run.save()
            run.train("A", "--alone", ranks=ranks)
        found = losses(run)
        worst = max(abs(a - b) for a, b in zip(expected, found))
        expect(len(found) == 20 and worst <= 1e-4, f"losses differ by {worst}: {found}")
        # Snapshot 4 was saved by three ranks after 20 steps, snapshot 3 by four after 15.
        newest = sorted((run.out / "sites/A").glob("snapshot-b.*of3.h5"))
        expect(len(newest) == 3, f"{newest}")
        whole = newest[1].read_bytes()
        begin = len(whole) * 7 // 8  # among the tensors; the first MiB has the names
        damaged = bytes(255 - byte for byte in whole[begin:begin + 9000])
        newest[1].write_bytes(whole[:begin] + damaged + whole[begin + 9000:])
        done = run.train("A", "--alone", ranks=3)
        expect("digest" in done.stderr and "15 steps" in done.stderr, done.stderr)
        expect(losses(run)[20:] == found[15:], "the older slot gives other losses")


@case(seconds=3)
def lone_site_commits_and_leaves_in_time():
    with SmallRun(training=PACED) as run:
        job = run.start_training("A")
        wait_for(lambda: len(run.commits()) >= 5, "five commits")
        requested = time.monotonic()
        job.send_signal(signal.SIGUSR1)
        expect(job.wait(20) == 0, f"exit code {job.returncode}")
        took = time.monotonic() - requested
        expect(took < 2, f"from SIGUSR1 to exit {took:.2f} s")
        tip = run.commits()[-1]
        # It left by its own commit or, with nothing to commit, by a header for the next member.
        headers = [json.loads(p.read_text()) for p in run.store.glob("contrib/*/*.json")]
        expect(tip["members"] == [] or any(h["leaving"] for h in headers),
               "the site is still a member and did not announce that it leaves")
        trained = sum(m["tokens"] for m in run.metrics("A"))
        pending = sum(h["tokens"] for h in headers)
        committed = tip["totals"]["tokens"]
        expect(committed + pending == trained,
               f"committed {committed} and pending {pending} tokens, trained {trained}")
        run.verify()


def is_merge_of_two_sites(commit):
    included = [d for d in commit["decided"] if d["outcome"] == "included" and d["tokens"] > 0]
    return len({d["member"].split(".")[0] for d in included}) == 2


@case(seconds=7)
def two_sites_merge():
    with SmallRun(training=PACED) as run:
        jobs = [run.start_training(site) for site in ("A", "B")]
        wait_for(lambda: sum(map(is_merge_of_two_sites, run.commits())) >= 4,
                 "four commits merged from two sites", timeout=60)
        for job in jobs:
            job.send_signal(signal.SIGUSR1)
        expect([job.wait(20) for job in jobs] == [0, 0], "both must exit with 0")
        # The last contributions stay pending until the next start includes them.
        job = run.start_training("A")
        before = len(run.commits())
        wait_for(lambda: len(run.commits()) > before + 2, "the next start")
        job.send_signal(signal.SIGUSR1)
        expect(job.wait(20) == 0, "must exit with 0")
        committed = run.commits()[-1]["totals"]["tokens"]
        trained = sum(m["tokens"] for site in ("A", "B") for m in run.metrics(site))
        expect(committed == trained, f"committed {committed} tokens, trained {trained}")
        run.verify()


@case(seconds=4)
def complete_stream_ends_the_run():
    with SmallRun(ranks=1, epochs=1) as run:
        run.train("A")
        tip = run.commits()[-1]
        expect(tip["complete"], "the last commit is not complete")
        expect((run.out / "complete.json").exists(), "complete.json is missing")
        run.train("A")
        expect(len(run.commits()) == tip["number"], "a complete run got another commit")
        run.verify()


@case(seconds=4)
def token_budget_ends_the_run_at_a_whole_block():
    # 2900 tokens are 22.7 blocks of 128, and 5.75 steps of 4 blocks.
    with SmallRun(ranks=1, training={"tokens": 2900}) as run:
        run.train("A")
        tip = run.commits()[-1]
        expect(tip["complete"] and tip["data"]["done"] == [[0, 23]], f"done {tip['data']['done']}")
        steps = [m["tokens"] for m in run.metrics("A")]
        expect(sum(steps) == 23 * 128 and steps[-1] == 3 * 128, f"steps {steps}")
        run.verify()
        shown = execute(program("curtail-status"), run.run_file).stdout
        expect("2944 of 2944 (100.0 %)" in shown, shown)
        run.config["training"]["tokens"] = 5000
        del run.config["optimizer"]["schedule_tokens"]
        run.save()
        done = run.train("B", code=78)
        expect("optimizer.schedule_tokens is 1000000 in the store's run.json and absent in"
               in done.stderr, done.stderr)


@case(seconds=5)
def a_changed_budget_is_a_warning():
    with SmallRun(ranks=1, training={"tokens": 20_000}) as run:
        job = run.start_training("A")
        wait_for(lambda: run.events("A", "joined"), "site A joins")
        run.config["training"]["tokens"] = 15_000
        run.save()
        job.send_signal(signal.SIGUSR1)
        expect(job.wait(30) == 0, "must leave")
        done = run.train("A")
        expect("tokens is 20000 in the run's terms and 15000 in this site's configuration"
               in done.stderr, done.stderr)
        expect(run.commits()[-1]["totals"]["tokens"] == 157 * 128, "the terms must hold")


@case(seconds=3)
def an_amendment_changes_a_run_that_trains():
    with SmallRun(training=PACED) as run:
        job = run.start_training("A")
        wait_for(lambda: run.commits() and run.commits()[-1]["totals"]["tokens"], "a commit")
        amend = (program("curtail-store"), "amend", run.run_file, "--reason", "enough")
        execute(*amend, code=65)
        run.config["training"]["tokens"] = 10_000_000_000
        run.save()
        execute(*amend, code=65)
        run.config["training"]["tokens"] = 20_000_000
        run.config["rounds"]["checkpoint_interval_s"] = 0.3
        run.save()
        expect("would create" in execute(*amend, "--dry-run").stdout, "a dry run")
        expect("created amendments/1.json" in execute(*amend).stdout, "an amendment")
        wait_for(lambda: run.commits()[-1]["amended"], "a commit takes it in")
        expect(run.commits()[-1]["terms"]["tokens"] == 20_000_000, "the terms must change")
        job.send_signal(signal.SIGUSR1)
        expect(job.wait(30) == 0, "must leave")
        run.verify()


@case(seconds=2)
def token_budget_ends_training_without_a_store():
    with SmallRun(training={"tokens": 2900}) as run:
        run.train("A", "--alone")
        trained = sum(m["tokens"] for m in run.metrics("A"))
        expect(trained == 23 * 128, f"trained {trained} tokens")


@case(seconds=8)
def token_budget_larger_than_the_data_is_refused():
    with SmallRun(ranks=1, training={"tokens": 10_000_000}, epochs=2) as run:
        done = run.train("A", code=78)
        expect("the budget is 10000000 tokens, but the data have" in done.stderr, done.stderr)
        expect("raise data.epochs to" in done.stderr, done.stderr)
        expect(run.commits() == [], "the run has started")
        run.config["training"]["tokens"] = 2900
        run.save()
        run.train("A")
        run.config["training"]["tokens"] = 10_000_000
        run.save()
        done = run.train("A", code=78)
        expect("the run has a budget of 2900 tokens by its terms" in done.stderr, done.stderr)


def processor_seconds(pid):
    fields = stat_fields(pid)  # user and system time in clock ticks
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@case(seconds=6)
def paced_ranks_rest_and_stop_in_time():
    pace = 2
    with SmallRun(training={"step_at_least_s": pace}) as run:
        job = run.start_training("A")
        wait_for(lambda: run.metrics("A"), "the first step")
        ranks = [pid for pid in descendants(job.pid) if is_rank(pid)]
        expect(len(ranks) == 2, f"ranks {ranks}")
        before = {pid: processor_seconds(pid) for pid in ranks}
        steps = len(run.metrics("A"))
        wait_for(lambda: len(run.metrics("A")) > steps, "the next step")
        used = {pid: processor_seconds(pid) - before[pid] for pid in ranks}
        expect(max(used.values()) < pace / 2, f"processor seconds of the ranks: {used}")
        requested = time.monotonic()
        job.send_signal(signal.SIGUSR1)
        expect(job.wait(20) == 0, f"exit code {job.returncode}")
        took = time.monotonic() - requested
        expect(took < pace, f"from SIGUSR1 to exit {took:.2f} s")
        durations = [m["step_s"] for m in run.metrics("A")]
        expect(min(durations[:-1]) >= pace, f"durations {durations}")
        run.verify()


@case(seconds=7)
def another_configuration_is_refused():
    with SmallRun(ranks=1, epochs=1) as run:
        run.train("A")
        run.config["seed"] = 2
        run.save()
        done = run.train("A", code=78)
        expect("seed" in done.stderr, done.stderr)
        # The site's snapshot is sound, though the model differs.
        run.config["seed"] = 1
        run.save()
        model = json.loads((run.folder / "model.json").read_text())
        (run.folder / "model.json").write_text(json.dumps({**model, "depth": 2}))
        done = run.train("A", code=78)
        expect("model" in done.stderr and "snapshot" not in done.stderr, done.stderr)


@case(seconds=6)
def errors_name_damaged_inputs():
    with SmallRun(training={"steps": 4}) as run:
        run.train("A", "--alone")
        snapshots = {path: path.read_bytes() for path in (run.out / "sites/A").glob("snapshot-*")}
        for path, whole in snapshots.items():
            path.write_bytes(whole[: len(whole) // 2])
        done = run.train("A", "--alone", code=65)
        expect("snapshot" in done.stderr, done.stderr)
        expect("in its store" not in done.stderr, f"there is no store: {done.stderr}")
        for path, whole in snapshots.items():
            expect(path.stat().st_size == len(whole) // 2, "the damaged snapshot was changed")
            path.write_bytes(whole)
        shard = sorted((run.folder / "data").glob("train-*.h5"))[0]
        bytes_ = shard.read_bytes()
        shard.write_bytes(bytes_[:-100])
        run.config["training"]["steps"] = 8
        run.save()
        done = run.train("A", "--alone", code=65)
        expect(shard.name in done.stderr, done.stderr)


@case(seconds=3)
def unmounted_store_is_refused():
    with SmallRun() as run:
        run.store_folder.rmdir()
        done = run.train("A", ranks=1, code=69)
        expect(f"mkdir -p {run.store_folder}" in done.stderr, done.stderr)
        expect(not run.store_folder.exists(), "the trainer created the store")


@case(seconds=3)
def unusable_store_is_an_error():
    with SmallRun() as run:
        run.store_folder.rmdir()
        run.store_folder.write_text("a file where the store should be")
        done = execute("mpirun", "-n", 1, program("curtail-train"), run.run_file, "--site", "A",
                       code=None)
        expect(done.returncode in (69, 73, 74, 77), f"exit code {done.returncode}")
        expect("store" in done.stderr, done.stderr)


@case(seconds=3)
def terminal_shows_progress():
    with SmallRun(training=PACED) as run:
        ours, theirs = pty.openpty()
        command = [program("curtail-train"), str(run.run_file), "--site", "A", "--alone"]
        job = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=theirs)
        run.processes.append(job)
        os.close(theirs)
        line = rb"training  step \d+  loss \d\.\d+  \d+ tokens/s  \d+\.\d %  [\dhms. ]+ left"
        shown, deadline = b"", time.monotonic() + 30
        while not re.search(line, shown):
            expect(time.monotonic() < deadline and select.select([ours], [], [], 30)[0],
                   f"no progress line: {shown[-400:]!r}")
            shown += os.read(ours, 4096)
        job.send_signal(signal.SIGUSR1)
        expect(job.wait(20) == 0, f"exit code {job.returncode}")
        os.close(ours)


@case(seconds=5)
def site_on_gpus_needs_programs_for_gpus():
    with SmallRun() as run:
        site = json.loads((run.folder / "site_A.json").read_text())
        run.write("site_A.json", {**site, "device": "gpu"})
        for ranks in (1, 2):
            done = run.train("A", ranks=ranks, code=69)
            expect("this curtail-train was built for CPUs" in done.stderr, done.stderr)


@case(seconds=3)
def model_larger_than_the_memory_is_refused():
    with SmallRun() as run:
        run.write("large.json", {"name": "large", "depth": 100, "sequence": 32, "vocabulary": 300})
        run.config["model"] = "large.json"
        run.save()
        done = run.train("A", code=69)
        expect("the model large of" in done.stderr and "GB are free" in done.stderr, done.stderr)


@case()
def unknown_site_names_the_nearest():
    with SmallRun() as run:
        done = execute(program("curtail-train"), run.run_file, "--site", "AB", code=78)
        expect('did you mean "A"' in done.stderr, done.stderr)


if __name__ == "__main__":
    main()
