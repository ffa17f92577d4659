#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures whole commands and prints ratios of two things measured in the same run, since absolute times of a shared machine mean little.
Writes results/bench/<time>-<commit>.json with what produced it. Needs a demo's data (results/demo/data); makes it if it is not there."""
import argparse
import hashlib
import json
import os
import platform
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent
BUILD = Path(os.environ.get("CURTAIL_BUILD", SOURCE / "build/release"))
DATA = SOURCE / "results/demo/data"
TEXT = SOURCE / "results/demo/text"
ROUNDS = 3
# Programs take options from the environment too; those of the caller are not the benchmark's.
ENVIRONMENT = {**{k: v for k, v in os.environ.items() if not k.startswith("CURTAIL_")}, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMP_NUM_THREADS": "1"}


def program(name):
    return str(BUILD / "bin" / name)


def execute(*words, **options):
    """Runs a command to its end, in a session of its own; what it started ends with us, however we end."""
    process = subprocess.Popen([str(w) for w in words], env=ENVIRONMENT, stdin=subprocess.DEVNULL, start_new_session=True, **options)
    try:
        if process.wait() != 0:
            raise SystemExit(f"bench.py: exit code {process.returncode} of {' '.join(map(str, words))}")
    finally:
        if process.poll() is None:
            end(process)


def end(process):
    """TERM, later KILL, to the whole session: mpirun answers TERM by ending its ranks."""
    for number, patience in ((signal.SIGTERM, 5), (signal.SIGKILL, None)):
        os.killpg(process.pid, number)
        try:
            process.wait(patience)
            return
        except subprocess.TimeoutExpired:
            pass


def seconds(*words):
    started = time.perf_counter()
    execute(*words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - started


def prepare_data():
    if not TEXT.is_dir():
        execute(SOURCE / "scripts/demo_text.sh", TEXT)
    if not (DATA / "manifest.json").exists():
        execute(program("curtail-data"), "prepare", TEXT, "--run", SOURCE / "inputs/runs/demo.json", "--held-out", 0.05, "--seed", 1)


def training_rate(ranks, steps=30):
    """Tokens per second of steps alone, without starting up, of the demo's model at so many ranks."""
    with tempfile.TemporaryDirectory(prefix="curtail-bench-") as folder:
        folder = Path(folder)
        config = json.loads("\n".join(line for line in (SOURCE / "inputs/runs/demo.json").read_text().splitlines() if not line.startswith("//")))
        config.update(folder=str(folder / "out"), store=f"file:{folder}/store", model=str(SOURCE / "inputs/models/demo.json"),
                      sites=[str(SOURCE / "inputs/sites/caiso_north.json")])
        config["data"]["folder"] = str(DATA)
        config["training"]["steps"] = steps
        (folder / "run.json").write_text(json.dumps(config))
        seconds("mpirun", "--bind-to", "none", "--oversubscribe", "-n", ranks, program("curtail-train"), folder / "run.json", "--site", "CAISO_NORTH", "--alone")
        lines = [json.loads(line) for line in (folder / "out/sites/CAISO_NORTH/metrics.jsonl").read_text().splitlines()][5:]
        return lines[0]["tokens"] / statistics.median(line["step_s"] for line in lines)


def measure_training():
    one = [training_rate(1) for _ in range(ROUNDS)]
    two = [training_rate(2) for _ in range(ROUNDS)]
    return {"what": "training, tokens/s: 2 ranks / 1 rank", "unit": "tokens/s", "a": two, "b": one}


def measure_encoding():
    with tempfile.TemporaryDirectory(prefix="curtail-bench-") as folder:
        big = Path(folder) / "text.txt"
        big.write_bytes(b"\n".join(p.read_bytes() for p in sorted(TEXT.rglob("*.txt"))))
        size = big.stat().st_size / 1e6
        encode = [size / seconds(program("curtail-data"), "prepare", big, "--out", Path(folder) / f"out{i}", "--vocabulary", 2048, "--held-out", 0.05, "--seed", i)
                  for i in range(ROUNDS)]
        digest = []
        for _ in range(ROUNDS):
            started = time.perf_counter()
            hashlib.sha256(big.read_bytes()).digest()
            digest.append(size / (time.perf_counter() - started))
        return {"what": "curtail-data prepare (train tokenizer, encode, write) / SHA-256 of the same bytes", "unit": "MB/s", "a": encode, "b": digest}


def measure_poll():
    """curtail-poll --once with three sites that have no jobs, against starting a process that does nothing."""
    with tempfile.TemporaryDirectory(prefix="curtail-bench-") as folder:
        folder = Path(folder)
        shutil.copytree(SOURCE / "inputs", folder / "inputs")
        for path in (folder / "inputs/sites").glob("*.json"):
            path.write_text(path.read_text().replace('"kind": "slurm"', '"kind": "local"'))
        words = (program("curtail-poll"), folder / "inputs/runs/demo.json", "--once", "--dry-run", "--trace", SOURCE / "signals/mci_2026-01-11.csv", "--speed", "1")
        return {"what": "curtail-poll --once, three local sites / true", "unit": "s", "a": [seconds(*words) for _ in range(10)],
                "b": [seconds("true") for _ in range(10)]}


class Parser(argparse.ArgumentParser):
    def error(self, message):
        self.exit(64, f"bench.py: {message}; see bench.py --help\n")


def end_on(number, _frame):
    raise SystemExit(128 + number)


def main():
    Parser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, end_on)
    if not os.access(program("curtail-train"), os.X_OK):
        print(f"bench.py: {program('curtail-train')} is not there; run `make build` first", file=sys.stderr)
        return 69
    prepare_data()
    results = []
    for measure in (measure_training, measure_encoding, measure_poll):
        row = measure()
        row["ratio"] = statistics.median(row["a"]) / statistics.median(row["b"])
        results.append(row)
        print(f"{row['what']}: {statistics.median(row['a']):.4g} / {statistics.median(row['b']):.4g} {row['unit']} = {row['ratio']:.3g}", flush=True)
    version = subprocess.run([program("curtail-data"), "--version"], capture_output=True, text=True, check=True).stdout
    commit = next(line.split()[1] for line in version.splitlines() if line.startswith("commit"))
    now = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    out = SOURCE / "results/bench" / f"{now}-{commit}.json"
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps({"time": now, "build": version.splitlines(), "system": {"machine": platform.platform(), "cores": os.cpu_count(), "load": os.getloadavg()},
                               "results": results}, indent=1) + "\n")
    print(f"kept in {out.relative_to(SOURCE)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
