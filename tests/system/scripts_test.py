# SPDX-License-Identifier: Apache-2.0
"""scripts/setup.sh, soak.sh and bench.py, and slurm/private_clusters.sh against stub programs: real scripts, nothing of the machine is changed."""
import os
import signal
import subprocess

from harness import alive, expect, kill, main, started_at, wait_for
from stub_checkout import Checkout

WAITS = 'while [ -e "{root}/hold/{name}" ]; do sleep 0.02; done\n'
# One package of the list is missing until apt-get has installed it.
APT = '#!/bin/sh\necho "apt-get $1" >> "{root}/log"\n[ "$1" = install ] || exit 0\ncp "{policy}" "{root}/policy-seen"\n' + WAITS + 'touch "{root}/installed"\n'
DPKG = '#!/bin/sh\n[ "$4" != munge ] || [ -e "{root}/installed" ] || exit 1\nprintf installed\n'
PYTHON = ('#!/bin/sh\n[ "$3" != --version ] || exit 0\n' 'while [ $# -gt 0 ]; do [ "$1" != --target ] || mkdir -p "$2"; [ "$1" != -r ] || cat "$2" >> "{root}/wheels"; shift; done\n')
SYSTEMCTL = '#!/bin/sh\necho "systemctl $*" >> "{root}/log"\n'
SUDO = '#!/bin/sh\n[ "$1" != -n ] || shift\nexec "$@"\n'


def setup_checkout(**more):
    checkout = Checkout()
    words = {"root": checkout.root, "policy": checkout.folder / "policy-rc.d", "name": "apt-get"}
    for name, text in {"apt-get": APT, "dpkg-query": DPKG, "python3": PYTHON, "sudo": SUDO, "systemctl": SYSTEMCTL, **more}.items():
        checkout.command(name, text.format(**words))
    checkout.policy = words["policy"]
    return checkout


def setup(checkout, *words, **options):
    return checkout.run("scripts/setup.sh", *words, CURTAIL_POLICY_RC=checkout.policy, **options)


def set_up_installs_once_and_no_service_may_start():
    with setup_checkout() as checkout:
        expect("munge" in setup(checkout), "what is installed is not said")
        expect("exit 101" in (checkout.root / "policy-seen").read_text(), "services may start")
        expect(not checkout.policy.exists(), "the policy stays")
        expect([line for line in checkout.log() if line.startswith("systemctl")] == ["systemctl --quiet disable munge"], checkout.log())
        expect("torch==" in (checkout.root / "wheels").read_text(), "no wheels")
        log = checkout.log()
        expect("all Debian packages are there" in setup(checkout) and checkout.log() == log, "it is done twice")


def a_dry_run_changes_nothing():
    with setup_checkout() as checkout:
        expect("munge" in setup(checkout, "--dry-run"), "what is missing is not said")
        expect(checkout.log() == [] and not (checkout.root / ".deps").exists() and not checkout.policy.exists(), "something was changed")


def an_interrupted_set_up_leaves_no_policy():
    for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)):
        with setup_checkout() as checkout:
            checkout.hold("apt-get")
            process = checkout.start("scripts/setup.sh", CURTAIL_POLICY_RC=checkout.policy)
            checkout.wait_for_line("apt-get install")
            wait_for((checkout.root / "policy-seen").exists, "the policy")
            kill(process.pid, number)
            checkout.release("apt-get")
            said = process.communicate(timeout=15)[0]
            expect(process.returncode == code, f"signal {number}: exit code {process.returncode}: {said}")
            expect(not checkout.policy.exists(), f"signal {number}: the policy stays")


def a_killed_set_up_is_cleaned_up_by_the_next_and_foreign_policies_stay():
    with setup_checkout() as checkout:
        checkout.hold("apt-get")
        process = checkout.start("scripts/setup.sh", CURTAIL_POLICY_RC=checkout.policy)
        wait_for((checkout.root / "policy-seen").exists, "the policy")
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate(timeout=15)
        expect(checkout.policy.exists(), "the test is void")
        left = checkout.policy.read_text()
        checkout.release("apt-get")
        setup(checkout)
        expect(not checkout.policy.exists(), "the policy stays")
        checkout.policy.write_text(left)
        setup(checkout, "--dry-run")
        expect(checkout.policy.exists(), "a dry run changed something")
        setup(checkout)
        expect(not checkout.policy.exists(), "the policy stays where no package is missing")
    with setup_checkout() as checkout:
        checkout.policy.write_text("#!/bin/sh\nexit 104\n")
        setup(checkout)
        expect("exit 104" in checkout.policy.read_text(), "the policy of somebody else is gone")


