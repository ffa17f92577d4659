# SPDX-License-Identifier: Apache-2.0
"""A job trains only while its poller permits it: each test breaks one thing in an open window, on a
real Slurm cluster. No step may start later than the permission allows, and the site must continue
by itself once the cause is gone. --long runs every test at the times of a real centre."""
import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from harness import case, expect, main, wait_for
from rig import CLOSE_DELAY_S, LONG, OUTAGE_S, POLL_PERIOD_S, Rig, expect_stop_in_time
from slurm_clusters import lone_cluster, shared_cluster

FAKETIME = "/usr/lib/{}/faketime/libfaketime.so.1"


def expect_same_window(rig):
    expect(len(rig.windows()) == 1, f"windows {rig.windows()}")


@case(seconds=13)
def permission_of_a_killed_poller_ends(cluster):
    with Rig(cluster) as rig:
        rig.start_poller()
        rig.wait_for_steps(5, "training")
        rig.kill_poller()
        expect_stop_in_time(rig, time.monotonic())
        ending = rig.run.events("A", "trainer-exit")[-1]
        expect((ending["code"], ending["cause"]) == (0, "permission"), f"{ending}")
        rig.start_poller()
        rig.wait_for_steps(5, "training after the poller's return")
        expect_same_window(rig)
        rig.check_steps()


@case(seconds=9)
def permission_ends_while_the_poller_s_disk_is_full(cluster):
    with Rig(cluster) as rig:
        ignored = lambda: signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        rig.start_poller(before=ignored)
        rig.wait_for_steps(5, "training")
        subprocess.run(["prlimit", "--pid", str(rig.poller.pid), "--fsize=0:unlimited"], check=True)
        expect_stop_in_time(rig, time.monotonic())
        subprocess.run(["prlimit", "--pid", str(rig.poller.pid), "--fsize=unlimited:unlimited"],
                       check=True)
        rig.wait_for_steps(5, "training after disk space was freed")
        expect_same_window(rig)
        rig.check_steps()


@case(seconds=5)
def permission_survives_the_loss_of_the_poller_s_state(cluster):
    with Rig(cluster) as rig:
        rig.start_poller()
        rig.wait_for_steps(5, "training")
        rig.kill_poller()
        shutil.rmtree(rig.run.out / "poller")
        rig.start_poller()
        wait_for(rig.windows, "the new poller's window")  # the trainer runs on meanwhile
        rig.wait_for_steps(5, "training after the loss of the state")
        expect_same_window(rig)
        rig.check_steps()
        expect(len(rig.run.events("A", "trainer-start")) == 1, "the running job was not adopted")


@case(seconds=25)
def permission_is_renewed_while_the_controller_is_stopped(lone_cluster):
    with Rig(lone_cluster) as rig:
        rig.start_poller()
        rig.wait_for_steps(5, "training")
        lone_cluster.clusters("controller", "stop", "A")
        try:
            end = time.monotonic() + OUTAGE_S
            while time.monotonic() < end:
                rig.wait_for_steps(1, "training without a controller")
        finally:
            lone_cluster.clusters("controller", "start", "A")
        rig.wait_for_steps(5, "training after the controller's return")
        expect_same_window(rig)
        expect(len(rig.jobs()) == 1, f"jobs {rig.jobs()}")
        rig.check_steps()


@case(seconds=19)
def permission_ends_at_the_close_of_the_window_without_a_controller(lone_cluster):
    open_s = 15 if not LONG else 300
    with Rig(lone_cluster, [(open_s, 50), (7200, 500)], ranks=2) as rig:
        begun = time.monotonic()
        rig.start_poller()
        rig.wait_for_steps(5, "training")
        lone_cluster.clusters("controller", "stop", "A")
        try:
            expect_stop_in_time(rig, begun, open_s + CLOSE_DELAY_S + 2 * POLL_PERIOD_S)
        finally:
            lone_cluster.clusters("controller", "start", "A")
        expect_same_window(rig)
        rig.check_steps()


def faketime(rig_folder, offset):
    """Environment of a process whose clock shows another time; the monotonic clock is real."""
    library = FAKETIME.format(os.uname().machine + "-linux-gnu")
    expect(os.path.exists(library), f"{library} is missing; install the package faketime")
    file = rig_folder / "faketime"
    file.write_text(offset)
    return {"LD_PRELOAD": library, "FAKETIME_TIMESTAMP_FILE": str(file), "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1"}


@case(seconds=7)
def fail_safe_when_the_poller_s_clock_is_an_hour_back(cluster):
    with Rig(cluster) as rig:
        environment = faketime(rig.run.folder, "+0")
        rig.start_poller(environment)
        rig.wait_for_steps(5, "training")
        (rig.run.folder / "faketime").write_text("-3600")
        expect_stop_in_time(rig, time.monotonic())
        (rig.run.folder / "faketime").write_text("+0")
        rig.wait_for_steps(5, "training after the clock was corrected")
        expect_same_window(rig)
        rig.check_steps()


@case(seconds=10)
def fail_safe_when_the_job_s_clock_is_an_hour_back(cluster):
    own = tempfile.TemporaryDirectory(prefix="curtail-clock-")
    folder = Path(own.name)
    environment = faketime(folder, "+0")
    exports = "".join(f"export {name}={value}\n" for name, value in environment.items())
    with Rig(cluster, prologue=exports) as rig:
        rig.start_poller()
        rig.wait_for_steps(5, "training")
        (folder / "faketime").write_text("-3600")
        expect_stop_in_time(rig, time.monotonic())
        (folder / "faketime").write_text("+0")
        rig.wait_for_steps(5, "training after the clock was corrected")
        expect_same_window(rig)
        rig.check_steps()


if __name__ == "__main__":
    main(cluster=shared_cluster, lone_cluster=lone_cluster)
