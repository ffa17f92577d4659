#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the parts of a round and prints a ratio for each row, and how large it should be. One
call measures both sides of a row in turns, because absolute times mean little on a shared machine.
Writes the results, the build and the system to results/bench-rounds/<time>-<commit>.json.

The row `requests` needs the Ceph programs that scripts/rgw.sh names, and is left out without them.

examples:
  scripts/bench_rounds.py
  scripts/bench_rounds.py --only join --only simulation
  scripts/bench_rounds.py --list"""
import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "bench"))
from common import (NAME, Parser, check_build, end_on_signals, measure,  # noqa: E402
                    write_results)
import simulation  # noqa: E402
import site_rows  # noqa: E402

# Each row: what measures it, and a program that it needs besides those of the build.
ROWS = {
    "requests": (site_rows.requests, "radosgw"),
    "simulation": (simulation.simulation, None),
    "join": (site_rows.join, None),
}


def parse_options():
    parser = Parser(description=__doc__)
    parser.add_argument("--only", action="append", choices=ROWS, metavar="ROW",
                        help="measure this row; repeat the option for more rows [all]")
    parser.add_argument("--list", action="store_true", help="describe the rows")
    return parser.parse_args()


def describe():
    for name, (function, need) in ROWS.items():
        print(f"{name}  (needs {need})" if need else name)
        print("    " + " ".join(function.__doc__.split()))


def main():
    options = parse_options()
    if options.list:
        describe()
        return 0
    end_on_signals()
    check_build()
    results = []
    for name in options.only or ROWS:
        function, need = ROWS[name]
        if need and not shutil.which(need):
            print(f"left out: {name} (needs {need})", flush=True)
            continue
        print(f"{NAME}: measuring {name}", file=sys.stderr, flush=True)
        result = {"name": name, **measure(function)}
        verdict = "yes" if result["ratio"] >= result["at_least"] else "NO"
        print(f"  at least {result['at_least']:.3g}: {verdict}", flush=True)
        results.append(result)
    if results:
        write_results("bench-rounds", results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
