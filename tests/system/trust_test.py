# SPDX-License-Identifier: Apache-2.0
"""Who can change what a program reads, runs or follows: a second user, and root for a user."""
import contextlib
import grp
import json
import os
import re
import shutil
import socket
import stat
import struct
import subprocess
import tempfile
from pathlib import Path

from harness import (BUILD, CORPUS, SOURCE, SmallRun, case, execute, expect, main, program,
                     wait_for)

STRANGER = 65534
ANOTHER = 65432  # no account


def give(user, *paths):
    """Gives trees to a user; links too."""
    for path in paths:
        for part in (path, *path.rglob("*")):
            os.lchown(part, user, user)


def seen(folder):
    """All that is in a folder: names, owners, modes and contents."""
    return {str(path): (path.lstat().st_uid, path.lstat().st_mode,
                        path.read_bytes() if stat.S_ISREG(path.lstat().st_mode) else b"")
            for path in (folder, *folder.rglob("*"))}


@contextlib.contextmanager
def run_of(user):
    """A run of another user, and a folder of root that nobody else may enter."""
    with SmallRun(sites=("A",), ranks=1) as run, \
            tempfile.TemporaryDirectory(prefix="curtail-root-") as name:
        run.folder.chmod(0o755)
        victim = Path(name)
        (victim / "sites/A").mkdir(parents=True)
        (victim / "hold.json").write_text("root's own\n")
        run.victim = victim
        give(user, run.folder)
        yield run


def pause(run, *prefix, code=0, what=("--pause", "A"), run_file=None, **options):
    return execute(*prefix, program("curtail-poll"), run_file or run.run_file, *what, "--reason",
                   "too hot", code=code, timeout=20, **options)


@case(seconds=3)
def root_pauses_a_run_with_the_rights_of_its_owner():
    if os.getuid() != 0:
        return  # only root can take the rights of another user
    with run_of(STRANGER) as run:
        done = pause(run)
        hold = json.loads((run.out / "sites/A/hold.json").read_text())
        expect(hold["by"] == f"root@{socket.gethostname()}", f"{hold}")
        expect("another user" in done.stderr, done.stderr)
        for path in (run.out, *run.out.rglob("*")):
            status = path.lstat()
            expect((status.st_uid, status.st_gid) == (STRANGER, STRANGER), f"{path}: {status}")
            is_new = path.is_relative_to(run.out / "sites")
            expect(not is_new or status.st_mode & 0o077 == 0, f"{path}: {status.st_mode:o}")
        execute(program("curtail-poll"), run.run_file, "--resume")
        expect(not json.loads((run.out / "sites/A/hold.json").read_text())["held"], "still held")


LINKED = {"out": "", "out/sites": "sites", "out/sites/A": "sites/A", "out/poller": "",
          "out/sites/A/hold.json": "hold.json", "out/sites/A/permission.json": "hold.json",
          "out/sites/A/events.jsonl": "hold.json"}


@case(seconds=4)
def links_of_a_user_lead_root_nowhere():
    if os.getuid() != 0:
        return  # only root can take the rights of another user
    with run_of(STRANGER) as run:
        before = seen(run.victim)
        for name, target in LINKED.items():
            for what in (("--pause", "A"), ("--stop",)):
                shutil.rmtree(run.out)
                link = run.folder / name
                link.parent.mkdir(parents=True, exist_ok=True)
                link.symlink_to(run.victim / target)
                if run.out.is_symlink():
                    os.lchown(run.out, STRANGER, STRANGER)
                else:
                    give(STRANGER, run.out)
                done = pause(run, code=None, what=what)
                expect(done.returncode in (0, 73, 74, 77), f"{name}: {done}")
                expect(seen(run.victim) == before, f"{name}: root followed the link")
                if run.out.is_symlink():
                    run.out.unlink()
                    run.out.mkdir()
        # A pipe stops nobody for long.
        for name in ("hold.json", "permission.json"):
            shutil.rmtree(run.out)
            (run.out / "sites/A").mkdir(parents=True)
            os.mkfifo(run.out / "sites/A" / name)
            give(STRANGER, run.out)
            pause(run)


