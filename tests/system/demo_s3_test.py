# SPDX-License-Identifier: Apache-2.0
"""The demo over S3, in a short form. Root repeats it with three temporary users: then the sites'
folders belong to different users, so that file permissions keep them apart."""
import datetime
import json
import os
import pwd
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from harness import (BUILD, CORPUS, PACED, POWER, ROUNDS, SHARED_ENVIRONMENT, SMALL_MODEL, SOURCE,
                     case, execute, expect, main, wait_for)

sys.path.insert(0, str(SOURCE / "scripts/demo/s3"))
from files import read_json  # noqa: E402
from watch import Watch  # noqa: E402

DEMO = SOURCE / "scripts/demo.sh"
SITES = ("CAISO_NORTH", "SPP_TX", "NEM_SA")  # the clusters of the demo
# The clean sites in each sample of 300 s, i.e. of one second.
DAY = ["", *2 * SITES[:1], *12 * [" ".join(SITES)], *2 * SITES[1:2], *6 * [""]]
# The same, with a signal that lasts as long as always-on training would.
LONG_DAY = [*DAY, *20 * [""]]
# Time for one job of the first site, also on a machine on which a start takes some seconds.
BRIEF_DAY = ["", *10 * SITES[:1], *3 * [""]]
USERS = ("curtail-a", "curtail-b", "curtail-c")


class ShortDemo:
    """The files of a demo of half a minute, or of another `day`. It keeps its temporary files in
    `temporary`."""

    def __init__(self, prologue=None, day=DAY):
        self.folder = Path(tempfile.mkdtemp(prefix="curtail-"))
        self.folder.chmod(0o755)
        self.out = self.folder / "out"
        self.clusters = self.folder / "c"
        self.temporary = self.folder / "t"
        self.temporary.mkdir()
        self.temporary.chmod(0o755)
        self.trace = self.folder / "trace.csv"
        self.write_trace(day)
        self.write("model.json", SMALL_MODEL)
        if prologue:
            (self.folder / "prologue.sh").write_text(prologue)
        for site in SITES:
            launcher = {"slurm_conf": str(self.clusters / site / "slurm.conf"), "grace_s": 15,
                        "script": str(SOURCE / "slurm/site_train.sh")}
            if prologue and site == SITES[0]:
                launcher["prologue"] = "prologue.sh"
            self.write(f"{site}.json", {"site": site, "ranks": 2, "poll_period_s": 2,
                                        "power": POWER, "launcher": launcher})

    def write_trace(self, day):
        start = datetime.datetime(2026, 1, 11, tzinfo=datetime.timezone.utc)
        lines = [",".join(("point_time", *SITES))]
        for i, clean in enumerate(day):
            cells = ("20" if site in clean.split() else "400" for site in SITES)
            time = start + datetime.timedelta(minutes=5 * i)
            lines.append(",".join((time.isoformat(), *cells)))
        self.trace.write_text("\n".join(lines) + "\n")

    def write(self, name, value):
        (self.folder / name).write_text(json.dumps(value))

    def command(self, store, *options):
        self.write("run.json", {
            "run": "short", "folder": "out", "seed": 1, "model": "model.json",
            "store": "s3://runs/short" if store == "s3" else "file:out/store",
            "data": {"folder": "out/data", "epochs": 2000},
            "training": {"batch_tokens": 512, "device_batch_rows": 4, **PACED},
            "optimizer": {"schedule_tokens": 1_000_000, "lr_scale": 0.1}, "rounds": ROUNDS,
            "sites": [f"{site}.json" for site in SITES]})
        command = ("env", f"TMPDIR={self.temporary}", f"CURTAIL_CLUSTERS={self.clusters}", DEMO,
                   "--store", store, "--run", self.folder / "run.json", "--trace", self.trace,
                   "--text", CORPUS, *options)
        return [str(part) for part in command]

    def run(self, store, *options, code=0):
        done = execute(*self.command(store, *options), code=code, timeout=200)
        self.expect_nothing_left()
        return done

    def expect_nothing_left(self):
        """The watcher of the gateway ends half a second after it."""
        wait_for(lambda: not self.left(), f"the end of {self.left()}", timeout=5, pause=0.1)

    def left(self):
        """Temporary files, and processes with the name of such a file in their command lines."""
        # If two mpirun end at the same time, Open MPI may leave its empty folder.
        left = [path.name for path in self.temporary.iterdir()
                if not (path.name.startswith("ompi.") and not list(path.glob("*")))]
        mark = os.fsencode(self.temporary) + b"/"
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                if mark in path.read_bytes():
                    left.append(path.parent.name)
            except OSError:
                pass  # it has just ended
        return left

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder, ignore_errors=True)


