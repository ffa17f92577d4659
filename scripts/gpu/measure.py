#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures a GPU with the programs on the PATH and PyTorch in python3. measure.sh calls it."""
import argparse
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

from measure_children import WITH_PARENT, Child, OutOfTime, Results, Stopped, run
from measure_training import Training, measure_training, prepare

HERE = Path(__file__).resolve().parent
KERNELS = ("rotate", "cross_entropy", "square_relu", "mix", "normalize", "embed")
OPERATIONS = ("kernels", "attention", "products", "head", "optimizer", "copy")
CARD = ("name", "driver_version", "pci.bus_id", "memory.total", "clocks.sm", "clocks.max.sm",
        "clocks.mem", "clocks_event_reasons.active", "mig.mode.current", "ecc.mode.current",
        "power.limit", "temperature.gpu", "compute_cap")


def shared(name):
    """A file or folder of the project: in a bundle, or in a checkout."""
    places = (HERE / "share/curtail" / Path(name).name, HERE.parent.parent / name)
    return next((path for path in places if path.exists()), places[0])


class Measurement:
    def __init__(self, results, options, folder):
        self.results = results
        self.options = options
        self.folder = folder
        self.data = None
        self.ours = []  # tokens per second

    # ---- parts

    def machine(self):
        figure = self.results.figure
        figure("machine", "system", kernel=platform.release(), cores=os.cpu_count(),
               memory_bytes=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
               glibc=platform.libc_ver()[1], python=platform.python_version())
        if self.options.device == "gpu":
            try:
                text = subprocess.run(
                    ["nvidia-smi", f"--query-gpu={','.join(CARD)}", "--format=csv,noheader"],
                    capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=20).stdout
                for line in text.splitlines():
                    figure("machine", "card", **dict(zip(CARD, line.split(", "))))
            except (OSError, subprocess.TimeoutExpired) as broken:
                self.results.fail("machine", "card", str(broken), 69)
        self.check("machine", "libraries", ["machine"], 30)

    def kernels(self):
        for name in KERNELS:
            self.check("kernels", name, ["kernels", "--only", name, "--seconds", 0.03], 40)
        self.check("kernels", "models", ["models", shared("tests/golden")], 60)

    def operations(self):
        options = self.options
        for group in OPERATIONS:
            self.check("operations", group,
                       ["operations", "--only", group, "--depth", options.depth,
                        "--rows", options.rows, "--batch-tokens", options.batch_tokens,
                        "--seconds", 0.06], 60)

    def training(self):
        self.data = prepare(self.results, self.folder, self.options)
        self.train("training")

    def nccl(self):
        self.check("nccl", "one rank", ["nccl"], 60)

    def compiled(self):
        """Ours and the compiled peer in turn. One process of the peer: compiling takes long."""
        peer = self.start_peer("compiled", self.options.rows, ["--compile"])
        if peer is None:
            return
        child, rows = peer
        rates = []
        try:
            for turn in range(self.options.repetitions):
                if turn > 0:
                    self.train("peers")
                rate = self.peer_rate(child, "compiled", rows)
                if rate is None:
                    break
                rates.append(rate)
        finally:
            child.kill()
            self.add_ratio(rates, rows)

    def add_ratio(self, rates, rows):
        if rates and self.ours:
            self.results.figure("peers", "ratio to compiled", ours_tokens_per_s=self.ours,
                                compiled_tokens_per_s=rates, rows=rows,
                                ratio=statistics.median(self.ours) / statistics.median(rates))

    def eager(self):
        # With all rows, the logits alone would not fit on a card of 80 GB.
        peer = self.start_peer("eager", max(1, self.options.rows // 2), [])
        if peer is None:
            return
        try:
            self.peer_rate(peer[0], "eager", peer[1])
        finally:
            peer[0].kill()

    def two_ranks(self):
        """Two ranks on one GPU. NCCL allows this if it takes them for ranks of two hosts."""
        if self.data is None:
            self.results.skip("two ranks", "there are no data, which the training makes")
            return
        rank = ["sh", "-c", 'NCCL_HOSTID=host-$OMPI_COMM_WORLD_RANK exec "$@"', "sh", *WITH_PARENT]
        training = Training(self.folder / "two-ranks", self.data, self.options, steps=3, ranks=2,
                            wrapper=rank, depth=min(4, self.options.depth), rows=4,
                            batch_tokens=16 * self.options.sequence)
        began = time.monotonic()
        if run(self.results, "two ranks", "training", training.command, 60,
               environment={"NCCL_SOCKET_IFNAME": "lo", "NCCL_DEBUG": "WARN"}):
            steps = training.lines("metrics.jsonl")
            self.results.figure("two ranks", "training", steps=len(steps),
                                loss=steps[-1]["loss"] if steps else None,
                                seconds=time.monotonic() - began)
        self.results.metrics("two ranks", training.lines("metrics.jsonl"))

    # ---- what the parts share

    def check(self, part, name, arguments, limit_s):
        """Runs a command of curtail-gpu-check. Each line of its output is a figure."""
        def add(line):
            try:
                values = json.loads(line)
                self.results.figure(part, str(values.pop("name")), **values)
            except (ValueError, KeyError, AttributeError, TypeError, RecursionError):
                self.results.note(f"{part}: {line.rstrip()[:1000]}")
        run(self.results, part, name, ["curtail-gpu-check", *arguments, "--json"], limit_s, add)

    def train(self, part):
        number = len(self.ours) + 1
        name = f"ours {number}"
        if self.data is None:
            return
        folder = self.folder / f"ours-{number}-{part}"
        training = Training(folder, self.data, self.options, ranks=self.options.ranks)
        rate = measure_training(self.results, part, name, training, self.options, 150,
                                with_stop=not self.ours)
        shutil.rmtree(folder, ignore_errors=True)
        if rate is not None:
            self.ours.append(rate)

    def start_peer(self, name, rows, arguments):
        """A peer that has warmed up, and its rows. Halves them if it fails. None if it cannot run;
        that is never a failure of ours."""
        options = self.options
        while rows >= 1:
            command = [sys.executable, options.peer or shared("bench/peers") / "gpt_step.py",
                       "--serve", "--depth", options.depth, "--vocabulary", options.vocabulary,
                       "--sequence", options.sequence, "--rows", rows, "--accumulation",
                       max(1, options.batch_tokens // (rows * options.sequence)), "--warmup", 2,
                       "--device", "cuda" if options.device == "gpu" else "cpu", *arguments]
            began = time.monotonic()
            child = Child(command, self.results.stderr_path, f"peers {name}, {rows} rows")
            try:
                end = began + min(options.peer_limit, self.results.remaining())
                while (ready := child.line(end - time.monotonic())) is not None:
                    if "ready" in ready:
                        break
            except TimeoutError as late:
                child.kill()
                self.results.figure("peers", name, rows=rows, tokens_per_s=None, why=str(late))
                return None
            except BaseException:
                child.kill()
                raise
            if ready is not None:
                self.results.figure("peers", f"{name} start", rows=rows,
                                    start_s=time.monotonic() - began)
                return child, rows
            child.kill()
            self.results.figure("peers", name, rows=rows, tokens_per_s=None,
                                why=child.why_it_ended())
            rows //= 2
        return None

    def peer_rate(self, child, name, rows):
        child.say(f"{self.options.steps}\n")
        why = None
        try:
            line = child.line(min(60, self.results.remaining()))
            if line is not None:
                answer = json.loads(line)
                rate = self.options.batch_tokens / answer["step_s"]
                self.results.figure("peers", name,
                                    **{**answer, "rows": rows, "tokens_per_s": rate})
                return rate
        except TimeoutError as late:
            why = str(late)
        except (ValueError, KeyError, TypeError, ArithmeticError, RecursionError):
            why = f"its answer is no measurement: {line.rstrip()[:300]}"
        child.kill()
        self.results.figure("peers", name, rows=rows, tokens_per_s=None,
                            why=why or child.why_it_ended())
        return None


# The parts in the order of their value, and the seconds that each needs at least.
PARTS = (("machine", Measurement.machine, 3), ("kernels", Measurement.kernels, 15),
         ("operations", Measurement.operations, 20), ("training", Measurement.training, 30),
         ("nccl", Measurement.nccl, 10), ("compiled", Measurement.compiled, 100),
         ("eager", Measurement.eager, 25), ("two ranks", Measurement.two_ranks, 20))


def measure(results, options, folder):
    measurement = Measurement(results, options, folder)
    for name, part, needed_s in PARTS:
        if options.parts and name.replace(" ", "-") not in options.parts:
            continue
        if results.remaining() < needed_s * options.pace:
            results.skip(name, f"{results.remaining():.0f} s are left, and it needs {needed_s}")
            continue
        results.note(f"== {name}, {results.remaining():.0f} s left")
        began = time.monotonic()
        try:
            part(measurement)
        except OutOfTime:
            results.skip(name, "the time is over")
        except Stopped:
            raise
        except Exception as broken:  # a part must not cost the figures of another
            results.fail(name, "part", f"{type(broken).__name__}: {broken}")
        results.figure(name, "part ended", seconds=time.monotonic() - began)


def parts(text):
    names = text.split(",")
    if not set(names) <= {name.replace(" ", "-") for name, _, _ in PARTS}:
        raise ValueError
    return names


class Parser(argparse.ArgumentParser):
    def error(self, message):
        self.print_usage(sys.stderr)
        self.exit(64, f"{self.prog}: {message}; see --help\n")


def positive(text):
    if not 0 < float(text) < 1e6:
        raise ValueError
    return float(text)


def parse():
    parser = Parser(prog="measure.sh", description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="where to write the results")
    parser.add_argument("seconds", type=positive, help="time for everything")
    parser.add_argument("--device", default="gpu", choices=("gpu", "cpu"))
    parser.add_argument("--parts", type=parts, help="names with commas between them [all]: " +
                        ", ".join(name.replace(" ", "-") for name, _, _ in PARTS))
    parser.add_argument("--depth", type=int, default=20)
    parser.add_argument("--vocabulary", type=int, default=65536)
    parser.add_argument("--sequence", type=int, default=2048, help="tokens in a row [2048]")
    parser.add_argument("--rows", type=int, default=16, help="rows of a micro-batch [16]")
    parser.add_argument("--batch-tokens", type=int, default=524288, help="of a step [524288]")
    parser.add_argument("--ranks", type=int, default=1, help="of ours [1]")
    parser.add_argument("--steps", type=int, default=3, help="measured steps [3]")
    parser.add_argument("--repetitions", type=int, default=3, help="of ours and compiled [3]")
    parser.add_argument("--documents", type=int, default=100, help="of 10,000 words [100]")
    parser.add_argument("--peak-tflops", type=float, default=989,
                        help="dense bfloat16 peak of the GPU, for MFU [989: H100 SXM and H200]")
    parser.add_argument("--peer", type=Path, help="another gpt_step.py")
    parser.add_argument("--peer-limit", type=float, default=240,
                        help="seconds until a peer has warmed up [240]")
    parser.add_argument("--pace", type=float, default=1,
                        help="factor of the seconds that a part needs at least [1]")
    return parser.parse_args()


def main():
    options = parse()
    try:
        options.folder.mkdir(parents=True, exist_ok=True)
        results = Results(options.folder, options.seconds - 3)
    except BlockingIOError:
        print(f"measure.sh: another measurement writes to {options.folder}; name another folder",
              file=sys.stderr)
        sys.exit(73)
    except OSError as broken:
        print(f"measure.sh: cannot write to {options.folder}: {broken.strerror}", file=sys.stderr)
        sys.exit(73)

    def stop(number, _):
        raise Stopped(signal.Signals(number).name)
    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    signal.signal(signal.SIGHUP, stop)
    folder = Path(tempfile.mkdtemp(prefix="curtail-measure-"))
    try:
        measure(results, options, folder)
    except Stopped as stopped:
        results.fail("measurement", "stopped", str(stopped))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    results.figure("verdict", "all", exit_code=results.worst, failed=results.failed,
                   skipped=results.skipped)
    sys.exit(results.worst)


if __name__ == "__main__":
    main()
