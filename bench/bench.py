#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures pairs of commands and prints the ratio of their durations. One call measures both
commands of a pair, because absolute times mean little on a shared machine. The pairs:

* training with 2 ranks, and with 1 rank
* training with 2 ranks, and with 1 rank of 2 threads
* data preparation, and SHA-256 of the same bytes
* a poll, and a program that does nothing
* a snapshot of 2 GB, and dd with direct I/O of the same size
* Muon on 24 matrices one after the other, and all at once
* the start and the stop of a training with 2 ranks, and what they may take
* a merge of three contributions with numpy in the way of Flower, and with Curtail (needs the peer)
* training steps of PyTorch, and of Curtail; also their cross entropies, in time and in memory.
  PyTorch is a peer that Curtail does not need: CURTAIL_PEER_PYTHON names a Python that has torch
  2.11.0 with its dependencies. Without it, bench.py leaves these pairs out.

Writes the results, the build and the system to results/bench/<time>-<commit>.json. Uses the demo's
data (results/demo/data) and prepares it if it is missing."""
import functools
import hashlib
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "rows"))
from common import (BUILD, ENVIRONMENT, PEER_PYTHON, REPEATS, SOURCE, Parser,  # noqa: E402
                    check_build, end_on_signals, execute, figures, measure, measure_merge,
                    program, seconds, write_results)

DATA = SOURCE / "results/demo/data"
TEXT = SOURCE / "results/demo/text"


def prepare_data():
    if not TEXT.is_dir():
        execute(SOURCE / "scripts/demo_text.sh", TEXT)
    if not (DATA / "manifest.json").exists():
        execute(program("curtail-data"), "prepare", TEXT, "--run", SOURCE / "inputs/runs/demo.json",
                "--held-out", 0.05, "--seed", 1)


def demo_configuration():
    text = (SOURCE / "inputs/runs/demo.json").read_text()
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("//")]
    return json.loads("\n".join(lines))


def training_rate(model, ranks, threads=1, rows=4, steps=30):
    """Tokens per second of a model on that many ranks, without start-up."""
    with tempfile.TemporaryDirectory(prefix="curtail-bench-") as folder:
        folder = Path(folder)
        config = demo_configuration()
        (folder / "model.json").write_text(json.dumps(model))
        config.update(folder=str(folder / "out"), store=f"file:{folder}/store", model="model.json",
                      sites=[str(SOURCE / "inputs/sites/caiso_north.json")])
        config["data"]["folder"] = str(DATA)
        config["training"].update(steps=steps, step_at_least_s=0, device_batch_rows=rows)
        (folder / "run.json").write_text(json.dumps(config))
        seconds("mpirun", "--bind-to", "none", "--oversubscribe", "-n", ranks,
                program("curtail-train"), folder / "run.json", "--site", "CAISO_NORTH", "--alone",
                "--threads", threads, threads=threads)
        metrics = (folder / "out/sites/CAISO_NORTH/metrics.jsonl").read_text()
        lines = [json.loads(line) for line in metrics.splitlines()][5:]
        return lines[0]["tokens"] / statistics.median(line["step_s"] for line in lines)


def measure_training():
    model = json.loads((SOURCE / "inputs/models/demo.json").read_text())
    one = [training_rate(model, 1) for _ in range(REPEATS)]
    two = [training_rate(model, 2) for _ in range(REPEATS)]
    return {"what": "training, tokens/s: 2 ranks / 1 rank", "unit": "tokens/s", "a": two, "b": one}


def measure_ranks():
    """Two ranks with one thread each, against one rank with two threads."""
    model = {"depth": 4, "sequence": 256, "vocabulary": 4096}
    ranks, threads = [], []
    for _ in range(REPEATS):
        ranks.append(training_rate(model, 2, rows=8, steps=15))
        threads.append(training_rate(model, 1, threads=2, rows=8, steps=15))
    return {"what": "training d4, tokens/s: 2 ranks / 1 rank with 2 threads", "unit": "tokens/s",
            "a": ranks, "b": threads}


def hashing_rate(path, size):
    started = time.perf_counter()
    hashlib.sha256(path.read_bytes()).digest()
    return size / (time.perf_counter() - started)


def measure_encoding():
    with tempfile.TemporaryDirectory(prefix="curtail-bench-") as folder:
        text = Path(folder) / "text.txt"
        text.write_bytes(b"\n".join(p.read_bytes() for p in sorted(TEXT.rglob("*.txt"))))
        size = text.stat().st_size / 1e6
        encode = [
            size / seconds(program("curtail-data"), "prepare", text, "--out",
                           Path(folder) / f"out{i}", "--vocabulary", 2048, "--held-out", 0.05,
                           "--seed", i)
            for i in range(REPEATS)
        ]
        digest = [hashing_rate(text, size) for _ in range(REPEATS)]
        what = "curtail-data prepare (train tokenizer, encode, write) / SHA-256 of the same bytes"
        return {"what": what, "unit": "MB/s", "a": encode, "b": digest}


def measure_poll():
    """curtail-poll --once with three sites without jobs, against a process that does nothing."""
    with tempfile.TemporaryDirectory(prefix="curtail-bench-") as folder:
        folder = Path(folder)
        for name in ("inputs", "slurm"):
            shutil.copytree(SOURCE / name, folder / name)
        for path in (folder / "inputs/sites").glob("*.json"):
            path.write_text(path.read_text().replace('"kind": "slurm"', '"kind": "local"'))
        poll = (program("curtail-poll"), folder / "inputs/runs/demo.json", "--once", "--dry-run",
                "--trace", SOURCE / "signals/mci_2026-01-11.csv", "--speed", "1")
        return {"what": "curtail-poll --once, three local sites / true", "unit": "s",
                "a": [seconds(*poll) for _ in range(10)], "b": [seconds("true") for _ in range(10)]}


def measure_step(sequence, rows):
    """A step of the model d4 on one thread, PyTorch's eager mode against Curtail, in turns."""
    options = ("--depth", 4, "--vocabulary", 4096, "--sequence", sequence, "--rows", rows)
    peer, own = [], []
    for _ in range(REPEATS):
        own.append(figures(BUILD / "tests/bench_training_step", *options)["step_s"])
        peer.append(figures(PEER_PYTHON, SOURCE / "bench/peers/gpt_step.py", *options)["step_s"])
    return {"what": f"step of d4, {rows} rows of {sequence} tokens: eager PyTorch / Curtail",
            "unit": "s", "a": peer, "b": own}