def watched(command, foreign, secrets=("s3cr3t",), **options):
    watch = Watch(["bash", "-c", command], foreign, secrets, stdout=subprocess.DEVNULL,
                  stderr=subprocess.DEVNULL, **options)
    watch.process.wait(20)
    expect(watch.wait_for_end(20), f"{command}: strace still runs")
    return watch


@case(seconds=2)
def watch_misses_no_path_of_another():
    with tempfile.TemporaryDirectory() as folder:
        own, other = Path(folder, "own"), Path(folder, "other")
        for site in (own, other, Path(folder, "others")):
            site.mkdir()
            (site / "file").write_text("x")
        (own / "link").symlink_to(other / "file")
        for good in ("cat file", "cat ../others/file", "ls ..", "readlink link", "cat ../other2",
                     f"ls {folder}"):
            watch = watched(good, [other], cwd=own)
            expect(not watch.violations and watch.opened > 0, f"{good}: {watch.violations}")
        for bad in ("cat ../other/file", "cat ../other/missing", "cat link", "cd ../other",
                    f"cat {other}/file", f"cat {own}/../other/missing", "exec ../other/file",
                    "setsid sh -c 'cat ../other/file' & exit 0", "echo x > ../other/new",
                    "rm ../other/file", "cat s3cr3t", "SOME=s3cr3t cat file"):
            watch = watched(bad, [other], cwd=own)
            expect(watch.violations, f"{bad}: not seen")
        expect("cat" in watch.programs, f"{watch.programs}")


@case(seconds=12)
def interrupted_demo_drains_and_stops_everything():
    with ShortDemo() as demo:
        process = subprocess.Popen(demo.command("s3"), stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE, text=True, start_new_session=True)
        try:
            lines = []
            for line in process.stderr:
                lines.append(line)
                if "submit job" in line:
                    process.send_signal(signal.SIGINT)
            text = "".join(lines)
            expect(process.wait(60) == 130, f"{process.returncode}: {text}")
            expect("draining all jobs" in text, text)
        finally:
            process.kill()
        demo.expect_nothing_left()


# Reads the key of another site, and writes down how that went.
INTRUDER = """
cat "$HOME/../SPP_TX/s3" > "$HOME/out/stolen" 2> "$HOME/out/refusal"
true
"""


@case(seconds=15)
def demo_fails_if_a_site_opens_a_path_of_another():
    with ShortDemo(INTRUDER) as demo:
        done = demo.run("s3", code=77)
        expect("CAISO_NORTH: names a path of another" in done.stderr
               and "/SPP_TX/s3" in done.stderr, done.stderr[-3000:])
        stolen = (demo.out / "owners/CAISO_NORTH/out/stolen").read_text()
        expect("aws_secret_access_key" in stolen, "the intruder has read nothing")
        expect(not (demo.out / "report.html").exists(), "the demo has gone on")


@case(seconds=28)
def demo_fails_if_a_secret_is_in_the_log_of_a_job():
    with ShortDemo('cat "$HOME/s3"\n', BRIEF_DAY) as demo:
        done = demo.run("s3", code=77)
        expect("contains a secret" in done.stderr, done.stderr[-3000:])
        key = next((demo.out / "owners").rglob("job-1.log")).read_text()
        expect("aws_secret_access_key" in key, "the log has no secret")


@case()
def run_file_differs_from_that_of_the_demo_only_in_the_store():
    local, remote = (read_json(SOURCE / f"inputs/runs/{name}.json") for name in ("demo", "demo-s3"))
    for run in (local, remote):
        for key in ("folder", "store"):
            run.pop(key)
        run["data"].pop("folder")
        for key in ("round_time_s", "lease_s"):
            run["rounds"].pop(key)
    expect(local == remote, f"{local}\n{remote}")


