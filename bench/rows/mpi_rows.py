# SPDX-License-Identifier: Apache-2.0
"""Rows of bench/bench_rounds.py about payloads over MPI, on the loopback interface."""
import functools
import json
import subprocess
import tempfile

from common import BUILD, ENVIRONMENT, REPEATS, execute, figures
from s3_rows import QUIET, Gateway

BYTES = 512 << 20
TURNS = 9  # more than in other rows: six processes share the cores, so times vary
# What src/trainer/bridge/bridge_process.cpp sets for a bridge.
BRIDGE = {
    "OMPI_MCA_mpi_yield_when_idle": "1", "OMPI_MCA_oob_tcp_if_include": "lo",
    "OMPI_MCA_pml": "ucx", "OMPI_MCA_btl": "self", "OMPI_MCA_osc": "^ucx",
    "OMPI_MCA_opal_common_ucx_tls": "any", "OMPI_MCA_opal_common_ucx_devices": "any",
    "UCX_TLS": "tcp,self", "UCX_NET_DEVICES": "lo",
}
TRANSFER = BUILD / "tests/bench_mpi_transfer"


def one_job():
    command = ["mpirun", "-n", "2", "--bind-to", "none", "--oversubscribe", TRANSFER, "one-job",
               BYTES]
    done = subprocess.run([str(part) for part in command], env={**ENVIRONMENT, **BRIDGE},
                          check=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout)


@functools.cache
def transfers():
    """512 MiB in all ways, in turns: {way: [figures]}."""
    found = {"one-job": [], "between-jobs": [], "folder": []}
    with tempfile.TemporaryDirectory(prefix="bench-", dir=BUILD) as folder:
        stored = [BUILD / "tests/bench_s3_transfer", "", "", f"file://{folder}", BYTES]
        execute(stored[0], "up", *stored[1:], **QUIET)
        for _ in range(TURNS):
            found["one-job"].append(one_job())
            found["between-jobs"].append(figures(TRANSFER, "between-jobs", BYTES))
            found["folder"].append(figures(stored[0], "down", *stored[1:]))
    return found


def seconds(way, key="seconds"):
    return [one[key] for one in transfers()[way]]


def transfer():
    """512 MiB from one job to another with the programs of two sites (bridge::Connection::fetch):
    the time of the same messages between two ranks of one job, whose receiver computes the digest
    too / that time."""
    return {"what": "512 MiB over MPI: within one job / between two jobs", "unit": "s",
            "a": seconds("one-job"), "b": seconds("between-jobs"), "at_least": 0.8}


def connect():
    """How long two ends need from their start until a payload can be fetched: 2 s / that time."""
    return {"what": "connect two jobs over MPI: 2 s / Curtail", "unit": "s", "a": [2.0],
            "b": seconds("between-jobs", "connect_s"), "at_least": 1}


def from_folder():
    """The same payload from a store in a folder of this machine, which has it in memory, with its
    digest (store::read_verified): that time / the time over MPI."""
    return {"what": "512 MiB: from a folder / over MPI", "unit": "s", "a": seconds("folder"),
            "b": seconds("between-jobs"), "at_least": 0}


def from_s3():
    """The same payload from a Ceph gateway on this machine: that time / the time over MPI."""
    with Gateway() as gateway:
        access = (gateway.endpoint, gateway.credentials, "s3://bench/own", BYTES)
        execute(BUILD / "tests/bench_s3_transfer", "up", *access, **QUIET)
        bucket, direct = [], []
        for _ in range(REPEATS):
            bucket.append(figures(BUILD / "tests/bench_s3_transfer", "down", *access)["seconds"])
            direct.append(figures(TRANSFER, "between-jobs", BYTES)["seconds"])
    return {"what": "512 MiB: from S3 / over MPI", "unit": "s", "a": bucket, "b": direct,
            "at_least": 0}