@case(seconds=3)
def run_file_of_root_in_a_users_folder_is_no_way_to_roots_rights():
    if os.getuid() != 0:
        return  # only root can take the rights of another user
    with run_of(STRANGER) as run:
        # The paths in it begin in the folder of the link: the user chooses where they lead.
        installed = run.victim / "run.json"
        shutil.copy(run.run_file, installed)
        run.run_file.unlink()
        run.run_file.symlink_to(installed)
        os.lchown(run.run_file, STRANGER, STRANGER)
        shutil.rmtree(run.out)
        run.out.symlink_to(run.victim)
        os.lchown(run.out, STRANGER, STRANGER)
        before = seen(run.victim)
        done = pause(run, code=77)
        expect("link" in done.stderr, done.stderr)
        expect(seen(run.victim) == before, "root wrote into its own folder")
        # Root opens nothing before it knows what it is.
        run.run_file.unlink()
        secret = run.victim / "secret.json"
        secret.write_text('{"password": "hunter2"}')
        secret.chmod(0o600)
        run.run_file.symlink_to(secret)
        os.lchown(run.run_file, STRANGER, STRANGER)
        done = pause(run, code=77)
        expect("password" not in done.stderr, done.stderr)
        run.run_file.unlink()
        os.mkfifo(run.victim / "pipe")
        run.run_file.symlink_to(run.victim / "pipe")
        writer = subprocess.Popen(["bash", "-c", f"exec 3>{run.victim}/pipe"])
        pause(run, code=66)
        expect(writer.poll() is None, "root opened the pipe")
        writer.kill()
        writer.wait()
        run.run_file.unlink()
        os.mkfifo(run.run_file)
        pause(run, code=66)
        run.run_file.unlink()
        # Where a file server takes root for another user.
        run.save()
        give(STRANGER, run.folder)
        run.folder.chmod(0o700)
        done = pause(run, "setpriv", "--bounding-set=-dac_override,-dac_read_search", code=66)
        expect("/etc/curtail/holds.d" in done.stderr, done.stderr)


@case(seconds=3)
def user_names_no_run_of_another_user_to_root():
    if os.getuid() != 0:
        return  # only root can take the rights of another user
    with run_of(STRANGER) as victim, run_of(ANOTHER) as run:
        before = seen(victim.folder)
        run.run_file.unlink()
        run.run_file.symlink_to(victim.run_file)
        os.lchown(run.run_file, ANOTHER, ANOTHER)
        done = pause(run, code=77)
        expect("link" in done.stderr and "it belongs to nobody" in done.stderr, done.stderr)
        run.run_file.unlink()
        # Paths in a hard link begin in the other user's folder, too.
        os.link(victim.run_file, run.run_file)
        done = pause(run, code=77)
        expect(f"{run.folder}: it belongs to" in done.stderr, done.stderr)
        expect(seen(victim.folder) == before, "the victim's run has changed")


