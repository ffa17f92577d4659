# SPDX-License-Identifier: Apache-2.0
"""Runs scripts/gpu/measure.sh on the CPU, where training is real. A stub stands for
curtail-gpu-check, which only a build for GPUs has: one of its kernels is wrong, and one ends by a
signal. Stubs also stand for PyTorch."""
import contextlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from harness import BUILD, MPI_ENVIRONMENT, SOURCE, case, expect, main

CHECK = """#!/bin/sh
case "$*" in
    *"--only rotate"*)
        echo '{"name": "rotate bfloat16", "error": 0.5, "tolerance": 0.01, "good": false}'
        echo "curtail-gpu-check: this GPU computes wrong results" >&2
        exit 70 ;;
    *"--only mix"*)
        echo '{"name": "mix bfloat16", "error": 0.001, "tolerance": 0.01, "good": true}'
        echo "CUDA error: an illegal memory access was encountered" >&2
        kill -ABRT $$ ;;
    *"--only HANGING"*)
        echo '{"name": "before the end", "error": 0.001, "tolerance": 0.01, "good": true}'
        exec sleep 1000 ;;
    operations*)
        echo '{"name": "'"$3"'", "seconds": 0.002, "per_step": 8, "gb_per_s": 900}' ;;
    nccl*)
        echo '{"name": "nccl all_gather", "seconds": 0.002, "per_step": 0}' ;;
    machine*)
        echo '{"name": "LibTorch", "version": "2.11.0"}' ;;
    *)
        echo '{"name": "'"$*"'", "error": 0.001, "tolerance": 0.01, "good": true}' ;;
esac
"""
ANSWERS = """import sys
print('{"ready": true}', flush=True)
for line in sys.stdin:
    print('{"step_s": 0.5, "passes_s": 0.4, "optimizer_s": 0.1}', flush=True)
"""
# More than two rows do not fit into its memory.
SMALL = """import sys
if int(sys.argv[sys.argv.index("--rows") + 1]) > 2:
    sys.exit("torch.OutOfMemoryError: CUDA out of memory")
""" + ANSWERS
FAILS = "raise RuntimeError('no kernel image')\n"
HANGS = "import time\ntime.sleep(1000)\n"


class Rig:
    def __init__(self, hanging="nothing"):
        self.folder = Path(tempfile.mkdtemp(prefix="curtail-measure-test-"))
        self.out = self.folder / "out"
        (self.folder / "bin").mkdir()
        check = self.folder / "bin/curtail-gpu-check"
        check.write_text(CHECK.replace("HANGING", hanging))
        check.chmod(0o755)

    def start(self, peer, *options, seconds=50):
        stub = self.folder / "peer.py"
        stub.write_text(peer)
        return subprocess.Popen(
            [SOURCE / "scripts/gpu/measure.sh", self.out, str(seconds), "--device", "cpu",
             "--depth", "2", "--vocabulary", "512", "--sequence", "64", "--rows", "4",
             "--batch-tokens", "1024", "--steps", "2", "--repetitions", "2", "--documents", "20",
             "--pace", "0.01", "--peer", stub, *options],
            env={**os.environ, **MPI_ENVIRONMENT, "TMPDIR": str(self.folder),
                 "PATH": f"{self.folder / 'bin'}:{BUILD / 'bin'}:{os.environ['PATH']}"},
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def measure(self, peer, *options, code, **more):
        process = self.start(peer, *options, **more)
        output = process.communicate(timeout=50)[0]
        expect(process.returncode == code, f"exit code {process.returncode}: {output}")
        names = sorted(path.name for path in self.out.iterdir())
        expect(names == ["log.txt", "metrics.jsonl", "results.jsonl", "stderr.txt"], names)
        return self.results()

    def results(self):
        return [json.loads(line) for line in (self.out / "results.jsonl").read_text().splitlines()]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder)


def of(results, part, name=None):
    return [line for line in results
            if line["part"] == part and (name is None or line["figure"] == name)]


def wait_until(condition, what):
    end = time.monotonic() + 20
    while not condition():
        expect(time.monotonic() < end, f"timed out: {what}")
        time.sleep(0.02)


