# SPDX-License-Identifier: Apache-2.0
"""Training for measure.py: a run of one site, without a store, on random words that use the whole
vocabulary; the time from the start to the first step, the speed, and the time from SIGUSR1 until
the process has saved its state and is gone, beside dd with direct I/O of the same size."""
import json
import random
import signal
import statistics
import string
import subprocess
import time
from base64 import b64encode

from measure_children import Child, OutOfTime, run

IGNORED_STEPS = 2  # the first ones are slower
SPECIAL_TOKENS = 9


def make_words(vocabulary):
    """The beginnings of words, shortest first, and the words: a space and three letters each. The
    tokenizer has one token for each, so the words' tokens are most of the vocabulary."""
    letters = string.ascii_letters
    size = 1
    while size < len(letters) and (
            256 + (size + 1) + (size + 1) ** 2 + (size + 1) ** 3 + SPECIAL_TOKENS <= vocabulary):
        size += 1
    letters = letters[:size]
    first = [f" {a}" for a in letters]
    second = [word + b for word in first for b in letters]
    words = [word + c for word in second for c in letters]
    return first + second, words


def prepare(results, folder, options):
    """Writes text and tokenizer, and lets curtail-data make tokens of them. Returns the folder of
    the data, or None."""
    beginnings, words = make_words(options.vocabulary)
    tokens = [bytes([byte]) for byte in range(256)]
    tokens += [word.encode() for word in beginnings + words]
    tokenizer = folder / "tokenizer.tiktoken"
    tokenizer.write_text("".join(f"{b64encode(token).decode()} {rank}\n"
                                 for rank, token in enumerate(tokens)))
    source = random.Random(1)
    (folder / "text").mkdir()
    (folder / "text/words.txt").write_text(
        "\n\n".join("".join(source.choices(words, k=10_000)) for _ in range(options.documents)))
    good = run(results, "training", "data",
               ["curtail-data", "prepare", folder / "text", "--out", folder / "data", "--tokenizer",
                tokenizer, "--held-out", 0.01], 60)
    return folder / "data" if good else None