@case(seconds=6)
def watching_poller_notices_what_others_can_change():
    with SmallRun(sites=("A",), ranks=1) as run, \
            tempfile.TemporaryDirectory(prefix="curtail-open-") as name:
        script = Path(name) / "train.sh"
        script.write_text("#!/bin/bash\n")
        script.chmod(0o755)
        run.change_site("A", launcher={"kind": "local", "script": str(script)})
        (run.folder / "trace.csv").write_text("point_time,A\n" + "".join(
            f"2026-01-11T{17 + m // 60:02}:{m % 60:02}:00Z,{50 if m > 25 else 500}\n"
            for m in range(0, 300, 5)))
        poller = subprocess.Popen(
            [program("curtail-poll"), run.run_file, "--trace", run.folder / "trace.csv", "--watch",
             "--speed", "300"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        try:
            wait_for(lambda: (run.out / "poller/state.json").exists(), "the first poll")
            script.chmod(0o777)
            told = next(line for line in poller.stderr if f"chmod go-w {script}" in line)
            expect("cannot trust" in told, told)
        finally:
            poller.terminate()
            poller.communicate()


@case(seconds=2)
def file_that_others_could_create_is_refused():
    with SmallRun(sites=("A",), ranks=1) as run, \
            tempfile.TemporaryDirectory(prefix="curtail-open-") as name:
        Path(name).chmod(0o1777)
        for missing in ("slurm.conf", "none/slurm.conf"):
            done = check_access(run, code=77, SLURM_CONF=f"{name}/{missing}")
            expect("others could create it" in done.stderr, done.stderr)
        done = execute("env", f"CURTAIL_BUILD={name}/build", program("curtail-poll"), run.run_file,
                       "--check-access", code=77)
        expect("others could create it" in done.stderr, done.stderr)
        link = run.folder / "slurm.conf"
        link.symlink_to(f"{name}/slurm.conf")  # it leads nowhere yet
        done = check_access(run, code=77, SLURM_CONF=str(link))
        expect("others could create it" in done.stderr, done.stderr)
        Path(name).chmod(0o755)
        check_access(run, SLURM_CONF=f"{name}/none/slurm.conf")
        check_access(run, SLURM_CONF=str(link))


def check_access(run, code=0, **environment):
    return execute(program("curtail-poll"), run.run_file, "--check-access", "--site", "a",
                   code=code, environment={**os.environ, **environment}, timeout=20)


OWN_ETC = """
set -eu
cp -a /etc "$1/etc"
echo intruder:x:4321:0::/:/bin/sh >>"$1/etc/passwd"
mount --bind "$1/etc" /etc
shift
exec "$@"
"""


@case(seconds=4)
def job_runs_nothing_that_others_can_change():
    with SmallRun(sites=("A",), ranks=1) as run, \
            tempfile.TemporaryDirectory(prefix="curtail-path-") as name:
        folder = Path(name)
        path = os.environ["PATH"]
        expect(check_access(run).stderr == "", "it prints something")
        prologue = folder / "prologue.sh"
        prologue.write_text("touch $PWD/SOURCED\n")
        mpirun = folder / "bin/mpirun"
        mpirun.parent.mkdir()
        mpirun.write_text("#!/bin/bash\ntouch $PWD/STARTED\n")
        mpirun.chmod(0o755)
        check_access(run, CURTAIL_PROLOGUE=str(prologue), PATH=f"{mpirun.parent}:{path}")
        train = (SOURCE / "slurm/site_train.sh", run.run_file, "A")

        def refused(remedy, **environment):
            done = check_access(run, code=77, **environment)
            expect(remedy in done.stderr, f"{remedy}: {done.stderr}")
            environment = {**os.environ, "CURTAIL_BUILD": str(BUILD), **environment}
            done = execute(*train, code=77, cwd=folder, environment=environment)
            expect(remedy in done.stderr, f"{remedy}: {done.stderr}")
            expect(not list(folder.glob("S*ED")), f"{remedy}: it ran something")

        prologue.chmod(0o646)
        refused(f"chmod go-w {prologue}", CURTAIL_PROLOGUE=str(prologue))
        prologue.chmod(0o644)
        conf = folder / "slurm.conf"
        conf.write_text("")
        conf.chmod(0o666)
        refused(f"chmod go-w {conf}", SLURM_CONF=str(conf))
        mpirun.chmod(0o757)
        refused(f"chmod go-w {mpirun}", PATH=f"{mpirun.parent}:{path}")
        mpirun.chmod(0o755)
        for mode in (0o777, 0o1777):
            empty = folder / f"empty{mode:o}"
            empty.mkdir()
            empty.chmod(mode)
            refused(f"remove {empty} from the PATH", PATH=f"{empty}:{path}")
            refused(f"remove {empty}/none from the PATH", PATH=f"{empty}/none:{path}")
            # Behind the command, it is never looked at.
            check_access(run, PATH=f"{path}:{empty}")
            # What is there need not be executable yet, and a link may lead nowhere yet.
            (empty / "mpirun").touch(0o644)
            refused(f"remove {empty} from the PATH", PATH=f"{empty}:{path}")
            link = folder / f"link{mode:o}"
            link.symlink_to(empty / "none")
            refused(f"remove {link} from the PATH", PATH=f"{link}:{path}")
            # A folder is no command: the search goes on behind it.
            named = folder / f"named{mode:o}"
            for command in ("mpirun", "scontrol", "timeout", "sed", "hostname"):
                (named / command).mkdir(parents=True)
            refused(f"remove {empty} from the PATH", PATH=f"{named}:{empty}:{path}")
        refused("remove the empty entry from the PATH", PATH=f":{path}")
        refused("remove bin from the PATH", PATH=f"bin:{path}")
        # A member of the group by its account alone.
        if os.getuid() != 0 or grp.getgrgid(0).gr_name != "root":
            return
        run.run_file.chmod(0o664)
        check_access(run)
        own_etc = ("unshare", "--mount", "--", "bash", "-c", OWN_ETC, "own", folder)
        done = execute(*own_etc, program("curtail-poll"), run.run_file, "--check-access", code=77)
        expect("group root can change it" in done.stderr, done.stderr)


@case(seconds=5)
def programs_load_nothing_from_the_current_folder():
    with tempfile.TemporaryDirectory(prefix="curtail-here-") as name:
        for file in sorted((BUILD / "bin").iterdir()):
            done = execute("env", "LD_DEBUG=libs", file, "--help", cwd=name, code=None)
            tried = re.findall(r"trying file=(.*)", done.stderr)
            expect(tried, f"{file} names no library: {done.stderr}")
            expect(all(path.startswith("/") for path in tried), f"{file}: {tried}")


@case(seconds=4)
def libraries_that_others_can_change_are_refused():
    with SmallRun(sites=("A",), ranks=1) as run, \
            tempfile.TemporaryDirectory(prefix="curtail-libraries-") as name:
        build = Path(name)
        (build / "bin").symlink_to(BUILD / "bin")
        (build / "lib/curtail").mkdir(parents=True)
        library = build / "lib/curtail/libtorch.so"
        library.touch()
        check = ("env", f"CURTAIL_BUILD={build}", program("curtail-poll"), run.run_file,
                 "--check-access")
        execute(*check)
        library.chmod(0o666)
        expect(f"chmod go-w {library}" in execute(*check, code=77).stderr, "a library")
        library.chmod(0o644)
        library.parent.chmod(0o777)
        expect(f"chmod -R go-w {library.parent}" in execute(*check, code=77).stderr or
               f"chmod go-w {library.parent}" in execute(*check, code=77).stderr, "their folder")


def let_new_files_be_open(folder):
    """Gives a folder a default access list: all rights for nobody, users, the group and others."""
    entries = ((1, 7, 2**32 - 1), (2, 7, STRANGER), (4, 7, 2**32 - 1), (16, 7, 2**32 - 1),
               (32, 7, 2**32 - 1))
    os.setxattr(folder, "system.posix_acl_default",
                struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries))


def use_every_program(run, mask):
    """Calls each program that creates files. Returns what it creates for other people."""
    folder = run.folder
    options = {"umask": mask, "environment": {
               **os.environ, "CURTAIL_CACHE": str(folder / "cache/new"),
               "CURTAIL_PLOTLY": str(SOURCE / ".deps/site/plotly/package_data/plotly.min.js")}}

    def call(name, *arguments):
        return execute(program(name), *arguments, **options)

    call("curtail-data", "tokenizer", CORPUS, "--vocabulary", 300, "--out", folder / "tokenizer")
    call("curtail-data", "prepare", CORPUS, "--run", run.run_file)
    source = ("--trace", run.folder / "trace.csv")
    call("curtail-poll", run.run_file, *source)
    wait_for(lambda: len(run.commits()) > 1, "a commit")
    call("curtail-poll", run.run_file, "--pause", "A", "--reason", "enough")
    wait_for(lambda: run.events("A", "trainer-exit"), "the trainer's exit")
    call("curtail-poll", run.run_file, *source)
    call("curtail-model", "evaluate", run.run_file, "--out", folder / "evaluation.json")
    call("curtail-store", "verify", run.run_file)
    call("curtail-store", "doctor", run.run_file)
    call("curtail-status", run.run_file, "--prometheus", folder / "run.prom")
    call("curtail-report", run.run_file, "--quiet", "--evidence", folder / "evidence")
    call("curtail-report", run.run_file, "--quiet", "--csv", folder / "csv", "--out",
         folder / "page.html")
    return [folder / "csv", *(folder / "csv").iterdir(), folder / "run.prom", folder / "page.html",
            folder / "page.json"]


@case(seconds=12)
def new_files_are_private_under_every_umask():
    for mask, has_access_list in ((0o000, False), (0o002, True)):
        with SmallRun(sites=("A",), ranks=1) as run:
            for made_by_the_test in (run.out, run.folder / "data"):
                shutil.rmtree(made_by_the_test)
            (run.folder / "trace.csv").write_text("point_time,A\n" + "".join(
                f"2026-01-11T{17 + m // 60:02}:{m % 60:02}:00Z,50\n" for m in range(300)))
            if has_access_list:
                with contextlib.suppress(OSError):  # a file system without access lists
                    let_new_files_be_open(run.folder)
            given = set(run.folder.rglob("*"))
            for_others = use_every_program(run, mask)
            seen_kinds = set()
            for path in set(run.folder.rglob("*")) - given:
                status = path.lstat()
                whole = 0o777 if path.is_dir() else 0o666
                wanted = whole & ~(mask if path in for_others else 0o077)
                expect(status.st_mode & 0o777 == wanted,
                       f"umask {mask:03o}: {path.relative_to(run.folder)} has the mode "
                       f"{status.st_mode & 0o777:03o}")
                expect(not any("posix_acl" in name for name in os.listxattr(path)), f"{path}")
                seen_kinds.add(path.suffix)
            expect({".h5", ".json", ".jsonl", ".log", ".prom", ".csv"} <= seen_kinds, seen_kinds)


if __name__ == "__main__":
    main()
