# SPDX-License-Identifier: Apache-2.0
"""The sites of the demo over S3: their folders, and their watched processes."""
import os
import pwd
import select
import shutil
import signal
import subprocess
import time
from pathlib import Path

from failure import Failure
from watch import Watch

HERE = Path(__file__).resolve().parent
# What the demo has written into a site's folder, or nobody needs after it.
NOT_KEPT = ("s3", "data", "trace.csv", "tmp", "c")


class Site:
    """One site. Its folder belongs to `user`, or to the user of this process if that is None."""

    def __init__(self, name, folder, user=None):
        self.name = name
        self.folder = folder
        self.user = pwd.getpwnam(user) if user else None
        self.watch = None
        self.said = ""  # the operator's last word
        self.asked_to_stop = False

    def give(self, path):
        """Gives a file or folder to the site's user."""
        if self.user:
            os.chown(path, self.user.pw_uid, self.user.pw_gid)

    def give_all(self):
        self.folder.chmod(0o700)
        for path in (self.folder, *self.folder.rglob("*")):
            self.give(path)

    def environment(self):
        kept = {name: value for name, value in os.environ.items()
                if name in ("PATH", "LANG", "CURTAIL_BUILD", "CURTAIL_ALLOW_ROOT") or name.startswith("CURTAIL_CLUSTER_")}
        user = self.user or pwd.getpwuid(os.getuid())
        return {**kept, "HOME": str(self.folder), "TMPDIR": str(self.folder / "tmp"),
                "USER": user.pw_name, "LOGNAME": user.pw_name, "CURTAIL_CACHE": "none",
                "CURTAIL_CLUSTERS": str(self.folder / "c")}

    def start(self, speed, foreign, secrets):
        """Starts the site's operator, under watch."""
        command = [HERE / "site.sh", self.name, self.folder / "run.json",
                   self.folder / "trace.csv", speed]
        if self.user:
            command = ["setpriv", f"--reuid={self.user.pw_uid}", f"--regid={self.user.pw_gid}",
                       "--clear-groups", *command]
        self.watch = Watch(list(map(str, command)), foreign, secrets, cwd=self.folder,
                           env=self.environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                           start_new_session=True)

    @property
    def process(self):
        return self.watch.process

    def look(self):
        """Reads what the operator has said. Fails if the operator has ended, or if the watch has
        seen what no process of the site may do."""
        if select.select([self.process.stdout], [], [], 0)[0]:
            self.said = self.process.stdout.readline().decode().strip() or self.said
        if self.watch.violations:
            raise Failure(77, f"{self.name}: {self.watch.violations[0]}")
        if self.process.poll() is not None:
            raise Failure(self.process.returncode or 70, f"{self.name} has ended too early")

    def go_on(self):
        try:
            self.process.stdin.write(b"\n")
            self.process.stdin.flush()
        except (OSError, ValueError):
            pass  # it has ended, or shall end

    def stop(self):
        """Asks the operator to drain the jobs and to stop the cluster; if asked again, to cancel
        the jobs."""
        self.asked_to_stop = True
        if self.watch and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.stdin.close()

    def end(self):
        """Waits for the end of the operator and of everything that it has started."""
        code = self.process.wait()
        if not self.watch.wait_for_end(30):
            raise Failure(71, f"{self.name}: a process has outlived the site's cluster")
        if self.watch.violations:
            raise Failure(77, f"{self.name}: {self.watch.violations[0]}")
        if code != 0:
            raise Failure(code if code > 0 else 128 - code, f"{self.name} has failed")
        # A watch that misses the jobs proves nothing.
        trained = (self.folder / f"out/sites/{self.name}/metrics.jsonl").exists()
        if trained and not {"mpirun", "curtail-train"} <= self.watch.programs:
            raise Failure(70, f"{self.name}: strace has not followed the site's jobs")

    def keep(self, below):
        """Moves what the site's programs wrote into the folder `below`."""
        for name in NOT_KEPT:
            path = self.folder / name
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
        kept = below / self.name
        shutil.move(self.folder, kept)
        for path in (kept, *kept.rglob("*")):
            os.chown(path, os.getuid(), os.getgid(), follow_symlinks=False)


class Sites:
    def __init__(self, sites, signals):
        self.all = sites
        self.signals = signals

    def _wait(self, condition):
        """Waits until the condition holds. Fails after a signal, or if a site fails."""
        while not condition():
            self.signals.check()
            for site in self.all:
                site.look()
            time.sleep(0.05)

    def _all_said(self, word):
        return all(site.said == word for site in self.all)

    def start(self, speed, private, secrets):
        """Starts the operators. `private` are the folders of which each site may use its own."""
        self.signals.pass_on = self.stop
        for site in self.all:
            self.signals.check()
            site.start(speed, [folder for folder in private if folder != site.folder], secrets)
        self._wait(lambda: self._all_said("ready"))

    def replay(self):
        """Starts the pollers and waits for their end. A replay has one clock: that of the first
        poller."""
        first, *others = self.all
        clock = first.folder / "out/clock.json"
        first.go_on()
        self._wait(clock.exists)
        for site in others:
            copied = site.folder / "out/clock.json"
            shutil.copy(clock, copied)
            site.give(copied)
            site.go_on()
        self._wait(lambda: self._all_said("polled"))

    def stop(self):
        for site in self.all:
            site.stop()

    def stop_and_wait(self):
        """After a failure. Returns whether everything has ended."""
        ended = True
        for site in self.all:
            if not site.asked_to_stop:
                site.stop()
        for site in self.all:
            if site.watch:
                site.process.wait()
                ended = site.watch.wait_for_end(30) and ended
        return ended

    def end(self):
        for site in self.all:
            site.go_on()
        for site in self.all:
            site.end()
        self.signals.pass_on = None
        self.signals.check()