@case(seconds=3)
def every_part_is_measured_though_kernels_are_wrong_and_die():
    with Rig() as rig:
        results = rig.measure(ANSWERS, code=70)
        parts = [line["part"] for line in results if line["figure"] == "part ended"]
        expect(parts == ["machine", "kernels", "operations", "training", "nccl", "compiled",
                         "eager", "two ranks"], parts)
        kernels = of(results, "kernels")
        expect(of(kernels, "kernels", "rotate bfloat16")[0]["good"] is False, kernels)
        expect("wrong results" in of(kernels, "kernels", "rotate")[0]["died"], kernels)
        died = of(kernels, "kernels", "mix")[0]["died"]
        expect("SIGABRT" in died and "illegal memory access" in died, died)
        expect(any("normalize" in line["figure"] for line in kernels), "the next kernel is missing")
        expect(len(of(results, "operations")) == 7, of(results, "operations"))
        speed = of(results, "training", "ours 1 speed")[0]
        expect(speed["tokens_per_s"] > 0 and speed["mfu"] > 0, speed)
        stop = of(results, "training", "ours 1 stop")[0]
        expect(0 < stop["stop_s"] < 20 and stop["snapshot_bytes"] > 100_000, stop)
        start = of(results, "training", "ours 1 start")[0]
        expect(0 < start["start_s"] < 20 and start["phases_s"]["first_step"] > 0, start)
        ratio = of(results, "peers", "ratio to compiled")[0]
        expect(len(ratio["ours_tokens_per_s"]) == 2, ratio)
        expect(ratio["compiled_tokens_per_s"] == [2048, 2048], ratio)
        expect(of(results, "peers", "eager")[0]["tokens_per_s"] == 2048, results)
        expect(of(results, "two ranks", "training")[0]["steps"] == 3, of(results, "two ranks"))
        expect(results[-1]["part"] == "verdict" and results[-1]["exit_code"] == 70, results[-1])
        expect(results[-1]["failed"] == ["kernels rotate", "kernels mix"], results[-1])
        metrics = [json.loads(line)["run"]
                   for line in (rig.out / "metrics.jsonl").read_text().splitlines()]
        expect({"ours 1", "ours 2", "two ranks"} == set(metrics), metrics)
        page_has_the_figures(rig.out)


def page_has_the_figures(folder):
    subprocess.run([SOURCE / "scripts/gpu/figures.py", folder], check=True)
    page = (folder / "README.md").read_text()
    for text in ("| tokens per second, torch.compile | 2,048 (2,048 to 2,048) |", "SIGABRT",
                 "| rotate bfloat16 | 5.0e-01 | 1e-02 | - | **no** |", "| LibTorch | 2.11.0 |",
                 "The verdict is exit code 70."):
        expect(text in page, f"{text} is missing: {page}")


@case()
def a_peer_without_enough_memory_halves_its_rows():
    with Rig() as rig:
        results = rig.measure(SMALL, "--parts", "training,compiled,eager", code=0)
        lines = of(results, "peers", "compiled")
        expect([line["rows"] for line in lines] == [4, 2, 2], lines)
        expect(lines[0]["tokens_per_s"] is None and "out of memory" in lines[0]["why"], lines[0])
        expect(of(results, "peers", "ratio to compiled")[0]["rows"] == 2, results)
        expect("out of memory" in (rig.out / "stderr.txt").read_text(), "no stderr of the peer")


@case(seconds=3)
def a_peer_that_fails_or_hangs_costs_no_figure_of_ours():
    for peer, why in ((FAILS, "no kernel image"), (HANGS, "no answer within 1 s")):
        with Rig() as rig:
            results = rig.measure(peer, "--parts", "training,compiled", "--peer-limit", "1", code=0)
            expect(of(results, "training", "ours 1 speed")[0]["tokens_per_s"] > 0, results)
            last = of(results, "peers", "compiled")[-1]
            expect(last["tokens_per_s"] is None and why in last["why"], last)


@case()
def the_last_parts_are_left_out_if_the_time_is_short():
    with Rig() as rig:
        results = rig.measure(ANSWERS, "--pace", "1000", "--parts", "machine,compiled,eager",
                              code=0, seconds=3)
        expect([line["part"] for line in results if line["figure"] == "skipped"] ==
               ["machine", "compiled", "eager"], results)
        expect(results[-1]["skipped"] == ["machine", "compiled", "eager"], results[-1])


@case(seconds=3)
def a_kernel_that_hangs_ends_at_its_limit():
    with Rig(hanging="square_relu") as rig:
        results = rig.measure(ANSWERS, "--parts", "kernels,nccl", code=70, seconds=5)
        hung = of(results, "kernels", "square_relu")[0]
        expect("the time for everything ended" in hung["why"], hung)
        expect(of(results, "kernels", "before the end"), "the figure before it is lost")
        expect(results[-1]["part"] == "verdict", results[-1])
        expect(results[-1]["skipped"] == ["kernels", "nccl"], results[-1])


