# SPDX-License-Identifier: Apache-2.0
"""Runs scripts/setup.sh, soak.sh and hooks/, bench/bench.py, and slurm/private_clusters.sh, with
stub programs. The scripts are real; nothing on the machine is changed."""
import os
import signal
import subprocess

from harness import alive, case, expect, kill, main, started_at, wait_for
from stub_checkout import Checkout

# One package of the list is missing until apt-get has installed it.
APT = """#!/bin/sh
echo "apt-get $1" >> "{root}/log"
[ "$1" != download ] || touch prometheus_2_amd64.deb
[ "$1" = install ] || exit 0
cp "{policy}" "{root}/policy-seen"
while [ -e "{root}/hold/{name}" ]; do sleep 0.02; done
touch "{root}/installed"
"""
# dpkg-query -W -f FORMAT PACKAGE...
DPKG = """#!/bin/sh
shift 3
for name; do
    [ "$name" != {missing} ] || [ -e "{root}/installed" ] || {{ failed=1; continue; }}
    echo "$name installed"
done
exit "${{failed:-0}}"
"""
# dpkg -x PACKAGE FOLDER
DPKG_X = """#!/bin/sh
mkdir -p "$3/usr/bin"
printf '#!/bin/sh\\n' > "$3/usr/bin/promtool"
chmod +x "$3/usr/bin/promtool"
"""
PYTHON = """#!/bin/sh
[ "$3" != --version ] || exit 0
while [ $# -gt 0 ]; do
    [ "$1" != --target ] || mkdir -p "$2"
    [ "$1" != -r ] || cat "$2" >> "{root}/wheels"
    shift
done
"""
NVCC = "#!/bin/sh\necho 'Cuda compilation tools, release {release}, V{release}.88'\n"
SYSTEMCTL = '#!/bin/sh\necho "systemctl $*" >> "{root}/log"\n'
SUDO = '#!/bin/sh\n[ "$1" != -n ] || shift\nexec "$@"\n'
PIP_FAILS = "#!/bin/sh\n[ $3 = --version ]\n"
FAILS = "#!/bin/sh\nexit 1\n"
ORDINARY_USER = "#!/bin/sh\necho 1000\n"
OUR_POLICY = """#!/bin/sh
# made by scripts/setup.sh of Curtail while it installs packages
exit 101
"""


def setup_checkout(missing="munge", **more):
    checkout = Checkout()
    policy = checkout.folder / "policy-rc.d"
    values = {"root": checkout.root, "policy": policy, "name": "apt-get", "missing": missing}
    stubs = {"apt-get": APT, "dpkg-query": DPKG, "dpkg": DPKG_X, "python3": PYTHON, "sudo": SUDO,
             "systemctl": SYSTEMCTL, **more}
    for name, text in stubs.items():
        checkout.command(name, text.format(**values))
    checkout.policy = policy
    return checkout


def setup(checkout, *arguments, **options):
    return checkout.run("scripts/setup.sh", *arguments, CURTAIL_POLICY_RC=checkout.policy,
                        **options)


def start_setup(checkout):
    return checkout.start("scripts/setup.sh", CURTAIL_POLICY_RC=checkout.policy)


def wheels(checkout):
    return (checkout.root / "wheels").read_text()


@case()
def setup_installs_once_and_starts_no_service():
    with setup_checkout() as checkout:
        output = setup(checkout)
        expect("munge" in output, f"the installed package is not named: {output}")
        seen = (checkout.root / "policy-seen").read_text()
        expect("exit 101" in seen, "the policy permits services to start")
        expect(not checkout.policy.exists(), "the policy was not removed")
        disabled = [line for line in checkout.log() if line.startswith("systemctl")]
        expect(disabled == ["systemctl --quiet disable munge"], checkout.log())
        expect("torch==" in wheels(checkout), "the wheels are missing")
        expect(os.access(checkout.root / ".deps/promtool", os.X_OK), "promtool is missing")
        log = checkout.log()
        output = setup(checkout)
        expect("all Debian packages are installed" in output, output)
        expect(checkout.log() == log, "the second set-up installed again")


@case()
def setup_goes_on_without_promtool():
    with setup_checkout(dpkg=FAILS) as checkout:
        output = setup(checkout)
        expect("the test status_prometheus will fail" in output, output)
        expect("torch==" in wheels(checkout), "the wheels are missing")
        left = sorted(path.name for path in (checkout.root / ".deps").iterdir())
        expect("promtool.new" not in left and "promtool" not in left, left)


