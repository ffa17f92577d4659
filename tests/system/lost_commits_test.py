# SPDX-License-Identifier: Apache-2.0
"""A store that loses commits or is restored from a backup while two sites train, and an object that
only has the name of a commit. A third site starts each time."""
import contextlib
import shutil
import signal

from harness import PACED, SmallRun, case, execute, expect, main, program, wait_for

ROUNDS = {"status_interval_s": 0.5}


class ThreeSites(SmallRun):
    """A and B train; the store has at least six commits."""

    def __init__(self):
        super().__init__(sites=("A", "B", "C"), ranks=1, training=PACED, rounds=ROUNDS)
        self.jobs = {site: self.start_training(site) for site in "AB"}
        self.wait_for_commit(6)

    def path(self, number):
        return self.store / f"commits/{number:08}.json"

    def newest(self):
        return max((int(path.stem) for path in self.store.glob("commits/0*.json")), default=0)

    def wait_for_commit(self, number):
        wait_for(lambda: self.newest() >= number, f"commit {number}")

    def records(self):
        return {path.name: path.read_bytes() for path in self.store.glob("commits/*.json")}

    def wait_for_work_of_c(self):
        self.jobs["C"] = self.start_training("C")
        wait_for(lambda: any(d["member"].startswith("C.") and d["outcome"] == "included"
                             for commit in self.commits() for d in commit["decided"]),
                 "work of C in the model", timeout=40)

    def stop(self):
        for job in self.jobs.values():
            job.send_signal(signal.SIGUSR1)
        codes = {site: job.wait(30) for site, job in self.jobs.items()}
        expect(set(codes.values()) == {0}, f"exit codes {codes}")

    def expect_whole(self, before):
        """The chain has the same bytes under the numbers that it had `before`."""
        after = self.records()
        changed = [name for name, bytes in before.items() if after.get(name) != bytes]
        expect(not changed, f"lost or replaced: {changed}")
        shown = execute(program("curtail-status"), self.run_file, "--verify", code=None)
        sound = shown.returncode == 0 or "the chain is sound" in shown.stderr
        expect(sound, shown.stdout + shown.stderr)
        return shown


@case(seconds=4)
def lost_commits_come_back():
    """Two holes where the search for the newest commit looks."""
    with ThreeSites() as run:
        before = run.records()
        (run.store / "commits/123456789.json").write_text("{}")  # no commit can have this name
        run.path(1).unlink()
        run.path(4).unlink()
        run.wait_for_work_of_c()
        run.stop()
        shown = run.expect_whole(before)
        expect(shown.returncode == 0, shown.stderr)
        restored = [e["first"] for site in "ABC" for e in run.events(site, "commits-restored")]
        expect(restored, "no site says that it has created the commits again")