def measure_short_rows():
    return measure_step(256, 8)


def measure_long_row():
    return measure_step(2048, 1)


def measure_head(what, key, unit):
    """The head of 4096 tokens with vocabulary 65536 and width 256, from its input to its loss."""
    peer, own = [], []
    for _ in range(REPEATS):
        own.append(figures(BUILD / "tests/bench_head_loss", "head")[key])
        peer.append(figures(PEER_PYTHON, SOURCE / "bench/peers/head_loss.py", "head")[key])
    return {"what": f"head and cross entropy, {what}: eager PyTorch / Curtail", "unit": unit,
            "a": peer, "b": own}


def measure_head_time():
    return measure_head("time", "seconds", "s")


def measure_head_memory():
    return measure_head("peak memory", "memory_mib", "MiB")


def measure_muon():
    rows = [figures(BUILD / "tests/bench_muon") for _ in range(REPEATS)]
    return {"what": "Muon, 24 matrices of 512 x 512: one by one / at once", "unit": "s",
            "a": [row["loop_s"] for row in rows], "b": [row["batch_s"] for row in rows]}


def measure_snapshot():
    """In the build folder, because a temporary folder may be in memory."""
    own, copy = [], []
    with tempfile.TemporaryDirectory(prefix="bench-", dir=BUILD) as folder:
        for _ in range(REPEATS):
            copy.append(seconds("dd", "if=/dev/zero", f"of={folder}/dd", "bs=16M", "count=128",
                                "oflag=direct"))
            own.append(figures(BUILD / "tests/bench_snapshot", folder)["seconds"])
    return {"what": "snapshot of 2 GB: dd / Curtail", "unit": "s", "a": copy, "b": own}


@functools.cache
def starts_and_stops():
    """Two ranks that train the model d4, on the disk of the build folder."""
    environment = {**ENVIRONMENT, "TMPDIR": str(BUILD),
                   "PATH": f"{BUILD / 'bin'}:{ENVIRONMENT['PATH']}"}
    found = []
    for _ in range(REPEATS):
        with tempfile.TemporaryDirectory(prefix="bench-") as folder:
            execute(SOURCE / "scripts/gpu/measure.sh", folder, 120, "--parts", "training",
                    "--device", "cpu", "--depth", 4, "--vocabulary", 4096, "--sequence", 256,
                    "--rows", 8, "--batch-tokens", 2048, "--ranks", 2, "--steps", 1,
                    environment=environment, stdout=subprocess.DEVNULL)
            found.append({key: value
                          for line in (Path(folder) / "results.jsonl").read_text().splitlines()
                          for key, value in json.loads(line).items()})
    return found


def measure_start():
    return {"what": "from mpirun to the first step, d4, two ranks: 1.5 s / Curtail", "unit": "s",
            "a": [1.5], "b": [one["start_s"] for one in starts_and_stops()]}


def measure_stop():
    return {"what": "from SIGUSR1 until two ranks are gone, d4: (one micro-batch + 1.15 x dd + "
                    "0.3 s) / Curtail", "unit": "s",
            "a": [one["limit_s"] for one in starts_and_stops()],
            "b": [one["stop_s"] for one in starts_and_stops()]}


def main():
    Parser(description=__doc__).parse_args()
    end_on_signals()
    check_build()
    prepare_data()
    pairs = [measure_training, measure_ranks, measure_encoding, measure_poll, measure_muon,
             measure_snapshot, measure_start, measure_stop]
    if PEER_PYTHON:
        pairs += [measure_short_rows, measure_long_row, measure_head_time, measure_head_memory,
                  measure_merge]
    else:
        print("left out: training steps of PyTorch (CURTAIL_PEER_PYTHON is not set)")
    write_results("bench", [measure(pair) for pair in pairs])
    return 0


if __name__ == "__main__":
    sys.exit(main())