@case()
def dry_run_changes_nothing():
    with setup_checkout() as checkout:
        output = setup(checkout, "--dry-run")
        expect("munge" in output, f"the missing package is not named: {output}")
        expect(checkout.log() == [], checkout.log())
        expect(not (checkout.root / ".deps").exists(), "the dry run created .deps")
        expect(not checkout.policy.exists(), "the dry run wrote a policy")


@case()
def interrupted_setup_leaves_no_policy():
    for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)):
        with setup_checkout() as checkout:
            checkout.hold("apt-get")
            process = start_setup(checkout)
            checkout.wait_for_line("apt-get install")
            wait_for((checkout.root / "policy-seen").exists, "the policy")
            kill(process.pid, number)
            checkout.release("apt-get")
            output = process.communicate(timeout=60)[0]
            expect(process.returncode == code,
                   f"signal {number}: exit code {process.returncode}: {output}")
            expect(not checkout.policy.exists(), f"signal {number}: the policy was not removed")


@case()
def next_setup_removes_a_leftover_policy():
    with setup_checkout() as checkout:
        checkout.hold("apt-get")
        process = start_setup(checkout)
        wait_for((checkout.root / "policy-seen").exists, "the policy")
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate(timeout=60)
        expect(checkout.policy.exists(), "the killed set-up left no policy: nothing to test")
        left = checkout.policy.read_text()
        checkout.release("apt-get")
        setup(checkout)
        expect(not checkout.policy.exists(), "the policy was not removed")
        checkout.policy.write_text(left)
        setup(checkout, "--dry-run")
        expect(checkout.policy.exists(), "the dry run removed the policy")
        setup(checkout)
        expect(not checkout.policy.exists(),
               "the policy was not removed when no package was missing")


@case()
def policy_of_another_program_stays():
    with setup_checkout() as checkout:
        checkout.policy.write_text("#!/bin/sh\nexit 104\n")
        setup(checkout)
        expect("exit 104" in checkout.policy.read_text(), "another program's policy was changed")


@case()
def second_setup_waits_for_the_first():
    with setup_checkout() as checkout:
        checkout.hold("apt-get")
        first = start_setup(checkout)
        checkout.wait_for_line("apt-get install")
        second = start_setup(checkout)
        expect("waiting" in second.stdout.readline(), "the second set-up does not wait")
        checkout.release("apt-get")
        expect(first.wait(15) == 0 and second.wait(15) == 0, "a set-up failed")
        expect(checkout.log().count("apt-get install") == 1, checkout.log())


@case()
def another_libtorch_needs_no_torch_wheels():
    with setup_checkout() as checkout:
        setup(checkout, CURTAIL_TORCH_ROOT="/opt/torch")
        expect("torch==" not in wheels(checkout), "the torch wheel was fetched")
        expect("plotly==" in wheels(checkout), "the plotly wheel is missing")
        setup(checkout)
        expect("torch==" in wheels(checkout), "the full set was not fetched later")


@case(seconds=2)
def gpu_wheels_are_fetched_on_request_and_without_what_the_machine_has():
    for nvcc, cuobjdump, nvdisasm in (("13.0", "13.0", True), ("13.0", "12.4", True),
                                      ("12.4", "13.0", False)):
        with setup_checkout() as checkout:
            checkout.command("nvcc", NVCC.format(release=nvcc))
            checkout.command("cuobjdump", NVCC.format(release=cuobjdump))
            if nvdisasm:
                checkout.command("nvdisasm")
            setup(checkout, CUDA_HOME="")
            expect("nvidia-nccl" not in wheels(checkout), "NCCL was fetched without --gpu")
            setup(checkout, "--gpu", CUDA_HOME="")
            expect("nvidia-nccl-cu13==" in wheels(checkout), "NCCL is missing")
            for name, present in (("nvcc", nvcc == "13.0"), ("cccl", nvcc == "13.0"),
                                  ("cuobjdump", cuobjdump == "13.0" and nvdisasm),
                                  ("nvdisasm", cuobjdump == "13.0" and nvdisasm)):
                expect((f"nvidia-cuda-{name}==" in wheels(checkout)) != present,
                       (name, nvcc, cuobjdump, nvdisasm))
            output = setup(checkout, "--gpu", CUDA_HOME="")
            expect("the wheels are in .deps/gpu" in output, f"fetched twice: {output}")


