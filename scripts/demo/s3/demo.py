#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The demo over S3, which scripts/demo.sh --store s3 calls.

Three sites replay a trace, each on a private Slurm cluster of its own. They share nothing but a
bucket of a private Ceph gateway: each site has a folder and a key of its own. The demo fails if a
process of a site names a path of another one, or if a secret is anywhere but in the file of a key.
On Ctrl-C, TERM or a closed terminal, drains the jobs, and stops the clusters and the gateway.
"""
import argparse
import fcntl
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from failure import Failure, Signals, say
from files import RunFiles
from gateway import Gateway
from sites import Site, Sites

CHECKOUT = Path(__file__).resolve().parents[3]
KEPT = ("data", "text")  # the next demo uses them again


def end_session(process):
    try:
        os.killpg(process.pid, signal.SIGTERM)
    except ProcessLookupError:
        pass  # it has just ended


class Demo:
    def __init__(self, options):
        self.options = options
        self.signals = Signals()
        self.bin = Path(os.environ["CURTAIL_BUILD"]) / "bin"
        self.files = RunFiles(options.run)
        self.out = self.files.folder
        self.users = options.users.split(",") if options.users else [None] * len(self.files.sites)
        self.check()
        self.lock()
        # Short, because the paths of Slurm's and Ceph's sockets are limited.
        self.work = Path(tempfile.mkdtemp(prefix="curtail-demo-"))
        if options.users:
            self.work.chmod(0o711)
        self.gateway = Gateway(self.work / "rgw")
        self.reader = self.work / "reader"
        self.sites = Sites([Site(name, self.work / name, user)
                            for name, user in zip(self.files.sites, self.users)], self.signals)

    def check(self):
        if not self.files.run["store"].startswith("s3://"):
            raise Failure(78, f"the store in {self.files.path} is no bucket; write s3://BUCKET/...")
        if len(self.users) != len(self.files.sites):
            raise Failure(64, f"--users must name {len(self.files.sites)} users")
        if self.options.users and os.geteuid() != 0:
            raise Failure(64, "--users needs root")
        known = {entry.pw_name for entry in pwd.getpwall()}
        for user in filter(None, self.users):
            if user not in known:
                raise Failure(64, f"--users: there is no user {user}")
        for program in ("strace", "setpriv"):
            if not shutil.which(program):
                raise Failure(69, f"{program} is missing; run apt-get install strace util-linux")
        if any((self.out / name).exists() for name in ("poller", "sites")):
            raise Failure(78, f"{self.out} contains another run, which a demo must not replace; "
                              "name another `folder`, or move that run")

    def lock(self):
        self.out.mkdir(parents=True, exist_ok=True)
        path = self.out.parent / f".{self.out.name}.lock"
        self.locked = open(path, "w", encoding="utf-8")
        try:
            fcntl.flock(self.locked, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Failure(75, f"another demo of {self.files.path} is running (it holds {path}); "
                              "wait until it has finished or stop it with Ctrl-C") from None

    def call(self, *command, **options):
        """Runs a command. A signal ends it and everything that it has started."""
        self.signals.check()
        process = subprocess.Popen([str(part) for part in command], stdin=subprocess.DEVNULL,
                                   start_new_session=True, **options)
        self.signals.pass_on = lambda: end_session(process)
        code = process.wait()
        self.signals.pass_on = None
        self.signals.check()
        if code != 0:
            raise Failure(code if code > 0 else 128 - code, f"{command[0]} has failed")

    def prepare_text(self):
        text = self.options.text or self.out / "text"
        if not Path(text).exists():
            say("extracting English prose from Debian's perl-doc")
            self.call(CHECKOUT / "scripts/demo_text.sh", text)
        self.call(self.bin / "curtail-data", "prepare", text, "--run", self.files.path,
                  "--held-out", "0.05", "--replace")

    def write_files(self):
        script = CHECKOUT / "slurm/site_train.sh"
        for site in self.sites.all:
            for name in ("tmp", "out"):
                (site.folder / name).mkdir(parents=True)
            self.files.write(site.folder, self.gateway.endpoint, script, site.name)
            shutil.copytree(self.files.data, site.folder / "data")
            shutil.copy(self.options.trace, site.folder / "trace.csv")
            shutil.copy(self.gateway.credentials(site.name), site.folder / "s3")
            site.give_all()
        self.reader.mkdir(mode=0o700)
        self.files.write(self.reader, self.gateway.endpoint, script, data=self.files.data)
        shutil.copy(self.gateway.credentials("owner"), self.reader / "s3")

    def search_for_secrets(self):
        """Fails if a file of the sites or of the reader has a secret. Logs, job records, Slurm's
        copies of scripts and environments, and copies of commits are among these files."""
        secrets = [secret.encode() for secret in self.gateway.secrets()]
        searched = 0
        for folder in (*(site.folder for site in self.sites.all), self.reader):
            for path in folder.rglob("*"):
                # munged creates an empty file that its user may not read.
                if path == folder / "s3" or path.is_symlink() or not path.is_file() or \
                        path.stat().st_size == 0:
                    continue
                searched += 1
                content = path.read_bytes()
                if any(secret in content for secret in secrets):
                    raise Failure(77, f"{path.relative_to(self.work)} contains a secret")
        return searched

    def replay(self):
        private = [self.gateway.folder, self.reader, *(site.folder for site in self.sites.all)]
        self.sites.start(self.options.speed, private, self.gateway.secrets())
        say(f"replaying {self.options.trace} at {self.options.speed} times real speed; "
            "decisions follow")
        self.sites.replay()
        self.search_for_secrets()
        self.sites.end()
        for site in self.sites.all:
            say(f"{site.name}: {site.watch.opened} paths opened, none of another site")

    def read_the_run(self):
        """What anybody with the right to read does. This machine has no other logs of the run."""
        run, out = self.reader / "run.json", self.reader / "out"
        kept = {**os.environ, "CURTAIL_CACHE": str(self.reader / "cache")}
        call = lambda name, *rest, **options: self.call(self.bin / f"curtail-{name}", *rest,
                                                        env=kept, **options)
        out.mkdir()
        call("model", "evaluate", run, "--out", out / "evaluation.json", "--quiet",
             stdout=subprocess.DEVNULL)
        call("status", run, "--verify")
        call("report", run, "--trace", self.options.trace, "--quiet")
        say("a sample of text from the trained model:")
        call("model", "sample", run, "--prompt", "The ", "--tokens", "120", "--temperature", "0.8",
             "--seed", "1")
        say(f"{self.search_for_secrets()} files searched, none has a secret")

    def keep_results(self):
        """Moves the last demo's results to FOLDER.previous, and the new ones into FOLDER."""
        previous = self.out.with_name(self.out.name + ".previous")
        last = [path for path in self.out.iterdir() if path.name not in KEPT]
        if last:
            shutil.rmtree(previous, ignore_errors=True)
            previous.mkdir()
        for path in last:
            shutil.move(path, previous)
        owners = self.out / "owners"
        owners.mkdir()
        for site in self.sites.all:
            site.keep(owners)
        if (self.reader / "out").is_dir():
            for path in (self.reader / "out").iterdir():
                shutil.move(path, self.out)

    def run(self):
        self.prepare_text()
        self.gateway.up(self.files.sites)
        self.signals.check()
        self.gateway.create_bucket(self.files.run, self.files.sites)
        self.write_files()
        self.replay()
        self.read_the_run()
        self.keep_results()
        say(f"report: {self.out / 'report.html'}")

    def clean_up(self, failed):
        """Stops what still runs. After a failure, keeps what the sites wrote."""
        ended = self.sites.stop_and_wait() if failed else True
        self.gateway.down()
        if failed and any(site.watch for site in self.sites.all):
            self.keep_results()
            say(f"what the sites wrote is in {self.out / 'owners'}")
        shutil.rmtree(self.work, ignore_errors=True)
        if not ended:
            say("a process of a site is still running")


def parse():
    parser = argparse.ArgumentParser(prog="demo.sh --store s3")
    for name in ("--run", "--trace", "--speed"):
        parser.add_argument(name, required=True)
    parser.add_argument("--text")
    parser.add_argument("--users")
    return parser.parse_args()


def main():
    try:
        demo = Demo(parse())
    except Failure as failure:
        say(failure)
        return failure.code
    code = 70
    try:
        demo.run()
        code = 0
    except Failure as failure:
        code = failure.code
        say(failure)
    except subprocess.CalledProcessError as error:
        code = error.returncode
        say(f"{error.cmd[0]} has failed")
    except OSError as error:
        code = 74
        say(error)
    finally:
        demo.clean_up(code != 0)
    return code


sys.exit(main())
