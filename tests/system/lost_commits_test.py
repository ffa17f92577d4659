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
        execute(program("curtail-store"), "repair", run.run_file, "--site", "A")
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


if __name__ == "__main__":
    main()