@case()
def without_root_setup_unpacks_wheels_and_names_missing_packages():
    user = {"id": ORDINARY_USER, "sudo": FAILS}
    for package, use, buildable in (("munge", "for the demo: munge", True),
                                    ("chromium", "for the tests: chromium", True),
                                    ("cmake", "to build and run: cmake", False)):
        with setup_checkout(package, **user) as checkout:
            output = setup(checkout, code=77)
            expect(use in output and f"--no-install-recommends {package}" in output, output)
            expect(("-DCURTAIL_TESTS=OFF" in output) == buildable, output)
            expect("torch==" in wheels(checkout), "the wheels are missing")
            expect("apt-get install" not in checkout.log(), checkout.log())
            output = setup(checkout, code=77)
            expect("the wheels are in" in output, f"the wheels were fetched twice: {output}")


@case()
def missing_packages_are_named_even_if_the_wheels_fail():
    with setup_checkout(id=ORDINARY_USER, sudo=FAILS, python3=PIP_FAILS) as checkout:
        output = setup(checkout, code=69)
        expect("--no-install-recommends munge" in output and "pip could not" in output, output)


@case()
def leftover_policy_is_removed_through_sudo():
    sudo = '#!/bin/sh\n[ "$1" != -n ] || shift\necho "sudo $1" >> "{root}/log"\nexec "$@"\n'
    for stub, removed in ((sudo, True), (FAILS, False)):
        with setup_checkout(id=ORDINARY_USER, sudo=stub) as checkout:
            (checkout.root / "installed").touch()
            setup(checkout)
            used = [line for line in checkout.log() if line.startswith("sudo")]
            expect(used == [], f"set-up used sudo without need: {used}")
            checkout.policy.write_text(OUR_POLICY)
            output = setup(checkout)
            expect(checkout.policy.exists() != removed, output)
            expect(("remove it as root" in output) != removed, output)
            expect(("sudo rm" in checkout.log()) == removed, checkout.log())


@case()
def errors_name_their_cause():
    for stub, code, cause in (
            ({"df": "#!/bin/sh\necho; echo x 1 1 900 1%\n"}, 73, "900 MB"),
            ({"uname": "#!/bin/sh\necho sparc\n"}, 69, "sparc"),
            ({"apt-get": "#!/bin/sh\nexit 100\n"}, 69, "no other apt is running"),
            ({"python3": PIP_FAILS}, 69, "no network"),
            ({"id": ORDINARY_USER, "sudo": FAILS}, 77, "administrator")):
        with setup_checkout(**stub) as checkout:
            output = setup(checkout, code=code)
            expect(cause in output, f"\"{cause}\" is missing: {output}")


def soak_checkout():
    checkout = Checkout()
    for name in ("cmake", "make", "python3"):
        checkout.command(name)
    checkout.stub(checkout.root / "build/release/bin/curtail-sim")
    (checkout.root / "build/release/CMakeCache.txt").touch()
    return checkout


@case(seconds=6)
def soak_runs_once_in_the_background_from_any_folder():
    with soak_checkout() as checkout:
        checkout.hold("cmake")
        output = checkout.run("./soak.sh", cwd=checkout.root / "scripts")
        pid = int(output.split("process ")[1].split(";")[0])
        checkout.processes.append(pid)
        output = checkout.run("scripts/soak.sh", code=75)
        expect("already running" in output, f"two run at once: {output}")
        checkout.release("cmake")
        log = checkout.root / "results/soak/unknown/soak.log"
        wait_for(lambda: "soak: done" in log.read_text(), "the end", timeout=120)
        expect("everything passed" in log.read_text(), log.read_text())
        wait_for(lambda: not alive(pid), "the end of the process")
        inherits = any("descriptor 9" in line for line in checkout.log())
        expect(not inherits, "an item inherited the lock")


@case(seconds=12)
def each_state_of_a_modified_tree_has_its_own_results():
    with soak_checkout() as checkout:
        git = ("git", "-c", "user.name=a", "-c", "user.email=a@b")
        for command in (("init", "-q"), ("add", "Makefile"), ("commit", "-qm", "x")):
            subprocess.run([*git, *command], cwd=checkout.root, check=True)
        for change in ("one", "two"):
            (checkout.root / "Makefile").write_text(change)
            checkout.run("scripts/soak.sh", "--foreground")
        folders = list((checkout.root / "results/soak").iterdir())
        expect(len(folders) == 2, "two states share a folder")


