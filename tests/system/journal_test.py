# SPDX-License-Identifier: Apache-2.0
"""Two owners share nothing but a store. Each polls and trains its own site. Afterwards, reports,
status, evaluation, samples and verification need the store alone."""
import fcntl
import json
import shutil
import signal
import socket
import time
from pathlib import Path

from harness import (PACED, SmallRun, case, descendants, execute, expect, kill, main, program,
                     read_json_lines, wait_for)

SPEED = 300  # trace seconds per real second: a sample each second
CLEAN, DIRTY = 20.0, 400.0
# The clean sites in each sample of 300 s.
DAY = ["", "A", "AB", "AB", "AB", "AB", "AB", "B", "B", "", "", "", "AB", "AB", "AB", "", "", ""]


def write_trace(path):
    lines = ["point_time,A,B"]
    for i, clean in enumerate(DAY):
        cells = ",".join(str(CLEAN if site in clean else DIRTY) for site in "AB")
        lines.append(f"2026-01-11T{i * 5 // 60:02}:{i * 5 % 60:02}:00+00:00,{cells}")
    path.write_text("\n".join(lines) + "\n")


class Owners:
    """A run of two owners, `A` and `B`. The site of each has the same name."""

    def __init__(self):
        self.run = SmallRun(ranks=1, training=PACED)
        self.store = self.run.folder / "store"
        self.run.store = self.store / "runs/small"
        write_trace(self.run.folder / "trace.csv")
        (self.run.folder / "plotly.js").write_text("// no charts")

    def run_file(self, owner, store=None):
        """The owner's run file; its folder is `out-OWNER`."""
        name = f"run-{owner}.json"
        self.run.write(name, {**self.run.config, "folder": f"out-{owner}",
                              "store": f"file:{store or self.store}"})
        return self.run.folder / name

    def out(self, owner):
        return self.run.folder / f"out-{owner}"

    def start_poller(self, owner):
        return self.run.start(program("curtail-poll"), self.run_file(owner), "--site", owner,
                              "--watch", "--trace", self.run.folder / "trace.csv",
                              "--speed", SPEED)

    def share_clock(self, owner, other):
        """A replay by two owners needs one clock. The other owner's poller has not begun yet."""
        wait_for((self.out(owner) / "clock.json").exists, "the clock of the replay")
        self.out(other).mkdir()
        shutil.copy(self.out(owner) / "clock.json", self.out(other))

    def replay(self):
        pollers = [self.start_poller("A")]
        self.share_clock("A", "B")
        pollers.append(self.start_poller("B"))
        expect([poller.wait(120) for poller in pollers] == [0, 0], self.run.log()[-3000:])

    def report(self, owner, *options):
        done = execute(program("curtail-report"), self.run_file(owner), "--json", "--plotly",
                       self.run.folder / "plotly.js", *options)
        return json.loads(done.stdout)

    def local_report(self, *options):
        """The report on a machine that has the files of both owners."""
        for owner in "AB":
            shutil.copytree(self.out(owner), self.out("both"), dirs_exist_ok=True,
                            ignore=shutil.ignore_patterns("cache", "state.json", "*.published"))
        return self.report("both", *options)

    def __enter__(self):
        return self

    def __exit__(self, *details):
        for owner in "AB":
            self.run.out = self.out(owner)
            self.run.end_jobs()
        self.run.__exit__(*details)


def figures(report):
    """What two reports of the same run must have in common."""
    audit = [line for line in report["audit"]["lines"] if line["key"] not in ("logs", "digest")]
    facts = [[group["title"], [row for row in group["rows"] if not row[0].startswith("run-")]]
             for group in report["facts"]]
    return {**report, "report": None, "facts": facts,
            "audit": {**report["audit"], "lines": audit, "run_digest": None}}


def expect_same_energy_without_journal(owners, expected):
    """The local files alone give the same energy. The report says that the journal is missing."""
    shutil.copytree(owners.store, owners.run.folder / "bare",
                    ignore=shutil.ignore_patterns("journal"))
    shutil.rmtree(owners.out("both") / "cache", ignore_errors=True)
    file = owners.run_file("both", owners.run.folder / "bare")
    done = execute(program("curtail-report"), file, "--json", "--plotly",
                   owners.run.folder / "plotly.js")
    report = json.loads(done.stdout)
    expect(report["energy"]["kwh"] == expected["energy"]["kwh"], f"{report['energy']['kwh']}")
    expect(report["states"] == expected["states"], f"{report['states']}")
    expect(report["windows"] and report["headline"]["energy_bound"] == "uncertain",
           f"{report['headline']}")
    expect(any("it is missing" in text for title, text in report["notes"]), f"{report['notes']}")