def restore(backup, store):
    """Makes the store what it was, as `rsync --delete` does. Sites may write meanwhile."""
    kept = {path.relative_to(backup) for path in backup.rglob("*") if path.is_file()}
    for path in sorted(store.rglob("*")):
        if path.is_file() and path.relative_to(store) not in kept:
            with contextlib.suppress(FileNotFoundError):
                path.unlink()
    for name in kept:
        (store / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(backup / name, store / name)


@case(seconds=8)
def restored_store_gets_its_commits_back():
    with ThreeSites() as run:
        backup = run.folder / "backup"
        shutil.copytree(run.store, backup, ignore=shutil.ignore_patterns(".*"))
        run.wait_for_commit(run.newest() + 3)
        before = run.records()
        restore(backup, run.store)
        run.wait_for_work_of_c()
        run.stop()
        run.expect_whole(before)


@case(seconds=8)
def backup_restored_under_another_address_gets_its_commits_back():
    with ThreeSites() as run:
        backup = run.folder / "out/store2"
        shutil.copytree(run.store_folder, backup, ignore=shutil.ignore_patterns(".*"))
        run.wait_for_commit(run.newest() + 3)
        run.stop()
        newest = run.newest()
        before = run.records()
        run.config["store"] = "file:out/store2"
        run.save()
        run.store = backup / "runs/small"
        # The newest model may be that of B, and A may have left before it adopted that.
        repair = (program("curtail-store"), "repair", run.run_file, "--site")
        done = execute(*repair, "A", code=None)
        if done.returncode != 0:
            expect(done.returncode == 75 and "cannot repair models/" in done.stderr, done.stderr)
            execute(*repair, "B")
        expect(run.newest() == newest, "repair has not brought the commits back")
        run.jobs = {"A": run.start_training("A")}
        run.wait_for_commit(newest + 1)
        run.stop()
        changed = [name for name, data in before.items() if run.records().get(name) != data]
        expect(not changed, f"lost or replaced: {changed}")


@case(seconds=11)
def foreign_object_ends_the_run_at_its_number_only():
    with ThreeSites() as run:
        number = run.newest() + 3
        run.path(number).write_text("{}")
        refused = run.train("C", code=76).stderr
        expect(f"{number:08}" in refused and "curtail-store repair" in refused, refused)
        codes = {site: job.wait(60) for site, job in run.jobs.items()}
        expect(set(codes.values()) == {76}, f"exit codes {codes}")
        log = run.log()
        expect(f"the object under the number of commit {number} is no commit" in log, log[-2000:])
        expect(run.path(number - 1).exists(), "a site has stopped before the chain got there")
        repair = (program("curtail-store"), "repair", run.run_file, "--site", "A")
        execute(*repair, code=76)
        execute(*repair, "--remove-foreign")
        before = run.records()
        run.jobs = {"A": run.start_training("A")}
        run.wait_for_commit(number + 2)
        run.stop()
        expect(run.expect_whole(before).returncode == 0, "must verify")


def halve(path):
    path.write_bytes(path.read_bytes()[:path.stat().st_size // 2])


def make_link(path):
    path.unlink()
    path.symlink_to("00000002.json")


def make_folder(path):
    path.unlink()
    path.mkdir()




def remove(path):
    path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink(missing_ok=True)


def store_program(run, command, *options, code=0):
    return execute(program("curtail-store"), command, run.run_file, *options, code=code)


def check_damage(run, path, damage, whole):
    """Site A has a copy, so its repair makes the chain whole, after asking."""
    damage(path)
    refused = store_program(run, "verify", code=None)
    expect(refused.returncode in (76, 77), f"verify: {refused.returncode} {refused.stderr}")
    asked = store_program(run, "repair", "--site", "A", code=76)
    expect(f"damaged    commits/{path.name}" in asked.stdout, asked.stdout)
    expect("--remove-foreign" in asked.stderr, asked.stderr)
    store_program(run, "repair", "--site", "A", "--remove-foreign")
    expect(run.records() == whole, "the commits differ")


def check_without_copies(run, path, lose, whole, fork_number):
    """Only site B has a copy. Before its repair, a fork is the way out that the message names."""
    lose(path)
    before = {name: data for name, data in whole.items() if name != path.name}
    left = store_program(run, "repair", "--site", "A", "--remove-foreign", code=75)
    number = max(int(name[:8]) for name in before)
    expect(f"`curtail-store fork --commit {number}`" in left.stderr, left.stderr)
    name = f"fork{fork_number}"
    run.write(f"{name}.json", {**run.config, "run": name, "folder": f"out-{name}"})
    unnamed = store_program(run, "fork", run.folder / f"{name}.json", code=76)
    expect(f"--commit {number}" in unnamed.stderr, unnamed.stderr)
    forked = store_program(run, "fork", run.folder / f"{name}.json", "--commit", number)
    expect("its source is not" in forked.stderr, forked.stderr)
    execute(program("curtail-store"), "verify", run.folder / f"{name}.json")
    store_program(run, "repair", "--site", "B", "--remove-foreign")
    expect(run.records() == whole, "the commits differ")


@case(seconds=9)
def every_state_has_a_way_out():
    with ThreeSites() as run:
        run.jobs.pop("B").send_signal(signal.SIGUSR1)
        time_of_b = run.newest()
        run.wait_for_commit(time_of_b + 4)
        run.stop()
        whole, tip = run.records(), run.newest()
        for damage in (make_link, make_folder):
            check_damage(run, run.path(5), damage, whole)
        check_damage(run, run.path(tip), halve, whole)
        run.path(tip + 1).write_text("{}")
        refused = run.train("C", code=76).stderr
        expect("curtail-store repair" in refused, refused)
        store_program(run, "repair", "--site", "A", "--remove-foreign")
        run.path(tip + 1).write_text('{"format":99}')
        store_program(run, "repair", "--site", "A", "--remove-foreign", code=65)
        run.path(tip + 1).unlink()
        for number in (tip - 1, tip):
            run.path(number).unlink()
        store_program(run, "repair", "--site", "A")
        expect(run.records() == whole, "the commits differ")
        run_json = run.store / "run.json"
        text = run_json.read_bytes()
        run_json.unlink()
        done = store_program(run, "repair", "--site", "A").stdout
        expect("copied     run.json" in done and run_json.read_bytes() == text, done)
        shutil.rmtree(run.out / "sites/A/kept")
        for i, lose in enumerate((remove, lambda path: path.write_text("{}"))):
            check_without_copies(run, run.path(5), lose, whole, i)
        store_program(run, "verify")


if __name__ == "__main__":
    main()