def a_second_set_up_waits_for_the_first():
    with setup_checkout() as checkout:
        checkout.hold("apt-get")
        first = checkout.start("scripts/setup.sh", CURTAIL_POLICY_RC=checkout.policy)
        checkout.wait_for_line("apt-get install")
        second = checkout.start("scripts/setup.sh", CURTAIL_POLICY_RC=checkout.policy)
        expect("waiting" in second.stdout.readline(), "the second does not wait")
        checkout.release("apt-get")
        expect(first.wait(15) == 0 and second.wait(15) == 0, "a set-up failed")
        expect(checkout.log().count("apt-get install") == 1, checkout.log())


def another_libtorch_needs_no_torch_wheels():
    with setup_checkout() as checkout:
        setup(checkout, CURTAIL_TORCH_ROOT="/opt/torch")
        expect("torch==" not in (checkout.root / "wheels").read_text() and "plotly==" in (checkout.root / "wheels").read_text(), "wheels")
        setup(checkout)
        expect("torch==" in (checkout.root / "wheels").read_text(), "the full set is not fetched later")


def without_root_the_wheels_come_and_what_is_missing_is_named():
    nobody = {"id": "#!/bin/sh\necho 1000\n", "sudo": "#!/bin/sh\nexit 1\n"}
    for package, use, buildable in (("munge", "for the demo: munge", True), ("chromium", "for the tests: chromium", True), ("cmake", "to build and run: cmake", False)):
        with setup_checkout(**nobody, **{"dpkg-query": f'#!/bin/sh\n[ "$4" != {package} ] || exit 1\nprintf installed\n'}) as checkout:
            said = setup(checkout, code=77)
            expect(use in said and f"--no-install-recommends {package}" in said, said)
            expect(("-DCURTAIL_TESTS=OFF" in said) == buildable, said)
            expect("torch==" in (checkout.root / "wheels").read_text() and "apt-get" not in " ".join(checkout.log()), checkout.log())
            expect("the wheels are in" in setup(checkout, code=77), "they are fetched twice")


def what_is_missing_is_named_also_where_the_wheels_fail():
    with setup_checkout(id="#!/bin/sh\necho 1000\n", sudo="#!/bin/sh\nexit 1\n", python3="#!/bin/sh\n[ $3 = --version ]\n") as checkout:
        said = setup(checkout, code=69)
        expect("--no-install-recommends munge" in said and "pip could not" in said, said)


def a_policy_that_was_left_goes_through_sudo():
    sudo = '#!/bin/sh\n[ "$1" != -n ] || shift\necho "sudo $1" >> "{root}/log"\nexec "$@"\n'
    for stub, gone in ((sudo, True), ("#!/bin/sh\nexit 1\n", False)):
        with setup_checkout(id="#!/bin/sh\necho 1000\n", sudo=stub) as checkout:
            (checkout.root / "installed").touch()
            setup(checkout)
            expect(checkout.log() == [], "sudo is asked for nothing")
            checkout.policy.write_text("#!/bin/sh\n# made by scripts/setup.sh of Curtail while it installs packages\nexit 101\n")
            said = setup(checkout)
            expect(checkout.policy.exists() != gone and ("remove it as root" in said) != gone, said)
            expect(("sudo rm" in checkout.log()) == gone, checkout.log())


def what_is_wrong_is_named():
    for stub, code, word in (({"df": "#!/bin/sh\necho; echo x 1 1 900 1%\n"}, 73, "900 MB"), ({"uname": "#!/bin/sh\necho sparc\n"}, 69, "sparc"),
                             ({"apt-get": "#!/bin/sh\nexit 100\n"}, 69, "another apt at work"), ({"python3": "#!/bin/sh\n[ $3 = --version ]\n"}, 69, "no network"),
                             ({"id": "#!/bin/sh\necho 1000\n", "sudo": "#!/bin/sh\nexit 1\n"}, 77, "administrator")):
        with setup_checkout(**stub) as checkout:
            expect(word in setup(checkout, code=code), f"{word}: not said")


