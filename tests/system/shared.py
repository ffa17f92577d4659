#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Starts and stops what several cases of the end-to-end tests use, as fixtures of ctest: prepared
data, two Slurm clusters, an S3 server, a Chromium, and results of undisturbed chaos runs. The file
NAME in harness.SHARED names the folder of each. It ends with the process that ran `up`, if nothing
runs `down` before. Without Chromium there is no such file, and the tests skip themselves.

    shared.py up|down data|cluster|lone_cluster|storage|browser|undisturbed
"""
import contextlib
import os
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

from harness import (CORPUS, CTEST, SHARED, SOURCE, execute, kill, prepare_data, shared, started_at,
                     wait_for)
from object_storage import SCRIPT as RGW, ObjectStorage
from slurm_clusters import LONE_SETTINGS, SHARED_SETTINGS, HardCluster

sys.path.insert(0, str(SOURCE / "tests/bill/report"))
CLUSTERS = {"cluster": SHARED_SETTINGS, "lone_cluster": LONE_SETTINGS}


def start_browser(folder):
    try:
        from browser import missing_programs, start_chromium
    except ImportError:
        return False
    if missing_programs():
        return False
    folder.mkdir()
    process = start_chromium(str(folder))
    (folder / "pid").write_text(f"{process.pid} {started_at(process.pid)}")
    return True


def stop_browser(folder):
    record = folder / "pid"
    if record.exists():
        pid, begun = map(int, record.read_text().split())
        if started_at(pid) == begun:
            kill(pid, signal.SIGTERM)
            wait_for(lambda: started_at(pid) != begun, "the end of Chromium", 10)


def start(name, folder):
    """Starts it in this folder. Returns whether its programs are installed."""
    if name == "data":
        prepare_data(CORPUS, folder)
    elif name == "undisturbed":
        folder.mkdir()
        execute(sys.executable, SOURCE / "tests/system/chaos_test.py", "--undisturbed", folder,
                timeout=300)
    elif name == "browser":
        return start_browser(folder)
    else:
        ObjectStorage.start(folder, pid=CTEST)
    return True


def up(name):
    """Returns the folder of what it has started; None if programs are missing."""
    if name in CLUSTERS:
        cluster = HardCluster(**CLUSTERS[name])
        cluster.up()
        return cluster.folder
    folder = Path(tempfile.mkdtemp(prefix="curtail-shared-")) / name
    started = False
    try:
        started = start(name, folder)
    finally:
        if not started:
            stop(name, folder)
    return folder if started else None


def stop(name, folder):
    if name in CLUSTERS:
        HardCluster(folder).down()
        return
    if name == "storage":
        execute(RGW, "down", folder)
    if name == "browser":
        stop_browser(folder)
    # A process of Chromium may still write.
    shutil.rmtree(folder.parent, ignore_errors=name == "browser")


def stop_with_ctest(name, folder, begun):
    """Waits in the background for the end of ctest, and then stops what still runs."""
    if os.fork() != 0:
        return
    os.setsid()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    for descriptor in range(3):
        os.dup2(os.open(os.devnull, os.O_RDWR), descriptor)
    while started_at(CTEST) == begun and folder.exists():
        time.sleep(0.5)
    if folder.exists():
        stop(name, folder)
        forget(name)
    os._exit(0)


def forget(name):
    (SHARED / name).unlink(missing_ok=True)
    with contextlib.suppress(OSError):  # it has other records
        SHARED.rmdir()


def main(action, name):
    if action == "up":
        begun = started_at(CTEST)
        folder = up(name)
        if folder:
            SHARED.mkdir(parents=True, exist_ok=True)
            (SHARED / name).write_text(str(folder))
            stop_with_ctest(name, folder, begun)
    elif (SHARED / name).exists():
        stop(name, shared(name))
        forget(name)


if __name__ == "__main__":
    main(*sys.argv[1:])