def expect_same(one, other, whose):
    one, other = figures(one), figures(other)
    for key in sorted({*one, *other}):
        expect(one.get(key) == other.get(key),
               f"{whose}: {key} differs\n{json.dumps(one.get(key))[:2000]}\n"
               f"{json.dumps(other.get(key))[:2000]}")


def logs_line(report):
    return next(line["text"] for line in report["audit"]["lines"] if line["key"] == "logs")


@case(seconds=19)
def any_owner_makes_the_bill():
    with Owners() as owners:
        owners.replay()
        for site in "AB":
            owners.run.check_journal(site, out=owners.out(site))
        expected = owners.local_report()
        totals = expected["totals"]["sites"]
        expect(all(totals[site]["kwh"] > 0 and totals[site]["g"] > 0 for site in "AB"), totals)
        expect(expected["commits"]["joint"] > 0, f"{expected['commits']}")
        expect_same_energy_without_journal(owners, expected)
        for owner in ("A", "B", "nobody"):
            report = owners.report(owner)
            expect_same(report, expected, owner)
            remote = [site for site in "AB" if site != owner]
            expect(all(f"{site}: published until" in logs_line(report) for site in remote)
                   and len(remote) == logs_line(report).count("published"), logs_line(report))
        expect_same(owners.report("nobody", "--trace", owners.run.folder / "trace.csv"),
                    owners.report("A", "--trace", owners.run.folder / "trace.csv"), "replay")


@case(seconds=21)
def every_program_reads_the_store_alone():
    with Owners() as owners:
        owners.replay()
        mine = json.loads(execute(program("curtail-status"), owners.run_file("A"), "--json").stdout)
        for owner in "AB":
            shutil.rmtree(owners.out(owner))
        file = owners.run_file("nobody")
        verified = execute(program("curtail-status"), file, "--verify").stdout
        digest = owners.report("nobody")["audit"]["run_digest"]
        expect(digest in verified, f"{digest}: {verified}")
        expect("journal   8 streams of 2 sites" in verified, verified)
        status = json.loads(execute(program("curtail-status"), file, "--json").stdout)
        expect(status["energy"] == mine["energy"], f"{status['energy']} != {mine['energy']}")
        expect(status["chain"]["progress"]["tokens_per_s"] > 0, f"{status['chain']['progress']}")
        for site in status["sites"]:
            expect(site["window"] == "closed" and site["jobs"] == [], f"{site}")
            expect(site["trainer"] == "ended" and site["published_until"], f"{site}")
        text = " ".join(execute(program("curtail-status"), file).stdout.split())
        expect(text.count("logs published up to") == 2, text)
        model = program("curtail-model")
        loss = json.loads(execute(model, "evaluate", file, "--quiet", "--json").stdout)
        expect(loss["held_out_loss_nats"] > 0, f"{loss}")
        execute(model, "sample", file, "--prompt", "The ", "--tokens", 5)
        report = owners.report("nobody")
        expect(report["totals"]["all"]["kwh"] > 0, f"{report['totals']}")
        damage(next(iter(sorted((owners.run.store / "journal/A/metrics").iterdir()))))
        done = execute(program("curtail-status"), file, "--verify", code=76)
        expect("journal/A/metrics/00000001.jsonl is damaged" in done.stderr, done.stderr)
        shutil.rmtree(owners.out("nobody") / "cache")
        report = owners.report("nobody")
        expect("damaged: piece 1 of journal/A/metrics" in logs_line(report), logs_line(report))


def kill_job(job):
    """Kills mpirun and its ranks."""
    for pid in [*descendants(job.pid), job.pid]:
        kill(pid)
    job.wait()


def damage(path):
    bytes_of_it = bytearray(path.read_bytes())
    bytes_of_it[-2] ^= 1
    path.chmod(0o644)
    path.write_bytes(bytes_of_it)


