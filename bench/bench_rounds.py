#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the parts of a round and prints a ratio for each row, and how large it should be. One
call measures both sides of a row in turns, because absolute times mean little on a shared machine.
Writes the results, the build and the system to results/bench-rounds/<time>-<commit>.json.

Goes on after a row that fails, and ends with 1 then.

Rows that need more than the build are left out where it is missing:
* CURTAIL_PEER_PYTHON names a Python with numpy and boto3 1.44, peers that Curtail does not need.
* CURTAIL_BUILD_D3CCB0C names the build folder of commit d3ccb0c, of which `cut-to-adopt` needs
  curtail-train and curtail-data.
* The rows `requests`, `mpi-s3` and `s3-*` need the Ceph programs that scripts/rgw.sh names.

examples:
  bench/bench_rounds.py
  bench/bench_rounds.py --only join --only simulation
  bench/bench_rounds.py --list"""
import importlib
import os
import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "rows"))
from common import (NAME, OLD_BUILD, PEER_PYTHON, CommandFailed, Parser, check_build,  # noqa: E402
                    end_on_signals, measure, write_results)

PEER, OLD, CEPH = "CURTAIL_PEER_PYTHON", "CURTAIL_BUILD_D3CCB0C", "Ceph"
# Each row: the module and the function that measure it, and what it needs besides the build.
ROWS = {
    "s3-up-time": ("s3_rows", "up_time", [PEER, CEPH]),
    "s3-up-cpu": ("s3_rows", "up_cpu", [PEER, CEPH]),
    "s3-down-time": ("s3_rows", "down_time", [PEER, CEPH]),
    "s3-down-cpu": ("s3_rows", "down_cpu", [PEER, CEPH]),
    "payload-write": ("payloads", "payload_write", []),
    "merge": ("payloads", "merge", [PEER]),
    "site-merge": ("payloads", "site_merge", [PEER]),
    "executor-merge": ("payloads", "executor_merge", []),
    "executor-merge-memory": ("payloads", "executor_merge_memory", []),
    "executor-merge-561m": ("payloads", "executor_merge_561m", []),
    "requests": ("site_rows", "requests", [CEPH]),
    "simulation": ("simulation", "simulation", []),
    "join": ("site_rows", "join", []),
    "mpi-transfer": ("mpi_rows", "transfer", []),
    "mpi-connect": ("mpi_rows", "connect", []),
    "mpi-folder": ("mpi_rows", "from_folder", []),
    "mpi-s3": ("mpi_rows", "from_s3", [CEPH]),
    "cut-to-adopt": ("cut_to_adopt", "cut_to_adopt", [OLD]),
}


def function_of(name):
    """Imports the module of a row only now: some import files that not every checkout has."""
    module, function, _ = ROWS[name]
    return getattr(importlib.import_module(module), function)


def missing(name):
    present = {PEER: PEER_PYTHON, OLD: OLD_BUILD, CEPH: shutil.which("radosgw")}
    return [need for need in ROWS[name][2] if not present[need]]


def parse_options():
    parser = Parser(description=__doc__)
    parser.add_argument("--only", action="append", choices=ROWS, metavar="ROW",
                        help="measure this row; repeat the option for more rows [all]")
    parser.add_argument("--list", action="store_true", help="describe the rows")
    return parser.parse_args()


def describe():
    for name, (_, _, needs) in ROWS.items():
        print(f"{name}  (needs {', '.join(needs)})" if needs else name)
        print("    " + " ".join(function_of(name).__doc__.split()))


def measure_row(name):
    """The result of a row, or None if it failed."""
    print(f"{NAME}: measuring {name}", file=sys.stderr, flush=True)
    load = os.getloadavg()
    try:
        result = {"name": name, "load_before": load, **measure(function_of(name))}
    except (Exception, CommandFailed) as error:
        print(f"failed: {name}: {error}", flush=True)
        return None
    verdict = "yes" if result["ratio"] >= result["at_least"] else "NO"
    print(f"  at least {result['at_least']:.3g}: {verdict}", flush=True)
    return result


def measure_rows(names):
    """Measures the rows and writes the results, also when a signal ends it. Returns how many rows
    failed."""
    results, failed = [], 0
    try:
        for name in names:
            if missing(name):
                print(f"left out: {name} (needs {', '.join(missing(name))})", flush=True)
                continue
            result = measure_row(name)
            if result:
                results.append(result)
            else:
                failed += 1
    finally:
        if results:
            write_results("bench-rounds", results)
    return failed


def main():
    options = parse_options()
    if options.list:
        describe()
        return 0
    end_on_signals()
    check_build()
    failed = measure_rows(options.only or ROWS)
    if failed:
        print(f"{NAME}: {failed} rows failed", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
