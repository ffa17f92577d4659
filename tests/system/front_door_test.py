# SPDX-License-Identifier: Apache-2.0
"""make and scripts/demo.sh as a person uses them: real scripts, stub programs, a real terminal; the checkout's path has a space."""
import fcntl
import os
import signal

from harness import expect, kill, main, wait_for
from stub_checkout import Checkout, exit_code

PROGRAMS = ("curtail-data", "curtail-poll", "curtail-status", "curtail-report", "curtail-model")
CLUSTERS = "slurm/private_clusters.sh"


def demo_checkout():
    checkout = Checkout(PROGRAMS)
    checkout.stub(checkout.root / CLUSTERS)
    (checkout.root / "results/demo/text").mkdir(parents=True)
    return checkout


def starts(checkout):
    """What was started, in order, by name and first word."""
    names = [line for line in checkout.log() if not line.endswith(" ends") and not line.split()[1].startswith("SIG")]
    return [" ".join(line.split()[:2]) for line in names]


def the_demo_takes_its_steps_in_order():
    with demo_checkout() as checkout:
        checkout.run("scripts/demo.sh")
        run = "curtail-{} inputs/runs/demo.json"
        expect(starts(checkout) == [run.format("status"), "curtail-data prepare", "private_clusters.sh up", run.format("poll"),
                                    "private_clusters.sh down", "curtail-model evaluate", run.format("status"), run.format("report"),
                                    "curtail-model sample"], checkout.log())
        expect(not any("descriptor 9" in line for line in checkout.log()), "a step holds the lock of the demo")


