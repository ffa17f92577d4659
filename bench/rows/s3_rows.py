# SPDX-License-Identifier: Apache-2.0
"""Rows of bench/bench_rounds.py about large objects on an S3 server: Curtail against boto3."""
import functools
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from common import BUILD, PEER_PYTHON, REPEATS, SOURCE, execute, figures

BYTES = 2_000_000_000
QUIET = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


class Gateway:
    """A Ceph gateway that keeps objects in a file (bluestore), with the bucket `bench`."""

    def __enter__(self):
        self.parent = tempfile.TemporaryDirectory(prefix="bench-")
        self.folder = Path(self.parent.name) / "rgw"
        self.script("up", "--disk", "--while", os.getpid())
        self.script("bucket", "bench")
        return self

    def script(self, *command):
        execute(SOURCE / "scripts/rgw.sh", *command, self.folder, **QUIET)

    @property
    def endpoint(self):
        return (self.folder / "endpoint").read_text().strip()

    @property
    def credentials(self):
        return self.folder / "owner.credentials"

    def __exit__(self, *_):
        self.script("down")
        self.parent.cleanup()


@functools.cache
def transfers():
    """Both directions with both clients, in turns: {(client, direction): [figures]}."""
    found = {}
    with Gateway() as gateway, \
            tempfile.TemporaryDirectory(prefix="bench-", dir="/dev/shm") as memory:
        access = (gateway.endpoint, gateway.credentials)
        for turn in range(REPEATS):
            for direction in ("up", "down"):
                own = figures(BUILD / "tests/bench_s3_transfer", direction, *access,
                              "s3://bench/own", BYTES)
                peer = figures(PEER_PYTHON, SOURCE / "bench/peers/s3_transfer.py", direction,
                               *access, "bench/peer", BYTES, f"{memory}/object")
                found.setdefault(("own", direction), []).append(own)
                found.setdefault(("peer", direction), []).append(peer)
                print(f"  S3 {direction}, turn {turn + 1} of {REPEATS}", file=sys.stderr)
    return found


def row(direction, what, key, unit, at_least):
    values = {client: [one[key] for one in transfers()[client, direction]]
              for client in ("own", "peer")}
    return {"what": f"S3 {direction}, 2 GB, {what}: boto3 / Curtail", "unit": unit,
            "a": values["peer"], "b": values["own"], "at_least": at_least}


def up_time():
    """2 GB to a Ceph gateway that stores on the disk of this machine: boto3's time / ours. Both
    send parts of 32 MiB, four at a time, whose SHA-256 the server checks. boto3 sends a file in
    memory (upload_file with ChecksumAlgorithm), Curtail sends memory (store::ObjectStore::put)."""
    return row("up", "time", "seconds", "s", 1)


def up_cpu():
    """The processor time of the clients of that upload, without their start."""
    return row("up", "processor time", "cpu_s", "s", 2)


def down_time():
    """2 GB from the gateway: boto3's time / ours. Both request ranges of 32 MiB, four at a time,
    and compute the SHA-256 of the whole object. boto3 reads into a file in memory, Curtail reads
    into memory (store::read_verified). Each client reads twice, and the second read counts: a
    trainer reads each round into the same memory."""
    return row("down", "time", "seconds", "s", 1)


def down_cpu():
    """The processor time of the clients of that download, without their start."""
    return row("down", "processor time", "cpu_s", "s", 2)
