# SPDX-License-Identifier: Apache-2.0
"""Shared by bench/bench.py and bench/bench_rounds.py: runs programs, prints the ratio of a row,
and writes the results with their origin."""
import argparse
import functools
import json
import os
import platform
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("CURTAIL_BUILD", SOURCE / "build/release"))
NAME = Path(sys.argv[0]).name
PEER_PYTHON = os.environ.get("CURTAIL_PEER_PYTHON")
OLD_BUILD = os.environ.get("CURTAIL_BUILD_D3CCB0C")
REPEATS = 3
# Programs also read options from the environment; the caller's must not change the benchmark.
ENVIRONMENT = {
    **{name: value for name, value in os.environ.items() if not name.startswith("CURTAIL_")},
    "CURTAIL_CACHE": "none",
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMP_NUM_THREADS": "1",
}


class CommandFailed(SystemExit):
    """A command ended with an error. Ends the script with that message, unless it is caught."""


def program(name):
    return str(BUILD / "bin" / name)


def execute(*command, environment=None, **options):
    """Runs a command to its end, in its own session. Ends that session if the script is ended."""
    command = [str(argument) for argument in command]
    process = subprocess.Popen(command, env=environment or ENVIRONMENT, stdin=subprocess.DEVNULL,
                               start_new_session=True, **options)
    try:
        if process.wait() != 0:
            raise CommandFailed(f"{NAME}: {' '.join(command)}: exit code {process.returncode}")
    finally:
        if process.poll() is None:
            end(process)


def end(process):
    """Sends TERM, then KILL, to the whole session: mpirun ends its ranks when it gets TERM."""
    for number, patience in ((signal.SIGTERM, 5), (signal.SIGKILL, None)):
        os.killpg(process.pid, number)
        try:
            process.wait(patience)
            return
        except subprocess.TimeoutExpired:
            pass


def seconds(*command, threads=1):
    started = time.perf_counter()
    environment = {**ENVIRONMENT, "OMP_NUM_THREADS": str(threads)}
    execute(*command, environment=environment, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
    return time.perf_counter() - started


def figures(*command):
    """Runs a program that prints one line of JSON on stdout, and its errors on stderr."""
    done = subprocess.run([str(part) for part in command], env=ENVIRONMENT, check=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout)


@functools.cache
def merges():
    """The figures of bench_merge and of its peer, in turns."""
    return [(figures(BUILD / "tests/bench_merge"),
             figures(PEER_PYTHON, SOURCE / "bench/peers/merge.py")) for _ in range(REPEATS)]


def measure_merge(figure="merge_s", what="merge of 3 x 92 M parameters"):
    """The arithmetic of a merge of three contributions, on one thread."""
    return {"what": f"{what}: numpy like Flower / Curtail", "unit": "s",
            "a": [peer["merge_s"] for _, peer in merges()],
            "b": [own[figure] for own, _ in merges()]}


def measure(function):
    row = function()
    a, b = statistics.median(row["a"]), statistics.median(row["b"])
    row["ratio"] = a / b
    print(f"{row['what']}: {a:.4g} / {b:.4g} {row['unit']} = {row['ratio']:.3g}", flush=True)
    return row


def write_results(folder, results):
    done = subprocess.run([program("curtail-data"), "--version"], capture_output=True, text=True,
                          check=True)
    version = done.stdout.splitlines()
    commit = next(line.split()[1] for line in version if line.startswith("commit"))
    now = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    system = {"machine": platform.platform(), "cores": os.cpu_count(), "load": os.getloadavg()}
    out = SOURCE / "results" / folder / f"{now}-{commit}.json"
    out.parent.mkdir(parents=True, exist_ok=True)
    document = {"time": now, "build": version, "system": system, "results": results}
    out.write_text(json.dumps(document, indent=1) + "\n")
    print(f"written to {out.relative_to(SOURCE)}")


class Parser(argparse.ArgumentParser):
    def __init__(self, **options):
        super().__init__(formatter_class=argparse.RawDescriptionHelpFormatter, **options)

    def error(self, message):
        self.exit(64, f"{NAME}: {message}; see {NAME} --help\n")


def end_on(number, _frame):
    raise SystemExit(128 + number)


def check_build():
    """Exits with 69 if the build lacks the programs."""
    if not os.access(program("curtail-train"), os.X_OK):
        path = program("curtail-train")
        print(f"{NAME}: {path} is missing; run `make build` first", file=sys.stderr)
        raise SystemExit(69)


def end_on_signals():
    """Lets INT, TERM and HUP end the script, and with it the commands that it runs."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, end_on)
