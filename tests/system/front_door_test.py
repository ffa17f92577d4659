# SPDX-License-Identifier: Apache-2.0
"""Uses make and scripts/demo.sh as a person does: real scripts, stub programs, a real terminal, and
a checkout whose path contains a space."""
import fcntl
import os
import signal

from harness import case, expect, kill, main, wait_for
from stub_checkout import Checkout, exit_code

PROGRAMS = ("curtail-data", "curtail-poll", "curtail-status", "curtail-report", "curtail-model")
CLUSTERS = "slurm/private_clusters.sh"


def demo_checkout():
    checkout = Checkout(PROGRAMS)
    checkout.stub(checkout.root / CLUSTERS)
    (checkout.root / "results/demo/text").mkdir(parents=True)
    return checkout


def starts(checkout):
    """The programs started, in order, each with its first argument."""
    lines = [line.split() for line in checkout.log() if not line.endswith(" ends")]
    return [" ".join(words[:2]) for words in lines if not words[1].startswith("SIG")]


@case()
def demo_runs_its_steps_in_order():
    with demo_checkout() as checkout:
        checkout.run("scripts/demo.sh")
        run = "curtail-{} inputs/runs/demo.json"
        expected = [
            run.format("status"), "curtail-data prepare", "private_clusters.sh up",
            run.format("poll"), "private_clusters.sh down", "curtail-model evaluate",
            run.format("status"), run.format("report"), "curtail-model sample",
        ]
        expect(starts(checkout) == expected, checkout.log())
        inherits = any("descriptor 9" in line for line in checkout.log())
        expect(not inherits, "a step inherited the demo's lock")