class Training:
    """A run of one site, trained with `curtail-train --alone`."""

    def __init__(self, folder, data, options, steps=1000, ranks=1, wrapper=(), **changes):
        """With several ranks, mpirun starts `wrapper` with the command of each rank."""
        self.folder = folder
        self.site = folder / "out/sites/here"
        self.log = folder / "log"
        sizes = {"depth": options.depth, "sequence": options.sequence, "rows": options.rows,
                 "batch_tokens": options.batch_tokens, **changes}
        self.micro_batches = max(
            1, sizes["batch_tokens"] // (sizes["rows"] * sizes["sequence"] * ranks))
        folder.mkdir()
        files = {
            "model.json": {"name": f"d{sizes['depth']}", "depth": sizes["depth"],
                           "sequence": sizes["sequence"], "vocabulary": options.vocabulary},
            "here.json": {"site": "here", "region": "here", "device": options.device,
                          "rank_peak_tflops": options.peak_tflops, "power": "unknown",
                          "launcher": {"kind": "local", "script": "none"}},
            "run.json": {
                "run": "check", "folder": "out", "store": "file:store", "model": "model.json",
                "data": {"folder": str(data), "epochs": 8192}, "sites": ["here.json"],
                "rounds": {"block_tokens": sizes["sequence"]},
                "training": {"batch_tokens": sizes["batch_tokens"], "steps": steps,
                             "device_batch_rows": sizes["rows"]},
                "optimizer": {"muon_precision":
                              "bfloat16" if options.device == "gpu" else "float32"}}}
        for name, content in files.items():
            (folder / name).write_text(json.dumps(content, indent=1))
        launch = ["mpirun", "--oversubscribe", "-n", ranks, *wrapper] if ranks > 1 else []
        self.command = [*launch, "curtail-train", folder / "run.json", "--site", "here", "--alone"]

    def lines(self, name):
        try:
            text = (self.site / name).read_text(errors="replace")
        except FileNotFoundError:
            return []
        # The last line may be half written.
        return [json.loads(line) for line in text[:text.rfind("\n") + 1].splitlines()]

    def event(self, kind):
        return next((line for line in self.lines("events.jsonl") if line["type"] == kind), {})


def wait_for_steps(child, training, count, limit_s):
    end = time.monotonic() + limit_s
    while len(training.lines("metrics.jsonl")) < count:
        if child.process.poll() is not None:
            raise RuntimeError(child.why_it_ended())
        if time.monotonic() > end:
            raise TimeoutError(f"it made no {count} steps within {limit_s:.0f} s")
        time.sleep(0.01)


def disk_seconds(folder, size, limit_s):
    """Seconds in which dd writes as many bytes into a new file; None if it cannot."""
    began = time.monotonic()
    try:
        done = subprocess.run(
            ["dd", "if=/dev/zero", f"of={folder / 'dd'}", "bs=1M", f"count={-(-size // (1 << 20))}",
             "oflag=direct", "conv=fsync", "status=none"], stdin=subprocess.DEVNULL,
            capture_output=True, timeout=max(0.1, limit_s))
    except (OSError, subprocess.TimeoutExpired):
        return None
    finally:
        (folder / "dd").unlink(missing_ok=True)
    return time.monotonic() - began if done.returncode == 0 else None


def card_under_load():
    """Clock, power and throttle reasons of the GPU at this moment; empty if they are unknown."""
    names = ("clocks.sm", "power.draw", "clocks_event_reasons.active", "temperature.gpu")
    try:
        text = subprocess.run(["nvidia-smi", f"--query-gpu={','.join(names)}",
                               "--format=csv,noheader,nounits"], capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=5).stdout
        clock, power, reasons, temperature = text.splitlines()[0].split(", ")
        return {"sm_mhz": float(clock), "power_w": float(power), "throttle": reasons,
                "temperature_c": float(temperature)}
    except (OSError, subprocess.TimeoutExpired, IndexError, ValueError):
        return {}


def measure_training(results, part, name, training, options, limit_s, with_stop):
    """Trains, stops, and adds the figures. Without `with_stop`, ends the training at once. Returns
    tokens per second, or None after a failure."""
    cut_short = limit_s > results.remaining()
    limit_s = min(limit_s, results.remaining())
    began = time.monotonic()
    try:
        child = Child(training.command, results.stderr_path, f"{part} {name}")
    except FileNotFoundError as missing:
        results.fail(part, name, f"{missing.filename} is missing", 69)
        return None
    try:
        wait_for_steps(child, training, IGNORED_STEPS + 1, limit_s)
        load = card_under_load() if options.device == "gpu" else {}
        wait_for_steps(child, training, IGNORED_STEPS + options.steps,
                       limit_s - (time.monotonic() - began))
        if with_stop:
            cut_short = cut_short or results.remaining() < 60
            stop_s = stop(child, min(60, results.remaining()))
    except (TimeoutError, subprocess.TimeoutExpired) as late:
        if cut_short:
            results.figure(part, name, why="the time for everything ended meanwhile")
            raise OutOfTime from None
        results.fail(part, name, str(late))
        return None
    except RuntimeError as broken:
        results.fail(part, name, str(broken))
        return None
    finally:
        child.kill()
        results.metrics(name, training.lines("metrics.jsonl"))
    step_s, rate = add_speed(results, part, name, training, options, load, began)
    if with_stop:
        add_stop(results, part, name, training, stop_s, step_s / training.micro_batches)
    return rate


def stop(child, limit_s):
    """Seconds from SIGUSR1 until the process is gone."""
    asked = time.monotonic()
    child.process.send_signal(signal.SIGUSR1)
    child.process.wait(max(0.1, limit_s))
    gone = time.monotonic()
    if child.process.returncode != 0:
        raise RuntimeError(child.why_it_ended())
    return gone - asked


def add_speed(results, part, name, training, options, load, began):
    steps = training.lines("metrics.jsonl")
    measured = steps[IGNORED_STEPS:IGNORED_STEPS + options.steps]
    step_s = statistics.median(step["step_s"] for step in measured)
    rate = statistics.median(step["tokens"] / step["step_s"] for step in measured)
    phases = {phase: statistics.median(step["phases_s"][phase] for step in measured)
              for phase in measured[0]["phases_s"]}
    results.figure(part, f"{name} speed", tokens_per_s=rate, step_s=step_s,
                   mfu=statistics.median(step.get("mfu") or 0 for step in measured),
                   phases_s=phases, energy_j=measured[-1].get("energy_j"),
                   **{key: steps[-1][key] for key in steps[-1] if key.endswith("_bytes")}, **load)
    results.figure(part, f"{name} start",
                   start_s=steps[0]["monotonic_s"] - began - steps[0]["step_s"],
                   phases_s=training.event("first-step").get("start_s"),
                   operators=training.event("trainer-start").get("gpu"))
    return step_s, rate


def add_stop(results, part, name, training, stop_s, micro_batch_s):
    size = sum(path.stat().st_size for path in training.site.glob("snapshot-*"))
    disk_s = disk_seconds(training.folder, size, min(30, results.remaining()))
    results.figure(part, f"{name} stop", stop_s=stop_s, micro_batch_s=micro_batch_s,
                   snapshot_bytes=size, dd_s=disk_s,
                   limit_s=micro_batch_s + 1.15 * disk_s + 0.3 if disk_s else None)