@case(seconds=17)
def permissions_keep_users_apart():
    if os.geteuid() != 0:
        print("skipped: only root can start sites as other users")
        return
    with ShortDemo(INTRUDER) as demo:
        done = demo.run("s3", "--users", ",".join(USERS), code=77)
        expect("CAISO_NORTH: names a path of another" in done.stderr, done.stderr[-3000:])
        own = demo.out / "owners/CAISO_NORTH/out"
        expect("Permission denied" in (own / "refusal").read_text(), "no refusal")
        expect((own / "stolen").read_text() == "", "a file of another user was read")


def figures(value, path=""):
    """The places of a JSON document that have content. Those of all elements of a list are one."""
    if isinstance(value, dict):
        parts = [figures(content, f"{path}/{key}") for key, content in value.items()]
    elif isinstance(value, list):
        parts = [figures(content, path + "/*") for content in value]
    else:
        return {path} if value not in (None, "") else set()
    return set().union(*parts)


def compare_figures(remote, local):
    """Both reports must have the same figures, whatever their values. They may differ in the states
    in which a site has spent some time, in warnings, and in jobs that ran after the signal."""
    of_one = re.compile(r"/(hours|energy/\w+)/\w+/\w+(/\w+)?|/(warnings|after_signal)/\*")
    found = [{path for path in figures(document) if not of_one.fullmatch(path)}
             for document in (remote, local)]
    expect(found[0] == found[1], f"only with S3: {found[0] - found[1]}; only with a folder: "
                                 f"{found[1] - found[0]}")


def compare_sections(*pages):
    done = execute("/usr/bin/python3", SOURCE / "tests/bill/report/sections.py", *pages, code=None,
                   environment={**os.environ, **SHARED_ENVIRONMENT})
    if done.returncode == 77:
        print(f"skipped: the sections of the pages: {done.stderr.strip()}")
        return
    remote, local = json.loads(done.stdout)
    expect(len(remote) > 5 and remote == local, f"{remote}\n{local}")


@case(seconds=45, fifths=2)
def page_of_the_store_has_every_section_and_figure():
    options = ("--users", ",".join(USERS)) if os.geteuid() == 0 else ()
    with ShortDemo(day=LONG_DAY) as remote, ShortDemo(day=LONG_DAY) as local:
        with ThreadPoolExecutor() as both:
            local_run = both.submit(local.run, "folder")
            done = remote.run("s3", *options)
            local_run.result()
        for site in SITES:
            expect(f"{site}: " in done.stderr and "none of another site" in done.stderr,
                   done.stderr[-3000:])
        expect("is sound" in done.stdout and "gCO2" in done.stdout, done.stdout[-3000:])
        documents = [json.loads((demo.out / "report.json").read_text())
                     for demo in (remote, local)]
        expect(documents[0]["commits"]["joint"] > 0, f"{documents[0]['commits']}")
        compare_figures(*documents)
        compare_sections(*(demo.out / "report.html" for demo in (remote, local)))


def start_with_temporary_users():
    """Root runs this test again with three more users. They exist in the test's own mount
    namespace only, so nothing has to remove them."""
    taken = {entry.pw_uid for entry in pwd.getpwall()}
    ids = [uid for uid in range(52000, 60000) if uid not in taken][:len(USERS)]
    with tempfile.TemporaryDirectory() as folder:
        for name in ("passwd", "group"):
            text = Path("/etc", name).read_text()
            for user, uid in zip(USERS, ids):
                text += (f"{user}:x:{uid}:{uid}::/nonexistent:/bin/sh\n" if name == "passwd"
                         else f"{user}:x:{uid}:\n")
            Path(folder, name).write_text(text)
        script = 'mount --bind "$0/passwd" /etc/passwd && mount --bind "$0/group" /etc/group && ' \
                 'exec "$@"'
        environment = {**os.environ, "CURTAIL_BUILD": str(BUILD), "CURTAIL_SOURCE_DIR": str(SOURCE),
                       **SHARED_ENVIRONMENT}
        done = subprocess.run(["unshare", "--mount", "sh", "-c", script, folder, sys.executable,
                               *sys.argv], env=environment, check=False)
    sys.exit(done.returncode)


def has_temporary_users():
    return all(any(user == entry.pw_name for entry in pwd.getpwall()) for user in USERS)


if __name__ == "__main__":
    if os.geteuid() == 0 and not has_temporary_users():
        start_with_temporary_users()
    main()
