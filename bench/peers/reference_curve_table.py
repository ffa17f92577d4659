#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the loss curves of Curtail and of the reference's Python (reference_curve.py).

    reference_curve_table.py METRICS FOLDER

METRICS is the file metrics.jsonl of Curtail's run. FOLDER has the curves of the reference:
reference-*.csv. Writes curtail.csv and curves.svg into FOLDER, and prints a table in Markdown: the
mean of the last 50 losses of each curve, and its difference from the curve reference-muon. A second
table has the absolute differences between the losses of single steps. Needs matplotlib."""
import argparse
import csv
import json
import statistics
from pathlib import Path

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams["svg.hashsalt"] = "reference-curve"  # equal curves give an equal file
from matplotlib import pyplot

LAST = 50
PEER = "reference-muon"


def convert(metrics, out):
    """Writes Curtail's curve in the form of the reference's curves."""
    lines = [json.loads(line) for line in metrics.read_text().splitlines()]
    with out.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("step", "tokens", "loss"))
        for line in lines:
            tokens = line["progress_tokens"] + line["tokens"]
            writer.writerow((line["step"], tokens, f"{line['loss']:.7f}"))


def read_curve(path):
    with path.open(newline="") as file:
        rows = [(int(row["tokens"]), float(row["loss"])) for row in csv.DictReader(file)]
    return tuple(zip(*rows))


def end_of(curve):
    return statistics.fmean(curve[1][-LAST:])


def print_table(curves):
    peer = end_of(curves[PEER])
    print(f"| curve | steps | mean of the last {LAST} losses | difference |\n|---|---|---|---|")
    for name, curve in curves.items():
        end = end_of(curve)
        print(f"| `{name}` | {len(curve[1])} | {end:.4f} | {100 * (end / peer - 1):+.3f} % |")


def print_differences(curves):
    """How far the other curves with Muon are from the peer's, in nats. Equal formulas differ by
    rounding only, which training amplifies from step to step."""
    print("\n| curve | step 1 | step 2 | step 3 | step 4 | median | largest |\n"
          "|---|---|---|---|---|---|---|")
    for name, (_, losses) in curves.items():
        if name == PEER or "adamw" in name:
            continue
        apart = [abs(own - peer) for own, peer in zip(losses, curves[PEER][1])]
        cells = [*apart[:4], statistics.median(apart), max(apart)]
        print(f"| `{name}` | " + " | ".join(f"{cell:.1e}" for cell in cells) + " |")


def smooth(losses, width=10):
    return [statistics.fmean(losses[max(0, i - width + 1):i + 1]) for i in range(len(losses))]


def style_of(name):
    """Curtail's curve is wide, because the peer's lies on it."""
    if name == "curtail":
        return {"color": "C0", "lw": 3.5, "alpha": 0.5}
    return {"color": "black", "ls": "--", "lw": 1} if name == PEER else {"lw": 1}


def draw(curves, out):
    figure, axes = pyplot.subplots(figsize=(7, 4), layout="constrained")
    for name, (tokens, losses) in curves.items():
        axes.plot([count / 1e6 for count in tokens], smooth(losses), label=name, **style_of(name))
    lowest = min(min(smooth(losses)) for _, losses in curves.values())
    axes.set(xlabel="million tokens", ylabel="loss [nats/token], mean of 10 steps",
             ylim=(lowest - 0.1, lowest + 1.9))
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(out, metadata={"Date": None})


def main():
    formatter = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=formatter)
    parser.add_argument("metrics", type=Path, metavar="METRICS")
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    options = parser.parse_args()
    convert(options.metrics, options.folder / "curtail.csv")
    paths = [options.folder / "curtail.csv", *sorted(options.folder.glob("reference-*.csv"))]
    curves = {path.stem: read_curve(path) for path in paths}
    if len({len(losses) for _, losses in curves.values()}) != 1:
        raise SystemExit("the curves differ in length; rerun to resume the shorter ones")
    print_table(curves)
    print_differences(curves)
    draw(curves, options.folder / "curves.svg")


if __name__ == "__main__":
    main()
