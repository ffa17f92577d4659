# SPDX-License-Identifier: Apache-2.0
"""The row of bench/bench_rounds.py about the simulator."""
import json
import os
import subprocess

from common import ENVIRONMENT, REPEATS, program


def simulation():
    """Simulated steps per second on one core, with all invariants checked after every step /
    100,000 steps per second. By processor time, so that other work matters little."""
    rates = []
    for first in range(1, 1 + 4 * REPEATS, 4):
        before = os.times()
        output = subprocess.run(
            ["taskset", "-c", "0", program("curtail-sim"), "rounds", "--seeds",
             f"{first}-{first + 3}", "--steps", "200000", "--json"],
            env=ENVIRONMENT, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True)
        after = os.times()
        used = (after.children_user - before.children_user +
                after.children_system - before.children_system)
        rates.append(json.loads(output.stdout)["steps"] / used)
    return {"what": "simulated steps per second of one core: Curtail / 100,000", "unit": "1/s",
            "a": rates, "b": [100_000], "at_least": 1}