def soak_checkout():
    checkout = Checkout()
    for name in ("cmake", "make", "python3"):
        checkout.command(name)
    checkout.stub(checkout.root / "build/release/tests/test_rounds_simulation")
    (checkout.root / "build/release/CMakeCache.txt").touch()
    return checkout


def soak_runs_in_the_background_from_any_folder_and_only_once():
    with soak_checkout() as checkout:
        checkout.hold("cmake")
        said = checkout.run("./soak.sh", cwd=checkout.root / "scripts")
        pid = int(said.split("process ")[1].split(";")[0])
        checkout.processes.append(pid)
        expect("already running" in checkout.run("scripts/soak.sh", code=75), "two at once")
        checkout.release("cmake")
        out = checkout.root / "results/soak/unknown"
        wait_for(lambda: "soak: done" in (out / "soak.log").read_text(), "the end")
        expect("everything passed" in (out / "soak.log").read_text(), (out / "soak.log").read_text())
        wait_for(lambda: not alive(pid), "the end of the process")
        expect(not any("descriptor 9" in line for line in checkout.log()), "an item holds the lock")


def each_state_of_a_changed_tree_is_soaked_for_itself():
    with soak_checkout() as checkout:
        git = ("git", "-c", "user.name=a", "-c", "user.email=a@b")
        for words in (("init", "-q"), ("add", "Makefile"), ("commit", "-qm", "x")):
            subprocess.run([*git, *words], cwd=checkout.root, check=True)
        for change in ("one", "two"):
            (checkout.root / "Makefile").write_text(change)
            checkout.run("scripts/soak.sh", "--foreground")
        expect(len(list((checkout.root / "results/soak").iterdir())) == 2, "two states share a folder")


def an_interrupted_benchmark_ends_what_it_started():
    for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
        with Checkout(("curtail-data", "curtail-train")) as checkout:
            (checkout.root / "results/demo/text").mkdir(parents=True)
            checkout.command("mpirun")
            checkout.hold("mpirun")
            bench = checkout.start("scripts/bench.py", CURTAIL_JSON="1")
            checkout.wait_for_line("mpirun")
            expect(not any("CURTAIL_JSON" in line for line in checkout.log()), "options in the environment are the benchmark's")
            kill(bench.pid, number)
            said = bench.communicate(timeout=15)[0]
            expect(bench.returncode == code and "mpirun SIGTERM" in checkout.log(), f"signal {number}: exit code {bench.returncode}: {said}")


def clusters_go_down_also_when_tmpdir_is_another_one():
    with Checkout() as checkout:
        place = checkout.folder / "place"
        place.mkdir(mode=0o700)
        daemon = checkout.start("sleep", "60")
        (place / ".curtail-clusters").touch()
        (place / "sites").write_text("A\n")
        (place / "processes").write_text(f"munged {daemon.pid} {started_at(daemon.pid)}\n")
        link = checkout.root / "build/clusters"
        link.parent.mkdir()
        link.symlink_to(place)
        script = checkout.root / "slurm/private_clusters.sh"
        # With a folder of its own it looks neither at the link nor at what that leads to.
        checkout.run(script, "down", CURTAIL_CLUSTERS=checkout.folder / "other")
        expect(link.is_symlink() and alive(daemon.pid), "somebody else's clusters went down")
        checkout.run(script, "down", TMPDIR=checkout.path)
        expect(daemon.poll() is not None and not place.exists() and not link.is_symlink(), "they are still there")
        for words in (["down", "now"], ["up", "--now"], ["status", "x"], ["-x"], []):
            checkout.run(script, *words, code=64)


if __name__ == "__main__":
    main([set_up_installs_once_and_no_service_may_start, a_dry_run_changes_nothing, an_interrupted_set_up_leaves_no_policy,
          a_killed_set_up_is_cleaned_up_by_the_next_and_foreign_policies_stay, a_second_set_up_waits_for_the_first,
          another_libtorch_needs_no_torch_wheels, without_root_the_wheels_come_and_what_is_missing_is_named,
          what_is_missing_is_named_also_where_the_wheels_fail, a_policy_that_was_left_goes_through_sudo, what_is_wrong_is_named,
          soak_runs_in_the_background_from_any_folder_and_only_once,
          each_state_of_a_changed_tree_is_soaked_for_itself, an_interrupted_benchmark_ends_what_it_started,
          clusters_go_down_also_when_tmpdir_is_another_one])