def with_a_last_run(checkout, clock="clock.json"):
    """A run that has ended, the one before it, and what tells where each of their files is."""
    out = checkout.root / "results/demo"
    for path in (out / "data/shard", out / clock, out / "poller/state.json", out / "store/commit", out.parent / "demo.previous/older"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(path.name)
    return lambda: sorted(str(path.relative_to(out.parent)) for path in out.parent.rglob("*") if path.is_file() and path.name != ".demo.lock")


AFTER_ANOTHER = ["demo.previous/clock.json", "demo.previous/poller/state.json", "demo.previous/store/commit", "demo/clock.json", "demo/data/shard"]


def a_last_run_is_kept_beside_the_new_one():
    with demo_checkout() as checkout:
        files = with_a_last_run(checkout)
        checkout.run("scripts/demo.sh")
        expect(files() == AFTER_ANOTHER, files())
        expect((checkout.root / "results/demo/clock.json").read_text() == "new", "the clock is the last run's")
        expect((checkout.root / "results/demo/text").is_dir(), "the text is gone")
        checkout.fail("curtail-report", 70)
        said = checkout.run("scripts/demo.sh", code=70)
        expect("is kept in" in said and "demo.last" not in said, said)


def a_demo_that_cannot_begin_loses_nothing():
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
        expect("no trace" in checkout.run("scripts/demo.sh", "--trace", "none.csv", code=66) and files() == before, files())


def a_killed_demo_loses_nothing():
    for begun in (True, False):
        with demo_checkout() as checkout:
            files = with_a_last_run(checkout)
            before = files()
            if not begun:
                checkout.fail("curtail-poll", 65)
            checkout.hold("curtail-poll")
            demo = checkout.start("scripts/demo.sh")
            checkout.wait_for_line("curtail-poll inputs")
            if begun:
                wait_for((checkout.root / "results/demo/clock.json").exists, "the new clock")
            kill(demo.pid)
            demo.wait(15)
            checkout.release("curtail-poll")
            wait_for(lambda: "curtail-poll ends" in checkout.log(), "the end of the poller")
            checkout.fail("curtail-data", 65)
            checkout.run("scripts/demo.sh", code=65)
            expect(files() == (AFTER_ANOTHER if begun else before), f"begun {begun}: {files()}")


def data_and_text_stay_wherever_in_the_folder_they_lie():
    with demo_checkout() as checkout:
        with_a_last_run(checkout)
        out = checkout.root / "results/demo"
        for path in (out / "my [data]/shards/train", out / "words.txt", out / "words"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("x")
        (checkout.root / "data-folder").write_text(str(out / "my [data]/shards"))
        checkout.run("scripts/demo.sh", "--text", "inputs/../results/demo/words.txt")
        expect((out / "my [data]/shards/train").exists() and (out / "words.txt").exists() and (out / "text").is_dir(), "what was prepared is gone")
        expect(not (out / "words").exists() and (out.parent / "demo.previous/words").exists(), "the last run is not set aside")


def a_last_run_that_cannot_be_moved_stays():
    refuses = "#!/bin/sh\ncase $* in *%s*) exit 1 ;; esac\nexec /bin/mv \"$@\"\n"
    for word in ("demo/clock.json", "demo/store"):
        with demo_checkout() as checkout:
            files = with_a_last_run(checkout)
            before = files()
            checkout.command("mv", refuses % word)
            checkout.run("scripts/demo.sh", code=1)
            expect(files() == before and not (checkout.root / "results/demo.last").exists(), f"{word}: {files()}")
    with demo_checkout() as checkout:
        files = with_a_last_run(checkout)
        checkout.command("mv", refuses % "-T")
        said = checkout.run("scripts/demo.sh")
        expect("is kept" not in said and "the last run is in" in said, said)
        (checkout.path / "mv").unlink()
        checkout.fail("curtail-data", 65)
        checkout.run("scripts/demo.sh", code=65)
        expect(files() == AFTER_ANOTHER, files())


def a_demo_killed_before_anything_was_moved_loses_nothing():
    with demo_checkout() as checkout:
        files = with_a_last_run(checkout)
        before = files()
        (checkout.root / "results/demo.last").mkdir()
        checkout.fail("curtail-data", 65)
        said = checkout.run("scripts/demo.sh", code=65)
        expect(files() == before and "is kept" not in said, f"{files()}: {said}")


def a_run_in_use_is_not_touched():
    with demo_checkout() as checkout:
        files = with_a_last_run(checkout)
        with open(checkout.root / "results/demo/poller/lock", "w") as lock:
            lock.write("77 on here\n")
            lock.flush()
            fcntl.flock(lock, fcntl.LOCK_EX)
            before = files()
            expect("process 77 on here" in checkout.run("scripts/demo.sh", code=75), "who is at work is not said")
            expect(files() == before and not any("prepare" in line for line in checkout.log()), checkout.log())
    with demo_checkout() as checkout:
        files = with_a_last_run(checkout, clock="complete.json")
        before = files()
        expect("real time" in checkout.run("scripts/demo.sh", code=78), "the reason is not said")
        expect(files() == before and not any("prepare" in line for line in checkout.log()), checkout.log())


def options_in_the_environment_are_not_the_demos():
    with demo_checkout() as checkout:
        checkout.run("scripts/demo.sh", CURTAIL_JSON="1")
        expect("curtail-poll ends" in checkout.log() and not any("CURTAIL_JSON" in line for line in checkout.log()), checkout.log())


def paths_are_those_of_the_caller():
    with demo_checkout() as checkout:
        caller = checkout.folder / "elsewhere"
        caller.mkdir()
        (caller / "my text").write_text("words")
        (caller / "day.csv").touch()
        checkout.run(checkout.root / "scripts/demo.sh", "--text", "my text", "--trace", "day.csv", "--run", "mine.json", "--speed", "3000", cwd=caller)
        expect(f"curtail-data prepare {caller}/my text --run {caller}/mine.json --held-out 0.05 --replace" in checkout.log(), checkout.log())
        expect(f"curtail-poll {caller}/mine.json --watch --trace {caller}/day.csv --speed 3000" in checkout.log(), checkout.log())


def a_signal_while_the_poller_runs_drains_and_stops_the_clusters():
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
            expect(checkout.log()[at:] == ["curtail-poll SIGTERM", "curtail-poll ends", "private_clusters.sh down", "private_clusters.sh ends"],
                   f"{how}: {checkout.log()}")


def a_second_ctrl_c_reaches_the_poller_but_not_the_clusters():
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
        expect(checkout.log()[-4:] == ["curtail-poll SIGTERM", "curtail-poll ends", "private_clusters.sh down", "private_clusters.sh ends"], checkout.log())


def a_signal_ends_the_other_steps_too():
    for name, last in (("curtail-data", "curtail-data ends"), ("curtail-report", "curtail-report ends")):
        with demo_checkout() as checkout:
            checkout.hold(name)
            demo = checkout.start("scripts/demo.sh")
            checkout.wait_for_line(name)
            demo.terminate()
            demo.communicate(timeout=15)
            expect(demo.returncode == 143, f"{name}: exit code {demo.returncode}")
            expect(checkout.log()[-1] == last, checkout.log())


def clusters_that_are_coming_up_come_up_and_go_down():
    with demo_checkout() as checkout:
        checkout.hold("private_clusters.sh")
        demo = checkout.start("scripts/demo.sh")
        checkout.wait_for_line("private_clusters.sh up")
        demo.send_signal(signal.SIGINT)
        checkout.release("private_clusters.sh")
        said = demo.communicate(timeout=15)[0]
        expect(demo.returncode == 130, f"exit code {demo.returncode}: {said}")
        expect(checkout.log()[-4:] == ["private_clusters.sh up", "private_clusters.sh ends", "private_clusters.sh down", "private_clusters.sh ends"],
               checkout.log())


def a_failure_ends_the_demo_with_its_own_code():
    for name, code in (("private_clusters.sh", 71), ("curtail-data", 65), ("curtail-status", 66)):
        with demo_checkout() as checkout:
            checkout.fail(name, code)
            checkout.run("scripts/demo.sh", code=code)
            expect("private_clusters.sh down" not in checkout.log(), "clusters of somebody else went down")
    with demo_checkout() as checkout:
        (checkout.root / "results/demo/text").rmdir()
        checkout.command("perl", "#!/bin/sh\nexit 2\n")
        expect("Pod::Text" in checkout.run("scripts/demo.sh", code=69), "the reason is not said")
        expect("curtail-data" not in " ".join(checkout.log()), checkout.log())


def two_demos_do_not_meet():
    with demo_checkout() as checkout:
        checkout.hold("curtail-poll")
        first = checkout.start("scripts/demo.sh")
        checkout.wait_for_line("curtail-poll")
        expect("another demo" in checkout.run("scripts/demo.sh", code=75), "the reason is not said")
        first.terminate()
        first.communicate(timeout=15)


def words_that_nobody_knows_are_refused():
    with demo_checkout() as checkout:
        for words in (["demo.sh", "-x"], ["demo.sh", "--speed"], ["demo.sh", "--text", ""], ["demo_text.sh", "--out"], ["demo_text.sh"], ["setup.sh", "--dry"],
                      ["soak.sh", "-x"], ["soak.sh", "--status", "x"], ["bench.py", "--rounds"]):
            checkout.run(f"scripts/{words[0]}", *words[1:], code=64)
        for script in ("demo.sh", "demo_text.sh", "setup.sh", "soak.sh", "bench.py"):
            expect(script in checkout.run(f"scripts/{script}", "--help"), f"{script} --help")
        expect(checkout.log() == [], checkout.log())


def make_builds_where_the_path_has_a_space():
    with demo_checkout() as checkout:
        checkout.stub(checkout.root / "scripts/setup.sh")
        checkout.command("cmake")
        before = sorted(checkout.folder.iterdir())
        checkout.run("make", "build", "PRESET=debug", "JOBS=1", CURTAIL_TORCH_ROOT="/opt/my torch")
        expect("cmake --preset debug -DCURTAIL_TORCH_ROOT=/opt/my torch" in checkout.log(), checkout.log())
        expect((checkout.root / "build/debug/configure.log").exists(), "no log of the configuration")
        expect(sorted(checkout.folder.iterdir()) == before, "something lies outside the checkout")
        checkout.fail("cmake", 1)
        checkout.run("make", "build", code=2)


def make_hands_preset_and_text_to_the_demo():
    with demo_checkout() as checkout:
        checkout.stub(checkout.root / "scripts/setup.sh")
        checkout.stub(checkout.root / "scripts/demo.sh", '#!/bin/sh\necho "uses $CURTAIL_BUILD: $@"\n')
        checkout.command("cmake")
        said = checkout.run("make", "demo", "PRESET=asan+ubsan", "TEXT=/tmp/it's mine")
        expect(f"uses {checkout.root}/build/asan+ubsan: --text /tmp/it's mine" in said, said)


if __name__ == "__main__":
    main([the_demo_takes_its_steps_in_order, a_last_run_is_kept_beside_the_new_one, a_demo_that_cannot_begin_loses_nothing,
          a_killed_demo_loses_nothing, data_and_text_stay_wherever_in_the_folder_they_lie, a_last_run_that_cannot_be_moved_stays,
          a_demo_killed_before_anything_was_moved_loses_nothing, a_run_in_use_is_not_touched, options_in_the_environment_are_not_the_demos, paths_are_those_of_the_caller,
          a_signal_while_the_poller_runs_drains_and_stops_the_clusters, a_second_ctrl_c_reaches_the_poller_but_not_the_clusters,
          a_signal_ends_the_other_steps_too, clusters_that_are_coming_up_come_up_and_go_down, a_failure_ends_the_demo_with_its_own_code,
          two_demos_do_not_meet, words_that_nobody_knows_are_refused, make_builds_where_the_path_has_a_space, make_hands_preset_and_text_to_the_demo])
