#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes README.md beside a results.jsonl of measure.sh: the tables of a GPU's figures.

    figures.py results/gpu-figures

Exit codes: 0; 64 usage error; 66 there is no results.jsonl."""
import json
import statistics
import sys
from pathlib import Path

HEAD = """# A GPU: figures

[figures.py](../../scripts/gpu/figures.py) has written this page from
[results.jsonl](results.jsonl), which `measure.sh` has written on the machine
([GPUs](../../docs/gpu.md#measure-a-machine)). Rates and times are medians of the measured steps or
calls. All figures are of one call, on one card.
"""


def spread(values):
    return f"{statistics.median(values):,.0f} ({min(values):,.0f} to {max(values):,.0f})"


def table(heading, rows):
    lines = [f"| {' | '.join(heading)} |", f"|{'---|' * len(heading)}"]
    return "\n".join(lines + [f"| {' | '.join(str(cell) for cell in row)} |" for row in rows])


def number(value, digits=1, unit=""):
    return "-" if value is None else f"{value:,.{digits}f}{unit}"


def parsed(line):
    """A line of results.jsonl; None if it is cut."""
    try:
        value = json.loads(line)
        return value if {"part", "figure"} <= value.keys() else None
    except (ValueError, AttributeError):
        return None


class Figures:
    def __init__(self, lines):
        self.lines = [line for line in map(parsed, lines) if line]

    def of(self, part, ending=""):
        return [line for line in self.lines
                if line["part"] == part and line["figure"].endswith(ending)]

    def first(self, part, ending):
        return next(iter(self.of(part, ending)), {})

    def step_s(self):
        return self.first("training", "speed").get("step_s")


def machine(figures):
    rows = [(key, value) for key, value in figures.first("machine", "card").items()
            if key not in ("part", "figure")]
    rows += [(line["figure"], line["version"]) for line in figures.of("machine")
             if "version" in line]
    return "## Machine\n\n" + table(("what", "value"), rows)


def training(figures):
    speeds = [line for part in ("training", "peers") for line in figures.of(part, "speed")]
    if not speeds:
        return "## Training\n\nThere are no figures."
    ratio = figures.first("peers", "ratio to compiled")
    ours = ratio.get("ours_tokens_per_s") or [line["tokens_per_s"] for line in speeds]
    compiled = ratio.get("compiled_tokens_per_s")
    eager = figures.first("peers", "eager").get("tokens_per_s")
    first = speeds[0]
    rows = [("tokens per second, ours", spread(ours)),
            ("tokens per second, torch.compile", spread(compiled) if compiled else "-"),
            ("ours / torch.compile", number(ratio.get("ratio"), 3)),
            ("tokens per second, PyTorch eager", number(eager, 0)),
            ("MFU", number(100 * first["mfu"], 1, " %")),
            ("a step", number(first["step_s"], 3, " s")),
            ("its update", number(first["phases_s"].get("update"), 3, " s"))]
    rows += [(key.replace("_", " "), number(value / 1e9, 1, " GB"))
             for key, value in first.items() if key.endswith("_bytes") and value]
    rows += [(name, number(first[key], 0)) for name, key in
             (("clock under load, MHz", "sm_mhz"), ("power under load, W", "power_w"))
             if key in first]
    return "## Training\n\n" + table(("what", "value"), rows)


def start_and_stop(figures):
    start = figures.first("training", "start")
    stop = figures.first("training", "stop")
    rows = [(f"start: {name}", number(seconds, 2, " s"))
            for name, seconds in (start.get("phases_s") or {}).items()]
    rows.append(("from the start to the first step", number(start.get("start_s"), 2, " s")))
    operators = start.get("operators") or {}
    rows += [(f"start: check of the {name}", number(operators[key], 2, " s"))
             for name, key in (("kernels", "kernels_s"), ("attention", "attention_s"))
             if key in operators]
    rows += [("from SIGUSR1 until the process is gone", number(stop.get("stop_s"), 2, " s")),
             ("a micro-batch", number(stop.get("micro_batch_s"), 3, " s")),
             ("snapshot", number(stop["snapshot_bytes"] / 1e9, 2, " GB") if stop else "-"),
             ("dd with direct I/O, as many bytes", number(stop.get("dd_s"), 2, " s")),
             ("limit: a micro-batch + 1.15 x dd + 0.3 s", number(stop.get("limit_s"), 2, " s"))]
    return "## Start and stop\n\n" + table(("what", "value"), rows)


def operations(figures):
    step_s = figures.step_s()
    rows = []
    for line in figures.of("operations"):
        if "seconds" not in line or line["figure"] == "part ended":
            continue
        share = line["seconds"] * line["per_step"] / step_s if step_s else None
        aten = line.get("aten_seconds")
        rows.append((line["figure"], number(line["seconds"] * 1e6),
                     number(line.get("tflop_per_s"), 0), number(line.get("gb_per_s"), 0),
                     number(line["per_step"], 0),
                     number(100 * share, 1, " %") if share else "-",
                     number(aten / line["seconds"], 1) if aten else "-"))
    return ("## Operations\n\nOne call each, at the sizes of a micro-batch. The share is that of a "
            "step of training, without the power that other\noperations leave; only operations of "
            "the step have one.\n\n" +
            table(("operation", "us", "TFLOP/s", "GB/s", "calls per step", "share", "ATen / ours"),
                  rows))


def kernels(figures):
    rows = [(line["figure"], f"{line['error']:.1e}" if line["error"] is not None else "NaN",
             f"{line['tolerance']:.0e}",
             number(line["reference_s"] / line["ours_s"], 1) if line.get("ours_s") else "-",
             "yes" if line["good"] else "**no**")
            for line in figures.of("kernels") if "good" in line]
    return "## Kernels\n\n" + table(("kernel or model", "error", "tolerance", "ATen / ours",
                                     "good"), rows)


def nccl(figures):
    rows = [(line["figure"], number(line["seconds"] * 1e3, 2, " ms"),
             number(line.get("gb_per_s"), 0)) for line in figures.of("nccl", "")
            if line["figure"].startswith("nccl")]
    two = figures.first("two ranks", "training")
    rows.append(("training of two ranks on this GPU", "-" if "steps" not in two else
                 f"{two['steps']} steps, {two['seconds']:.1f} s", "-"))
    return "## NCCL\n\n" + table(("what", "time", "GB/s"), rows)


def failures(figures):
    rows = [(line["part"], line["figure"], line.get("died") or line.get("why"))
            for line in figures.lines if "died" in line or line.get("why")]
    verdict = figures.first("verdict", "all")
    end = (f"The verdict is exit code {verdict['exit_code']}." if verdict else
           "The measurement was ended before its verdict.")
    if not rows:
        return f"## What failed\n\nNothing. {end}"
    return f"## What failed\n\n{table(('part', 'figure', 'why'), rows)}\n\n{end}"


def provenance(folder):
    """The commit and the time, which results.jsonl of an older measure.sh lacks."""
    try:
        facts = json.loads((folder / "provenance.json").read_text())
    except FileNotFoundError:
        return []
    return ["".join(f"* {name}: {value}\n" for name, value in facts.items()).rstrip()]


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        print(__doc__, file=sys.stderr if sys.argv[1:] != ["--help"] else sys.stdout)
        sys.exit(0 if sys.argv[1:] == ["--help"] else 64)
    folder = Path(sys.argv[1])
    try:
        figures = Figures((folder / "results.jsonl").read_text(errors="replace").splitlines())
    except FileNotFoundError:
        print(f"figures.py: {folder}/results.jsonl does not exist; run measure.sh {folder} 500",
              file=sys.stderr)
        sys.exit(66)
    parts = (machine, training, start_and_stop, operations, kernels, nccl, failures)
    (folder / "README.md").write_text("\n\n".join([HEAD.rstrip(), *provenance(folder),
                                                   *(p(figures) for p in parts)]) +
                                      "\n")


if __name__ == "__main__":
    main()