@case()
def garbage_costs_no_other_figure():
    """A flood of lines, a line without end, other JSON, and a peer that answers nonsense."""
    flood = """yes '{"name": "x", "seconds": 1}' | head -n 20000"""
    odd = """printf '[1]\\n7\\n{"part": 3, "figure": 4, "name": 5, "x": NaN}\\n'; exit 0"""
    endless = "yes | head -c 1000000 | tr -d '\\n'"
    for lines, died in ((flood, True), (odd, False), (endless, False)):
        with Rig() as rig:
            check = rig.folder / "bin/curtail-gpu-check"
            check.write_text(check.read_text().replace(
                'case "$*" in', 'case "$*" in\n    *square_relu*) ' + lines + " ;;", 1))
            results = rig.measure(ANSWERS, "--parts", "kernels,nccl", code=70)
            expect(bool(of(results, "kernels", "square_relu")) == died, results[-4:])
            expect(of(results, "nccl", "nccl all_gather"), "the next part is lost")
    nonsense = ANSWERS.replace("'{\"step_s\": 0.5, \"passes_s\": 0.4, \"optimizer_s\": 0.1}'",
                               "'{\"step_s\": 0}'")
    with Rig() as rig:
        results = rig.measure(nonsense, "--parts", "training,compiled", code=0)
        expect("no measurement" in of(results, "peers", "compiled")[-1]["why"], results)


@case()
def a_child_that_leaves_its_output_open_costs_no_time():
    with Rig() as rig:
        check = rig.folder / "bin/curtail-gpu-check"
        check.write_text(check.read_text().replace(
            'case "$*" in', 'case "$*" in\n    *square_relu*) sleep 1000 & exit 0 ;;', 1))
        results = rig.measure(ANSWERS, "--parts", "kernels,nccl", code=70)
        expect(not of(results, "kernels", "square_relu"), results)
        took = of(results, "kernels", "part ended")[0]["seconds"]
        expect(took < 20, f"the kernels took {took} s; the limit of one is 40 s")


@case()
def a_folder_takes_one_measurement_at_a_time():
    with Rig(hanging="square_relu") as rig, contextlib.ExitStack() as stack:
        first = rig.start(ANSWERS, "--parts", "kernels")
        stack.callback(first.wait)
        stack.callback(first.terminate)
        wait_until(lambda: (rig.out / "results.jsonl").exists() and
                   "before the end" in (rig.out / "results.jsonl").read_text(),
                   "the hanging kernel")
        second = rig.start(ANSWERS, "--parts", "kernels")
        output = second.communicate(timeout=20)[0]
        expect(second.returncode == 73 and "another measurement" in output, output)
        expect(of(rig.results(), "kernels", "before the end"), "the first one's figures are lost")


@case()
def a_closed_output_and_unknown_parts():
    with Rig() as rig:
        process = rig.start(ANSWERS, "--parts", "kernels,nccl")
        process.stdout.close()
        process.wait(50)
        expect(rig.results()[-1]["part"] == "verdict", rig.results()[-1])
        process = rig.start(ANSWERS, "--parts", "kernel")
        expect("--parts" in process.communicate()[0] and process.returncode == 64, "not refused")


@case()
def a_killed_measurement_loses_only_the_part_that_was_running():
    for number in (signal.SIGKILL, signal.SIGTERM):
        with Rig(hanging="square_relu") as rig:
            process = rig.start(ANSWERS, "--parts", "kernels,nccl")
            with contextlib.ExitStack() as stack:
                stack.callback(process.wait)
                stack.callback(process.kill)
                wait_until(lambda: (rig.out / "results.jsonl").exists() and
                           "before the end" in (rig.out / "results.jsonl").read_text(),
                           "the hanging kernel")
                child = children_of(process.pid)
                expect(len(child) == 1, child)
                process.send_signal(number)
                process.wait(20)
            wait_until(lambda: not Path(f"/proc/{child[0]}/cmdline").exists() or
                       Path(f"/proc/{child[0]}/cmdline").read_bytes() == b"", "the child's end")
            results = rig.results()
            expect(of(results, "kernels", "rotate bfloat16"), results)
            if number == signal.SIGTERM:
                expect(results[-1]["part"] == "verdict", results[-1])
                expect(process.returncode == 70, process.returncode)


def children_of(pid):
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(child) for child in text.split()]


if __name__ == "__main__":
    main()