@case()
def interrupted_benchmark_ends_its_processes():
    for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
        with Checkout(("curtail-data", "curtail-train")) as checkout:
            (checkout.root / "results/demo/text").mkdir(parents=True)
            checkout.command("mpirun")
            checkout.hold("mpirun")
            bench = checkout.start("bench/bench.py", CURTAIL_JSON="1")
            checkout.wait_for_line("mpirun")
            inherits = any("CURTAIL_JSON" in line for line in checkout.log())
            expect(not inherits, "the benchmark uses options from the environment")
            kill(bench.pid, number)
            output = bench.communicate(timeout=60)[0]
            expect(bench.returncode == code,
                   f"signal {number}: exit code {bench.returncode}: {output}")
            checkout.wait_for_line("mpirun SIGTERM")


@case()
def clusters_stop_under_a_different_tmpdir():
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
        # With CURTAIL_CLUSTERS, the script ignores the link and its target.
        checkout.run(script, "down", CURTAIL_CLUSTERS=checkout.folder / "other")
        expect(link.is_symlink() and alive(daemon.pid), "`down` stopped other clusters")
        checkout.run(script, "down", TMPDIR=checkout.path)
        stopped = daemon.poll() is not None and not place.exists() and not link.is_symlink()
        expect(stopped, "`down` left something")
        for arguments in (["down", "now"], ["up", "--now"], ["up", "--hard", "--now"],
                          ["status", "x"], ["controller", "stop"], ["controller", "kill", "A"],
                          ["-x"], []):
            checkout.run(script, *arguments, code=64)
        for name, value in (("PREEMPT", "KILL"), ("EPILOG", "5s"), ("GRACE", "hold"),
                            ("NODES", "0")):
            output = checkout.run(script, "up", "--hard", code=64,
                                  **{f"CURTAIL_CLUSTER_{name}": value})
            expect(f"CURTAIL_CLUSTER_{name}={value}" in output, output)


@case()
def clusters_refuse_a_folder_whose_path_is_too_long_for_jobs():
    with Checkout() as checkout:
        folder = "/tmp/" + "x" * 75  # munge's socket would fit
        output = checkout.run("slurm/private_clusters.sh", "up", "SITE_OF_TEST", code=73,
                              CURTAIL_CLUSTERS=folder)
        expect("shorter folder" in output and not os.path.exists(folder), output)


@case()
def commit_hook_checks_the_subject():
    long = "store: " + "x" * 65
    with Checkout() as checkout:
        message = checkout.folder / "message"
        for text, code in (("store: retry after a lost reply\n", 0), (long + "\n", 0),
                           ("account, reference: split off report\n\nA reason.\n", 0),
                           ("Revert \"store: retry\"\n", 0), (long + "x\n", 1), ("retry\n", 1),
                           ("Store: retry\n", 1), ("store:retry\n", 1), ("store: retry.\n", 1),
                           ("store: retry\nwithout an empty line\n", 1)):
            message.write_text(text)
            checkout.run("scripts/hooks/commit-msg", message, code=code)


@case()
def commit_hook_checks_the_staged_files():
    with Checkout() as checkout:
        for name in ("clang-format", "ctest"):
            checkout.command(name)
        checkout.stub(checkout.root / "tests/style/shell.sh")
        checkout.stub(checkout.root / "build/release/tests/test_core")
        for file in ("src/a b.cpp", "README.md", "scripts/new.sh"):
            path = checkout.root / file
            path.parent.mkdir(exist_ok=True)
            path.touch()
        subprocess.run(["git", "init", "-q"], cwd=checkout.root, check=True)
        hook = "scripts/hooks/pre-commit"
        for file, expected in (("README.md", []), ("scripts/new.sh", ["shell.sh"]),
                               ("src/a b.cpp", ["clang-format --dry-run --Werror src/a b.cpp",
                                                "ctest --test-dir build/release"])):
            subprocess.run(["git", "rm", "-rq", "--cached", "--ignore-unmatch", "."],
                           cwd=checkout.root, check=True)
            subprocess.run(["git", "add", file], cwd=checkout.root, check=True)
            (checkout.root / "log").unlink(missing_ok=True)
            checkout.run(hook)
            ran = [line for line in checkout.log() if not line.endswith(" ends")]
            matches = [line.startswith(start) for line, start in zip(ran, expected)]
            expect(len(ran) == len(expected) and all(matches), f"{file}: {ran}")
        checkout.fail("clang-format", 1)
        output = checkout.run(hook, code=1)
        expect("make format" in output, output)
        checkout.fail("clang-format", 0)
        checkout.fail("ctest", 8)
        checkout.run(hook, code=1)


if __name__ == "__main__":
    main()
