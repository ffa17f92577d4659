# SPDX-License-Identifier: Apache-2.0
"""A shared cluster: other users, wrapped commands, locks that hold nothing, and operators."""
import contextlib
import datetime
import grp
import json
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from harness import (BUILD, PACED, SHORT_FOLDER, SOURCE, SmallRun, case, execute, expect, kill, main,
                     program, read_json_lines, wait_for)
from rig import LIFETIME_S, Rig
from slurm_clusters import shared_cluster

STRANGER = 65534


def parse_time(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def poll(rig, *options, code=0, umask=-1, **environment):
    """One poll, as from cron."""
    done = subprocess.run([program("curtail-poll"), rig.run.run_file, *rig.source, *options],
                          capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL,
                          umask=umask, env={**os.environ, **environment})
    expect(code is None or done.returncode == code,
           f"exit code {done.returncode}, expected {code}\n{done.stderr}")
    return done


def as_stranger(*command, group=None, environment=None, timeout=20):
    """Runs a command as another user, in the group of the run's owner unless `group` is given."""
    group = os.getgid() if group is None else group
    return subprocess.run(["setpriv", f"--reuid={STRANGER}", f"--regid={group}", "--clear-groups",
                           *[str(part) for part in command]], capture_output=True, text=True,
                          timeout=timeout, env=environment, stdin=subprocess.DEVNULL)


@case(seconds=8)
def another_user_of_the_group_cannot_act_as_the_owner(cluster):
    if os.getuid() != 0:
        return  # only root can become another user
    # No poller renews the permission.
    with Rig(cluster, changes={"permission_lifetime_s": 60}) as rig:
        shutil.rmtree(rig.run.out)
        os.chmod(rig.run.folder, 0o755)
        poll(rig, umask=0o002)
        site = rig.site
        for folder in (rig.run.out, site, rig.run.store_folder, rig.run.out / "poller",
                       site / "job-logs"):
            expect(folder.stat().st_mode & 0o777 == 0o700, f"{folder} is open to others")
            for attack in (("ln", "-s", "/etc/passwd", folder / "job-1.log"),
                           ("cp", "/dev/null", folder / "permission.json")):
                expect(as_stranger(*attack).returncode != 0, f"{attack} succeeds")
        rig.wait_for_steps(1, "a step")
        # What another program, or an earlier version, made under that umask is refused.
        for folder in (rig.run.out, site, rig.run.store_folder):
            os.chown(folder, 0, STRANGER)
            os.chmod(folder, 0o775)
            refused = poll(rig, code=77)
            expect(f"chmod -R go-w {folder}" in refused.stderr, refused.stderr)
            os.chmod(folder, 0o700)
        # A reason that an owner's shell would expand, in the log of the job.
        permission = json.loads((site / "permission.json").read_text())
        permission.update(serial=permission["serial"] + 1, lifetime_s=0,
                          until=permission["issued"], why="x $(touch PWNED) `touch PWNED`")
        (site / "permission.json").write_text(json.dumps(permission))
        rig.wait_for_stop(60)
        log = "\n".join(path.read_text() for path in site.glob("job-logs/*.log"))
        told = [line for line in log.splitlines() if "PWNED" in line]
        expect(told, f"the log has no reason\n{log}")
        for line in told:
            subprocess.run(["bash", "-c", line], cwd=rig.run.folder, capture_output=True)
        expect(not list(rig.run.folder.glob("PWNED")), "the reason was expanded")


@contextlib.contextmanager
def wrapped(**scripts):
    """A PATH on which Slurm's commands are wrapped. `$real` is the command itself."""
    folder = Path(tempfile.mkdtemp(prefix="curtail-wrappers-"))
    try:
        for name, script in scripts.items():
            wrapper = folder / name
            wrapper.write_text(f"#!/bin/bash\nreal={shutil.which(name)}\n{script}\n")
            wrapper.chmod(0o755)
        yield {"PATH": f"{folder}:{os.environ['PATH']}"}
    finally:
        shutil.rmtree(folder)


@case(seconds=10)
def banner_of_a_wrapped_command_hides_no_job(cluster):
    banners = """echo Maintenance on Friday
$real "$@"
code=$?
echo 'no job | is harmed'
exit $code"""
    with Rig(cluster) as rig, wrapped(squeue=banners, sacct=banners, sbatch=banners,
                                      scontrol=banners) as environment:
        rig.start_poller(environment)
        rig.wait_for_steps(5, "steps")
        polls = rig.samples()
        wait_for(lambda: rig.samples() >= polls + 4, "four more polls")
        expect(len(rig.jobs()) == 1, f"jobs {rig.jobs()}")
        expect(not rig.run.poller_events("job-ended"), "a job is called ended")
    with Rig(cluster) as rig, wrapped(squeue="$real \"$@\" | sed 's/|RUNNING|/|/'") as environment:
        # A record that cannot be read is an error, not a job of others.
        rig.start_poller(environment)
        wait_for(lambda: "this is not a job" in (rig.run.folder / "poller.log").read_text(),
                 "the error")
        expect(len(rig.jobs()) == 1, f"jobs {rig.jobs()}")


@case(seconds=12)
def two_pollers_act_one_at_a_time_where_flock_pretends(cluster):
    slow = 'sleep 0.3; exec $real "$@"'
    with Rig(cluster) as rig, wrapped(squeue=slow, sbatch=slow) as pretend:
        pretend["LD_PRELOAD"] = f"{BUILD}/tests/libno_flock.so"
        first = None
        for _ in range(4):
            pair = [subprocess.Popen([program("curtail-poll"), rig.run.run_file, *rig.source],
                                     stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                     env={**os.environ, **pretend}) for _ in range(2)]
            ends = [(process.communicate(timeout=60)[1], process.returncode) for process in pair]
            first = first or "".join(errors for errors, _ in ends)
            # Both may refuse if each found the file of the other; never both act.
            expect(all(code in (0, 75) for _, code in ends), f"{ends}")
        expect("hold nothing" in first, f"no warning\n{first}")
        poll(rig, **pretend)
        expect(len(rig.jobs()) == 1, f"jobs {rig.jobs()}")
        numbers = [e["number"] for e in read_json_lines(rig.run.out / "poller/sites/A/events.jsonl")]
        expect(len(numbers) == len(set(numbers)), f"numbers {numbers}")
        entries = [e["number"] for e in read_json_lines(rig.run.out / "poller/journal.jsonl")]
        expect(len(entries) == len(set(entries)), f"entries {entries}")
        expect(not rig.run.poller_events("hold"), "a cancel is taken for a person's")
        # A killed poller of this boot does not delay the next one.
        rig.start_poller(pretend)
        wait_for(lambda: (rig.run.out / "poller/holder.json").exists(), "the lock")
        rig.kill_poller()
        poll(rig, **pretend)


def bill(rig):
    """The document of the report."""
    done = execute(program("curtail-report"), rig.run.run_file, *rig.source, "--json", "--quiet",
                   "--out", rig.run.folder / "page.html")
    return json.loads(done.stdout)


@case(seconds=14)
def suspended_time_is_no_training_and_no_reason_to_leave(cluster):
    with Rig(cluster) as rig:
        rig.start_poller()
        rig.wait_for_steps(8, "steps")
        job = rig.jobs()[0]
        cluster.run("scontrol", "suspend", job)
        wait_for(lambda: rig.run.poller_events("job-state"), "the event")
        polls = rig.samples()
        # Longer than its permission, which the poller renews meanwhile.
        wait_for(lambda: rig.samples() >= polls + 6, "six polls")
        cluster.run("scontrol", "resume", job)
        rig.wait_for_steps(8, "steps after the pause")
        expect(not rig.exits(), f"it left: {rig.run.events('A', 'stop-requested')}")
        expect([e["state"] for e in rig.run.poller_events("job-state")][:2] ==
               ["SUSPENDED", "RUNNING"], f"{rig.run.poller_events('job-state')}")
        frozen = rig.run.events("A", "frozen")
        expect(len(frozen) == 1, f"{frozen}")
        document = bill(rig)
        hours = document["hours"]["A"]
        expect(hours.get("suspended", 0) * 3600 > 5, f"{hours}")
        longest = max(step["step_s"] for step in rig.run.metrics("A"))
        expect(hours["training"] * 3600 < sum(s["step_s"] for s in rig.run.metrics("A"))
               - 0.8 * longest, f"{hours}, longest step {longest} s")
        rate = document["comparison"][1]["rate"]["tokens_per_s"]
        usual = sorted(s["tokens"] / s["step_s"] for s in rig.run.metrics("A"))
        expect(0.8 * usual[len(usual) // 2] <= rate <= usual[-1],
               f"{rate} tokens/s, steps have {usual}")
        expect(document["headline"]["energy_bound"] == "exact", f"{document['notes']}")


def kill_processes_of(cluster, job):
    """As a loss of power: kills all processes of a job of this cluster, the ranks first."""
    wanted = {f"SLURM_JOB_ID={job}".encode(),
              f"SLURM_CONF={cluster.environment['SLURM_CONF']}".encode()}
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if wanted <= set(path.read_bytes().split(b"\0")):
                found.append(int(path.parent.name))
        except OSError:
            pass  # it has ended, or is another user's
    expect(found, f"job {job} has no processes")
    for pid in sorted(found, reverse=True):
        kill(pid)


@case(seconds=20)
def end_that_nobody_reported_is_a_bound(cluster):
    with Rig(cluster) as rig:
        rig.hide_completion_log()
        rig.start_poller()
        rig.wait_for_steps(4, "steps")
        job = rig.jobs()[0]
        rig.kill_poller()
        until = json.loads((rig.site / "permission.json").read_text())["until"]
        killed = time.time()
        kill_processes_of(cluster, job)
        cluster.wait_for_state(job, "")
        # The poller comes back long after the permission has ended.
        wait_for(lambda: time.time() > killed + 2 * LIFETIME_S + 12, "the poller's absence",
                 timeout=60)
        (rig.run.folder / "trace.csv").touch()
        rig.start_poller()
        wait_for(lambda: rig.run.poller_events("job-ended"), "the end")
        end = rig.run.poller_events("job-ended")[0]
        limit = parse_time(until) + 10.1  # grace_s
        expect("ended" not in end and parse_time(end["latest_end"]) <= limit, f"{end}, {until}")
        document = bill(rig)
        notes = [text for title, text in document["notes"] if title == "Unknown end of a job"]
        expect(notes and f"job {job}" in notes[0], f"{document['notes']}")
        expect(document["headline"]["energy_bound"] == "at most" and
               not document["headline"]["energy_is_whole"], f"{document['headline']}")


@case(seconds=30, fifths=3)
def demo_of_a_clone_under_umask_002_runs_for_an_ordinary_user():
    if os.getuid() != 0:
        return  # only root can become a user without a group of its own
    with tempfile.TemporaryDirectory(prefix="curtail-clone-", dir=SHORT_FOLDER) as name:
        folder = Path(name)
        folder.chmod(0o755)
        clone = folder / "c"
        steps = f"""umask 002
git -c safe.directory='*' clone -q {SOURCE} {clone}
mkdir -p {clone}/build/release
cp -r {BUILD}/bin {clone}/build/release/
cp -r {SOURCE}/.deps/site/plotly {folder}/plotly
mkdir -p {clone}/.deps/site
mv {folder}/plotly {clone}/.deps/site/
head -25 {SOURCE}/signals/mci_2026-01-11.csv > {folder}/trace.csv
chown -R {STRANGER}:{STRANGER} {folder}"""
        execute("bash", "-ec", steps)
        # What the test tries may not be committed yet.
        for changed in ("scripts/demo.sh", "scripts/demo/options.sh"):
            shutil.copy(SOURCE / changed, clone / changed)
        demo = f"""umask 002
cd {clone}
exec scripts/demo.sh --speed 600 --trace {folder}/trace.csv --text tests/golden/corpus"""
        environment = {n: v for n, v in os.environ.items() if n != "CURTAIL_ALLOW_ROOT"}
        environment.update(HOME=str(folder), TMPDIR=str(folder),
                           CURTAIL_BUILD=str(clone / "build/release"))
        done = as_stranger("bash", "-c", demo, group=STRANGER, environment=environment,
                           timeout=150)
        expect(done.returncode == 0, f"exit code {done.returncode}\n{done.stderr[-3000:]}")
        expect("chmod -R go-w" in done.stderr, "it does not say what it has changed")
        for path in (clone / "results/demo").rglob("*"):
            expect(path.lstat().st_mode & 0o022 == 0 or path.is_symlink(),
                   f"others can change {path}")


@case(seconds=8)
def members_of_a_group_run_a_run_together():
    if os.getuid() != 0:
        return  # only root can become another member
    with SmallRun(sites=("A",), ranks=1, training=PACED) as run:
        os.chmod(run.folder, 0o755)
        run.config["shared_with_group"] = grp.getgrgid(STRANGER).gr_name
        run.save()
        shutil.rmtree(run.out)
        (run.folder / "trace.csv").write_text("point_time,A\n" + "".join(
            f"2026-01-11T{17 + m // 60:02}:{m % 60:02}:00Z,50\n" for m in range(300)))
        poll = [program("curtail-poll"), run.run_file]
        source = ["--trace", run.folder / "trace.csv"]
        # Slurm follows links when it opens the log of a job, so members must not replace a folder
        # above it.
        homes = {user: run.folder / user for user in ("first", "other")}
        first = {**os.environ, "HOME": str(homes["first"])}
        homes["first"].mkdir(mode=0o700)
        homes["other"].mkdir(mode=0o700)
        os.chown(homes["other"], STRANGER, STRANGER)
        homes["first"].chmod(0o770)
        os.chown(homes["first"], 0, STRANGER)
        refused = execute(*poll, *source, environment=first, code=77).stderr
        expect(f"replace what is in {homes['first']}" in refused and "XDG_STATE_HOME" in refused,
               refused)
        homes["first"].chmod(0o700)
        execute(*poll, *source, environment=first)
        wait_for(lambda: len(run.metrics("A")) > 3, "steps")
        for path in run.out.rglob("*"):
            status = path.lstat()
            expect(status.st_gid == STRANGER and status.st_mode & 0o007 == 0, f"{path}")
            expect(status.st_mode & 0o060 == 0o060, f"{path} is closed to the group")
        logs = homes["first"] / ".local/state/curtail/job-logs" / run.out.relative_to("/") / "A"
        expect([path.suffix for path in logs.iterdir()] == [".log"], "the job has no log")
        for path in [logs, *logs.parents]:
            if path.is_relative_to(homes["first"]):
                expect(path.stat().st_mode & 0o7777 == 0o700, f"{path} is open")
        member = {"group": STRANGER, "timeout": 60,
                  "environment": {**os.environ, "XDG_STATE_HOME": str(homes["other"] / "state")}}
        paused = as_stranger(*poll, "--pause", "A", "--reason", "cooling", **member)
        expect(paused.returncode == 0, paused.stderr)
        wait_for(lambda: run.events("A", "trainer-exit"), "the trainer's exit")
        hold = run.poller_events("hold")[-1]
        expect(hold["by"].startswith("nobody@"), f"{hold}")
        polled = as_stranger(*poll, *source, **member)
        expect(polled.returncode == 0, polled.stderr)
        logs = homes["other"] / "state/curtail/job-logs" / run.out.relative_to("/") / "A"
        expect(logs.is_dir(), "the other member's jobs have no folder for logs")
        # Where a member's link leads, another member may have rights that the first one lacks.
        private = run.folder / "private"
        for name in ("sites/A", "poller/sites", "poller/sites/A", "sites/A/kept"):
            private.mkdir(mode=0o700)
            place = run.out / name
            if place.exists():
                place.rename(run.out / "aside")
            place.symlink_to(private)
            os.lchown(place, STRANGER, STRANGER)
            for command in ([*poll, *source], [*poll, "--pause", "A", "--reason", "hot"]):
                refused = execute(*command, code=77, environment=first).stderr
                expect(f"{name}: it is a symbolic link of user nobody" in refused, refused)
            expect(private.stat().st_mode & 0o7777 == 0o700 and private.stat().st_gid == 0,
                   f"{name}: the folder was opened")
            private.rmdir()  # it is empty
            place.unlink()
            if (run.out / "aside").exists():
                (run.out / "aside").rename(place)
        # What runs as the owner stays out of the group's reach.
        os.chown(run.run_file, 0, STRANGER)
        run.run_file.chmod(0o664)
        expect("chmod go-w" in execute(*poll, *source, environment=first, code=77).stderr,
               "it trusts the group")
        # Another member does not trust a stranger's file.
        run.run_file.chmod(0o644)
        os.chown(run.run_file, 1, 1)
        refused = as_stranger(*poll, *source, **member)
        expect(refused.returncode == 77 and "belongs to user" in refused.stderr, refused.stderr)


HELD = """
set -eu
cp -a /etc "$1/etc"
mkdir -p "$1/etc/curtail/holds.d"
mount --bind "$1/etc" /etc
shift
exec "$@"
"""


def in_own_etc(folder, *command):
    """The command in a mount namespace, where /etc is a copy in `folder` with holds.d."""
    return ["unshare", "--mount", "--", "bash", "-c", HELD, "held", str(folder), *map(str, command)]


@case(seconds=14)
def operators_hold_stops_every_job_until_they_remove_it():
    if os.getuid() != 0:
        return  # it needs a mount namespace
    with SmallRun(sites=("A",), ranks=1, training=PACED) as run:
        run.change_site("A", poll_period_s=1, permission_lifetime_s=30)
        (run.folder / "trace.csv").write_text("point_time,A\n" + "".join(
            f"2026-01-11T{17 + m // 60:02}:{m % 60:02}:00Z,50\n" for m in range(300)))
        holds = run.folder / "etc/curtail/holds.d"
        source = ["--trace", run.folder / "trace.csv", "--watch", "--look-every", "1"]
        poller = run.start(*in_own_etc(run.folder, program("curtail-poll"), run.run_file, *source))
        wait_for(lambda: len(run.metrics("A")) > 3, "steps", timeout=60)
        (holds / "cooling").write_text(json.dumps({"reason": "no cooling", "sites": ["A"]}))
        wait_for(lambda: run.events("A", "trainer-exit"), "the trainer's exit")
        wait_for(lambda: run.poller_events("hold"), "the event")
        hold = run.poller_events("hold")[-1]
        expect((hold["cause"], hold["by"]) == ("operator", "/etc/curtail/holds.d/cooling"), hold)
        jobs = len(run.poller_events("job-submitted"))
        # Neither the user's decision nor a job by hand changes that.
        again = ["nsenter", f"--mount=/proc/{poller.pid}/ns/mnt", "--"]
        done = execute(*again, program("curtail-poll"), run.run_file, "--resume")
        expect("an operator holds this site" in done.stderr, done.stderr)
        for train in ((program("curtail-train"), run.run_file, "--site", "A", "--permission",
                       "never"),
                      (SOURCE / "slurm/site_train.sh", "--without-poller", run.run_file, "A")):
            refused = execute(*again, *train, code=75)
            expect("no cooling" in refused.stderr, refused.stderr)
        expect(len(run.poller_events("job-submitted")) == jobs, "a job was submitted")
        steps = len(run.metrics("A"))
        (holds / "cooling").unlink()
        wait_for(lambda: len(run.metrics("A")) > steps, "steps after the hold", timeout=60)
        expect(run.poller_events("release")[-1]["cause"] == "operator", "no event of the release")
        # A link that leads nowhere holds, in the folder, as the folder and on the way to it.
        line = [*again, program("curtail-poll"), run.run_file, "--job-line", "A",
                "--without-poller"]
        execute(*line)
        for link in (holds / "cooling", holds, holds.parent):
            if link.exists():
                link.rename(link.with_name("aside"))
            link.symlink_to("/nowhere/holds")
            refused = execute(*line, code=75)
            expect("an operator holds this site" in refused.stderr, refused.stderr)
            link.unlink()
            if (link.with_name("aside")).exists():
                link.with_name("aside").rename(link)
        execute(*line)


if __name__ == "__main__":
    main(cluster=shared_cluster)
