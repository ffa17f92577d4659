#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures training on this machine's GPU: tokens per second beside the same model in PyTorch (eager
and compiled), the time from the start to the first step, and the time from SIGUSR1 until the
process has saved its state and is gone, beside dd with direct I/O of the same size.

Trains models of random weights on random words, without a store. gpu-check.sh calls it with the
programs on the PATH and PyTorch in python3. With --device cpu and a small model, it checks itself
on a machine without a GPU:

    training_check.py --device cpu --depths 1 --vocabulary 512 --sequence 64 --rows 4 \\
        --batch-tokens 1024 --without-peer

Exit codes: 0; 69 a program is missing; 70 a program failed."""
import argparse
import json
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
# In a bundle, and in a checkout.
PEERS = (HERE / "share/curtail/peers/gpt_step.py", HERE.parents[1] / "tests/peers/gpt_step.py")
IGNORED_STEPS = 2  # the first ones are slower
LIMIT_S = 240  # of one command


def fail(code, *words):
    print("training_check.py:", *words, file=sys.stderr)
    sys.exit(code)


def note(*words):
    print("training_check.py:", *words, file=sys.stderr, flush=True)


def execute(*command):
    """Runs a command to its end and returns its output."""
    command = [str(part) for part in command]
    try:
        done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL,
                              timeout=LIMIT_S)
    except FileNotFoundError:
        fail(69, command[0], "is missing: run gpu-check.sh, which sets the PATH")
    except subprocess.TimeoutExpired:
        fail(70, *command, f"did not end within {LIMIT_S} s")
    if done.returncode != 0:
        fail(70, *command, f"exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


class Training:
    """A run of one site, trained with `curtail-train --alone`."""

    def __init__(self, folder, data, depth, options, steps):
        self.folder = folder
        self.site = folder / "out/sites/here"
        # A rank has at most `rows` rows at once.
        self.micro_batches = max(
            1, options.batch_tokens // (options.rows * options.sequence * options.ranks))
        folder.mkdir()
        files = {
            "model.json": {"name": f"d{depth}", "depth": depth, "sequence": options.sequence,
                           "vocabulary": options.vocabulary},
            "here.json": {"site": "here", "region": "here", "device": options.device,
                          "rank_peak_tflops": options.peak_tflops,
                          "launcher": {"kind": "local", "script": "none"}},
            "run.json": {
                "run": "check", "folder": "out", "store": "file:store", "model": "model.json",
                "data": {"folder": str(data), "epochs": 8192}, "sites": ["here.json"],
                "rounds": {"block_tokens": options.sequence},
                "training": {"batch_tokens": options.batch_tokens, "steps": steps,
                             "device_batch_rows": options.rows},
                "optimizer": {"muon_precision":
                              "bfloat16" if options.device == "gpu" else "float32"}}}
        for name, content in files.items():
            (folder / name).write_text(json.dumps(content, indent=1))
        launch = ["mpirun", "--oversubscribe", "-n", str(options.ranks)] if options.ranks > 1 else []
        self.command = [*launch, "curtail-train", str(folder / "run.json"), "--site", "here",
                        "--alone"]

    def metrics(self):
        try:
            lines = (self.site / "metrics.jsonl").read_text().splitlines()
        except FileNotFoundError:
            return []
        return [json.loads(line) for line in lines if line.endswith("}")]


def prepare(folder):
    """Writes random words and their tokens. Their number matters, not what they say."""
    words = random.Random(1)
    lines = (" ".join("".join(words.choices("etaoinshrdlu", k=words.randint(1, 8)))
                      for _ in range(2000)) for _ in range(200))
    (folder / "text").mkdir()
    (folder / "text/words.txt").write_text("\n\n".join(lines))
    execute("curtail-data", "prepare", folder / "text", "--out", folder / "data", "--vocabulary",
            500, "--held-out", 0.01)
    return folder / "data"


def peer_rate(depth, options, compiled):
    """Tokens per second of the same model in PyTorch; None if it cannot be measured."""
    peer = next((path for path in PEERS if path.exists()), None)
    if options.without_peer or peer is None:
        return None
    accumulation = options.batch_tokens // (options.rows * options.sequence)
    command = [sys.executable, peer, "--depth", depth, "--vocabulary", options.vocabulary,
               "--sequence", options.sequence, "--rows", options.rows, "--device",
               "cuda" if options.device == "gpu" else "cpu", "--accumulation", accumulation,
               "--warmup", 1, "--steps", 3]
    note(f"measuring PyTorch, depth {depth}, {'compiled' if compiled else 'eager'}")
    result = json.loads(execute(*command, *(["--compile"] if compiled else [])))
    return options.batch_tokens / result["step_s"]


def measure_speed(folder, data, depth, options):
    training = Training(folder / f"speed-{depth}", data, depth, options,
                        IGNORED_STEPS + options.steps)
    note(f"training depth {depth} for {IGNORED_STEPS + options.steps} steps")
    execute(*training.command)
    steps = training.metrics()[IGNORED_STEPS:]
    rate = statistics.median(step["tokens"] / step["step_s"] for step in steps)
    mfu = [step["mfu"] for step in steps if step.get("mfu") is not None]
    return {"depth": depth, "tokens_per_s": rate, "mfu": statistics.median(mfu) if mfu else None,
            "eager_tokens_per_s": peer_rate(depth, options, compiled=False),
            "compiled_tokens_per_s": peer_rate(depth, options, compiled=True)}


def wait_for_steps(job, training, count):
    deadline = time.monotonic() + LIMIT_S
    while len(training.metrics()) < count:
        if job.poll() is not None:
            fail(70, "curtail-train ended with exit code", job.returncode)
        if time.monotonic() > deadline:
            fail(70, f"curtail-train made no {count} steps within {LIMIT_S} s")
        time.sleep(0.01)


def disk_time(folder, size):
    """Seconds in which dd writes as many bytes into a new file."""
    blocks = -(-size // (1 << 20))
    began = time.monotonic()
    execute("dd", "if=/dev/zero", f"of={folder / 'dd'}", "bs=1M", f"count={blocks}",
            "oflag=direct", "conv=fsync", "status=none")
    took = time.monotonic() - began
    (folder / "dd").unlink()
    return took


def measure_stop(folder, data, depth, options):
    training = Training(folder / f"stop-{depth}", data, depth, options, 1000)
    note(f"stopping depth {depth}")
    began = time.monotonic()
    with open(training.folder / "log", "wb") as log:
        job = subprocess.Popen(training.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        wait_for_steps(job, training, IGNORED_STEPS + 1)
        asked = time.monotonic()
        job.send_signal(signal.SIGUSR1)
        code = job.wait(LIMIT_S)
        gone = time.monotonic()
    finally:
        if job.poll() is None:
            job.kill()
    if code != 0:
        fail(70, "curtail-train ended with exit code", code, "\n",
             (training.folder / "log").read_text())
    steps = training.metrics()
    size = sum(path.stat().st_size for path in training.site.glob("snapshot-*"))
    micro_batch = statistics.median(s["step_s"] for s in steps) / training.micro_batches
    disk = disk_time(folder, size)
    return {"depth": depth, "start_s": steps[0]["monotonic_s"] - began - steps[0]["step_s"], "stop_s": gone - asked,
            "micro_batch_s": micro_batch, "state_bytes": size, "dd_s": disk,
            "stop_limit_s": micro_batch + 1.15 * disk + 0.3}


def ratio(ours, other):
    return f"{ours / other:.2f}" if other else "-"


def table(speeds, stops):
    lines = [("model", "tokens/s", "MFU", "eager", "ratio", "compiled", "ratio")]
    for s in speeds:
        per_s = [f"{s[k]:.0f}" if s[k] else "-" for k in
                 ("tokens_per_s", "eager_tokens_per_s", "compiled_tokens_per_s")]
        mfu = f"{100 * s['mfu']:.1f} %" if s["mfu"] is not None else "-"
        lines.append((f"d{s['depth']}", per_s[0], mfu, per_s[1],
                      ratio(s["tokens_per_s"], s["eager_tokens_per_s"]), per_s[2],
                      ratio(s["tokens_per_s"], s["compiled_tokens_per_s"])))
    lines.append(())
    lines.append(("model", "start (s)", "stop (s)", "limit (s)", "state", "dd (s)", ""))
    for s in stops:
        lines.append((f"d{s['depth']}", f"{s['start_s']:.2f}", f"{s['stop_s']:.2f}",
                      f"{s['stop_limit_s']:.2f}", f"{s['state_bytes'] / 1e9:.1f} GB",
                      f"{s['dd_s']:.2f}", ""))
    return "\n".join("".join(f"{cell:<12}" for cell in line).rstrip() for line in lines)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0],
        epilog="stop: from SIGUSR1 until the process is gone. limit: one micro-batch, 1.15 times "
        "the time of dd, and 0.3 s.")
    parser.add_argument("--device", default="gpu", choices=("gpu", "cpu"))
    parser.add_argument("--depths", type=int, nargs="+", default=[12, 20])
    parser.add_argument("--vocabulary", type=int, default=65536)
    parser.add_argument("--sequence", type=int, default=2048, help="tokens in a row")
    parser.add_argument("--rows", type=int, default=32, help="rows of a micro-batch")
    parser.add_argument("--batch-tokens", type=int, default=524288, help="tokens of a step")
    parser.add_argument("--ranks", type=int, default=1,
                        help="ranks of our training, each with its own GPU or CPU")
    parser.add_argument("--steps", type=int, default=6, help="measured steps")
    parser.add_argument("--peak-tflops", type=float, default=989,
                        help="dense bfloat16 peak of the GPU, for MFU [989: H100 SXM and H200]")
    parser.add_argument("--without-peer", action="store_true", help="do not measure PyTorch")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="curtail-check-", dir=os.environ.get("TMPDIR")))
    try:
        data = prepare(folder)
        speeds = [measure_speed(folder, data, depth, options) for depth in options.depths]
        stops = [measure_stop(folder, data, depth, options) for depth in options.depths]
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if options.json:
        print(json.dumps({"speed": speeds, "stop": stops}, indent=1))
    else:
        print(table(speeds, stops))


if __name__ == "__main__":
    main()