def with_a_last_run(checkout, clock="clock.json"):
    """Writes a finished run and the run before it; returns a function that lists their files."""
    out = checkout.root / "results/demo"
    for path in (out / "data/shard", out / clock, out / "poller/state.json", out / "store/commit",
                 out.parent / "demo.previous/older"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(path.name)

    def files():
        paths = [path for path in out.parent.rglob("*") if path.is_file()]
        return sorted(str(p.relative_to(out.parent)) for p in paths if p.name != ".demo.lock")

    return files


AFTER_ANOTHER = ["demo.previous/clock.json", "demo.previous/poller/state.json",
                 "demo.previous/store/commit", "demo/clock.json", "demo/data/shard"]


@case()
def last_run_is_kept_next_to_the_new_one():
    with demo_checkout() as checkout:
        files = with_a_last_run(checkout)
        checkout.run("scripts/demo.sh")
        expect(files() == AFTER_ANOTHER, files())
        clock = (checkout.root / "results/demo/clock.json").read_text()
        expect(clock == "new", "the clock is the last run's")
        expect((checkout.root / "results/demo/text").is_dir(), "the text is missing")
        checkout.fail("curtail-report", 70)
        output = checkout.run("scripts/demo.sh", code=70)
        expect("is kept in" in output and "demo.last" not in output, output)


@case()
def demo_that_cannot_start_loses_nothing():
    for name, code in (("private_clusters.sh", 75), ("curtail-data", 65), ("curtail-poll", 65)):
        with demo_checkout() as checkout:
            files = with_a_last_run(checkout)
            before = files()
            checkout.fail(name, code)
            checkout.run("scripts/demo.sh", code=code)
            expect(files() == before, f"{name}: {files()}")
    with demo_checkout() as checkout:
        files = with_a_last_run(checkout)
        before = files()
        output = checkout.run("scripts/demo.sh", "--trace", "none.csv", code=66)
        expect("no trace" in output and files() == before, files())


@case()
def killed_demo_loses_nothing():
    for started in (True, False):
        with demo_checkout() as checkout:
            files = with_a_last_run(checkout)
            before = files()
            if not started:
                checkout.fail("curtail-poll", 65)
            checkout.hold("curtail-poll")
            demo = checkout.start("scripts/demo.sh")
            checkout.wait_for_line("curtail-poll inputs")
            if started:
                wait_for((checkout.root / "results/demo/clock.json").exists, "the new clock")
            kill(demo.pid)
            demo.wait(15)
            checkout.release("curtail-poll")
            wait_for(lambda: "curtail-poll ends" in checkout.log(), "the end of the poller")
            checkout.fail("curtail-data", 65)
            checkout.run("scripts/demo.sh", code=65)
            expected = AFTER_ANOTHER if started else before
            expect(files() == expected, f"started {started}: {files()}")


@case()
def data_and_text_stay_wherever_they_are_in_the_folder():
    with demo_checkout() as checkout:
        with_a_last_run(checkout)
        out = checkout.root / "results/demo"
        shards = out / "my [data]/shards"
        for path in (shards / "train", out / "words.txt", out / "words"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("x")
        (checkout.root / "data-folder").write_text(str(shards))
        checkout.run("scripts/demo.sh", "--text", "inputs/../results/demo/words.txt")
        expect((shards / "train").exists(), "the data is missing")
        expect((out / "words.txt").exists() and (out / "text").is_dir(), "a text is missing")
        expect(not (out / "words").exists(), "the last run was not set aside")
        expect((out.parent / "demo.previous/words").exists(), "the last run was not kept")


@case()
def last_run_that_cannot_be_moved_stays():
    refuses = "#!/bin/sh\ncase $* in *%s*) exit 1 ;; esac\nexec /bin/mv \"$@\"\n"
    for entry in ("demo/clock.json", "demo/store"):
        with demo_checkout() as checkout:
            files = with_a_last_run(checkout)
            before = files()
            checkout.command("mv", refuses % entry)
            checkout.run("scripts/demo.sh", code=1)
            aside = checkout.root / "results/demo.last"
            expect(files() == before and not aside.exists(), f"{entry}: {files()}")
    with demo_checkout() as checkout:
        files = with_a_last_run(checkout)
        checkout.command("mv", refuses % "-T")
        output = checkout.run("scripts/demo.sh")
        expect("is kept" not in output and "the last run is in" in output, output)
        (checkout.path / "mv").unlink()
        checkout.fail("curtail-data", 65)
        checkout.run("scripts/demo.sh", code=65)
        expect(files() == AFTER_ANOTHER, files())


@case()
def demo_killed_before_the_first_move_loses_nothing():
    with demo_checkout() as checkout:
        files = with_a_last_run(checkout)
        before = files()
        (checkout.root / "results/demo.last").mkdir()
        checkout.fail("curtail-data", 65)
        output = checkout.run("scripts/demo.sh", code=65)
        expect(files() == before and "is kept" not in output, f"{files()}: {output}")


@case()
def run_in_use_is_not_changed():
    with demo_checkout() as checkout:
        files = with_a_last_run(checkout)
        with open(checkout.root / "results/demo/poller/lock", "w") as lock:
            lock.write("77 on here\n")
            lock.flush()
            fcntl.flock(lock, fcntl.LOCK_EX)
            before = files()
            output = checkout.run("scripts/demo.sh", code=75)
            expect("process 77 on here" in output, f"the poller is not named: {output}")
            prepared = any("prepare" in line for line in checkout.log())
            expect(files() == before and not prepared, checkout.log())
    with demo_checkout() as checkout:
        files = with_a_last_run(checkout, clock="complete.json")
        before = files()
        output = checkout.run("scripts/demo.sh", code=78)
        expect("real time" in output, f"the reason is missing: {output}")
        prepared = any("prepare" in line for line in checkout.log())
        expect(files() == before and not prepared, checkout.log())


@case()
def demo_ignores_options_in_the_environment():
    with demo_checkout() as checkout:
        checkout.run("scripts/demo.sh", CURTAIL_JSON="1")
        inherits = any("CURTAIL_JSON" in line for line in checkout.log())
        expect("curtail-poll ends" in checkout.log() and not inherits, checkout.log())


@case()
def paths_are_relative_to_the_caller():
    with demo_checkout() as checkout:
        caller = checkout.folder / "elsewhere"
        caller.mkdir()
        (caller / "my text").write_text("words")
        (caller / "day.csv").touch()
        checkout.run(checkout.root / "scripts/demo.sh", "--text", "my text", "--trace", "day.csv",
                     "--run", "mine.json", "--speed", "3000", cwd=caller)
        run = f"{caller}/mine.json"
        prepare = f"curtail-data prepare {caller}/my text --run {run} --held-out 0.05 --replace"
        poll = f"curtail-poll {run} --watch --trace {caller}/day.csv --speed 3000"
        expect(prepare in checkout.log(), checkout.log())
        expect(poll in checkout.log(), checkout.log())


DRAINED = ["curtail-poll SIGTERM", "curtail-poll ends", "private_clusters.sh down",
           "private_clusters.sh ends"]


@case()
def signal_while_the_poller_runs_drains_and_stops_the_clusters():
    for how, code in (("ctrl-c", 130), ("TERM", 143), ("closed terminal", 129)):
        with demo_checkout() as checkout:
            checkout.hold("curtail-poll")
            pid, terminal = checkout.in_terminal("scripts/demo.sh")
            checkout.wait_for_line("curtail-poll")
            if how == "ctrl-c":
                os.write(terminal, b"\x03")
            elif how == "TERM":
                kill(pid, signal.SIGTERM)
            else:
                os.close(terminal)
            found = exit_code(pid)
            expect(found == code, f"{how}: exit code {found}")
            at = checkout.log().index("curtail-poll SIGTERM")
            expect(checkout.log()[at:] == DRAINED, f"{how}: {checkout.log()}")


@case()
def second_ctrl_c_reaches_the_poller_but_not_the_clusters():
    with demo_checkout() as checkout:
        checkout.hold("curtail-poll", 2)
        pid, terminal = checkout.in_terminal("scripts/demo.sh")
        checkout.wait_for_line("curtail-poll")
        os.write(terminal, b"\x03")
        checkout.wait_for_line("curtail-poll SIGTERM")
        checkout.hold("private_clusters.sh")
        os.write(terminal, b"\x03")
        checkout.wait_for_line("private_clusters.sh down")
        os.write(terminal, b"\x03")
        kill(pid, signal.SIGTERM)
        checkout.release("private_clusters.sh")
        expect(exit_code(pid) == 130, "exit code")
        expect(checkout.log()[-4:] == DRAINED, checkout.log())


@case()
def signal_ends_the_other_steps_too():
    for name, last in (("curtail-data", "curtail-data ends"),
                       ("curtail-report", "curtail-report ends")):
        with demo_checkout() as checkout:
            checkout.hold(name)
            demo = checkout.start("scripts/demo.sh")
            checkout.wait_for_line(name)
            demo.terminate()
            demo.communicate(timeout=15)
            expect(demo.returncode == 143, f"{name}: exit code {demo.returncode}")
            expect(checkout.log()[-1] == last, checkout.log())


@case()
def interrupted_start_of_the_clusters_completes_and_is_undone():
    with demo_checkout() as checkout:
        checkout.hold("private_clusters.sh")
        demo = checkout.start("scripts/demo.sh")
        checkout.wait_for_line("private_clusters.sh up")
        demo.send_signal(signal.SIGINT)
        checkout.release("private_clusters.sh")
        output = demo.communicate(timeout=15)[0]
        expect(demo.returncode == 130, f"exit code {demo.returncode}: {output}")
        name = "private_clusters.sh"
        expected = [f"{name} up", f"{name} ends", f"{name} down", f"{name} ends"]
        expect(checkout.log()[-4:] == expected, checkout.log())


@case()
def demo_exits_with_the_code_of_the_step_that_failed():
    for name, code in (("private_clusters.sh", 71), ("curtail-data", 65), ("curtail-status", 66)):
        with demo_checkout() as checkout:
            checkout.fail(name, code)
            checkout.run("scripts/demo.sh", code=code)
            stopped = "private_clusters.sh down" in checkout.log()
            expect(not stopped, "the demo stopped clusters that it had not started")
    with demo_checkout() as checkout:
        (checkout.root / "results/demo/text").rmdir()
        checkout.command("perl", "#!/bin/sh\nexit 2\n")
        output = checkout.run("scripts/demo.sh", code=69)
        expect("Pod::Text" in output, f"the reason is missing: {output}")
        expect("curtail-data" not in " ".join(checkout.log()), checkout.log())


@case()
def second_demo_is_refused():
    with demo_checkout() as checkout:
        checkout.hold("curtail-poll")
        first = checkout.start("scripts/demo.sh")
        checkout.wait_for_line("curtail-poll")
        output = checkout.run("scripts/demo.sh", code=75)
        expect("another demo" in output, f"the reason is missing: {output}")
        first.terminate()
        first.communicate(timeout=15)


@case()
def unknown_options_are_refused():
    with demo_checkout() as checkout:
        refused = {"scripts/demo.sh": (["-x"], ["--speed"], ["--text", ""], ["--store", "nfs"],
                                       ["--users", "a,b,c"]),
                   "scripts/demo_text.sh": (["--out"], []),
                   "scripts/setup.sh": (["--dry"],),
                   "scripts/soak.sh": (["-x"], ["--status", "x"]),
                   "bench/bench.py": (["--rounds"],),
                   "scripts/chaos.sh": (["-x"], ["--seed", "x"]),
                   "scripts/report_image.sh": (["-x"], ["a", "b"])}
        for script, lists in refused.items():
            for arguments in lists:
                checkout.run(script, *arguments, code=64)
            output = checkout.run(script, "--help")
            expect(script.split("/")[1] in output, f"{script} --help: {output}")
        expect(checkout.log() == [], checkout.log())


@case()
def make_builds_in_a_path_with_a_space():
    with demo_checkout() as checkout:
        checkout.stub(checkout.root / "scripts/setup.sh")
        checkout.command("cmake")
        before = sorted(checkout.folder.iterdir())
        checkout.run("make", "build", "PRESET=debug", "JOBS=1", CURTAIL_TORCH_ROOT="/opt/my torch")
        configured = "cmake --preset debug -DCURTAIL_TORCH_ROOT=/opt/my torch"
        expect(configured in checkout.log(), checkout.log())
        log = checkout.root / "build/debug/configure.log"
        expect(log.exists(), "the configuration has no log")
        expect(sorted(checkout.folder.iterdir()) == before, "make wrote outside the checkout")
        checkout.fail("cmake", 1)
        checkout.run("make", "build", code=2)


@case()
def make_refuses_an_unknown_store():
    with demo_checkout() as checkout:
        checkout.stub(checkout.root / "scripts/setup.sh")
        checkout.command("cmake")
        output = checkout.run("make", "demo", "STORE=nfs", code=2)
        expect("unknown store nfs; write folder or s3" in output, output)
        expect("curtail-" not in " ".join(checkout.log()), checkout.log())


@case()
def make_passes_preset_text_and_store_to_the_demo():
    with demo_checkout() as checkout:
        checkout.stub(checkout.root / "scripts/setup.sh")
        checkout.stub(checkout.root / "scripts/demo.sh",
                      '#!/bin/sh\necho "uses $CURTAIL_BUILD: $@"\n')
        checkout.command("cmake")
        output = checkout.run("make", "demo", "PRESET=asan+ubsan", "TEXT=/tmp/it's mine")
        expected = f"uses {checkout.root}/build/asan+ubsan: --text /tmp/it's mine"
        expect(expected in output, output)
        output = checkout.run("make", "demo", "STORE=s3")
        expect("build/release: --store s3\n" in output, output)


if __name__ == "__main__":
    main()