@case(seconds=9)
def missing_end_is_named():
    """The trainer of B is killed, and nothing publishes what it left. A trains on."""
    with SmallRun(ranks=1, training=PACED, rounds={"drop_after_s": 2}) as run:
        jobs = {site: run.start_training(site) for site in "AB"}
        wait_for(lambda: run.pieces("B", "trainer"), "the first piece of B")
        wait_for(lambda: len(run.metrics("B")) > 5, "steps of B")
        kill_job(jobs["B"])
        steps = len(run.metrics("A"))
        wait_for(lambda: len(run.metrics("A")) > steps + 50, "more steps of A")
        jobs["A"].send_signal(signal.SIGUSR1)
        jobs["A"].wait(30)
        shutil.move(run.out / "sites/B", run.folder / "elsewhere")
        (run.folder / "plotly.js").write_text("// no charts")
        done = execute(program("curtail-report"), run.run_file, "--json", "--plotly",
                       run.folder / "plotly.js")
        report = json.loads(done.stdout)
        expect("B: not yet published after" in logs_line(report), logs_line(report))
        expect(any(title == "Not yet published" for title, _ in report["notes"]),
               f"{report['notes']}")
        expect(not report["totals"]["sites"]["B"]["energy_is_whole"], f"{report['totals']}")
        expect(report["totals"]["sites"]["A"]["energy_is_whole"], f"{report['totals']}")


@case(seconds=4)
def next_process_publishes_what_a_killed_one_left():
    with SmallRun(sites=("A",), ranks=1, training=PACED) as run:
        job = run.start_training("A")
        wait_for(lambda: run.pieces("A", "trainer"), "the first piece")
        wait_for(lambda: len(run.metrics("A")) > 5, "steps")
        lock = run.out / "sites/A/publish.lock"
        expect(held_lock(lock), "the trainer publishes nothing")
        kill_job(job)
        wait_for(lambda: not held_lock(lock), "the end of the killed rank")
        left = len(run.metrics("A"))
        trace = run.folder / "trace.csv"
        trace.write_text("point_time,A\n2026-01-11T00:00:00Z,400\n2026-01-12T00:00:00Z,400\n")
        execute(program("curtail-poll"), run.run_file, "--trace", trace)
        run.check_journal("A")
        expect(len(published_steps(run)) >= left > 0, "the poller published nothing")
        job = run.start_training("A", "--permission", "never")
        wait_for(lambda: len(run.metrics("A")) > left + 5, "steps")
        job.send_signal(signal.SIGUSR1)
        expect(job.wait(30) == 0, run.log()[-2000:])
        run.check_journal("A")


@case(seconds=10)
def store_that_does_not_answer_delays_no_poll():
    """A server that accepts connections and never answers."""
    with SmallRun(sites=("A",)) as run, socket.create_server(("127.0.0.1", 0)) as server:
        run.config["store"] = "s3://bucket/x"
        credentials = run.folder / "credentials"
        credentials.touch(mode=0o600)
        credentials.write_text("[default]\naws_access_key_id = a\naws_secret_access_key = b\n")
        run.config["s3"] = {"endpoint": f"http://127.0.0.1:{server.getsockname()[1]}",
                            "credentials": str(credentials)}
        run.save()
        trace = run.folder / "trace.csv"
        trace.write_text("point_time,A\n2026-01-11T00:00:00Z,400\n2026-01-12T00:00:00Z,400\n")
        poll = (program("curtail-poll"), run.run_file, "--trace", trace)
        began = time.monotonic()
        first = run.start(*poll)
        wait_for((run.out / "poller/sites/A/signals.jsonl").exists, "the first poll")
        wait_for(lambda: held_lock(run.out / "poller/sites/A/publish.lock"), "the publisher")
        for _ in range(2):
            execute(*poll, timeout=20)  # would exit with 75 if the first held the poller's lock
        expect(first.wait(30) == 0, run.log()[-2000:])
        expect(time.monotonic() - began < 25, "the polls took too long")
        log = run.log()
        expect(log.count("(trying again)") <= 2, log)


def held_lock(path):
    if not path.exists():
        return False
    with open(path) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def published_steps(run):
    steps = run.folder / "published.jsonl"
    steps.write_bytes(b"".join(piece.partition(b"\n")[2] for piece in run.pieces("A", "metrics")))
    return read_json_lines(Path(steps))


if __name__ == "__main__":
    main()
