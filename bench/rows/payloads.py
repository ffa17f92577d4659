# SPDX-License-Identifier: Apache-2.0
"""Rows of bench/bench_rounds.py about payloads on one machine. In the build folder, because a
temporary folder may be in memory."""
import functools
import os
import tempfile

from common import BUILD, REPEATS, figures, measure_merge, seconds

PAYLOAD_BYTES = 2 << 30
MODEL_92_M = 92_274_688
MODEL_561_M = 560_988_200


def payload_write():
    """A payload of 2 GiB, written durably into a store in a folder with its digest, and `dd` with
    direct I/O of the same size, in turns: dd's time / ours."""
    copy, own = [], []
    with tempfile.TemporaryDirectory(prefix="bench-", dir=BUILD) as folder:
        for _ in range(REPEATS):
            copy.append(seconds("dd", "if=/dev/zero", f"of={folder}/dd", "bs=16M",
                                f"count={PAYLOAD_BYTES >> 24}", "oflag=direct"))
            os.remove(f"{folder}/dd")
            own.append(figures(BUILD / "tests/bench_payload_write", "--folder", folder, "--bytes",
                               PAYLOAD_BYTES)["write_s"])
    return {"what": "payload of 2 GiB with its digest: dd / Curtail", "unit": "s", "a": copy,
            "b": own, "at_least": 0.6}


def merge():
    """The arithmetic of a merge of three contributions of 92 M parameters with an outer Nesterov
    step, on one thread: numpy in the way of Flower (bench/peers/merge.py) / Curtail."""
    return {**measure_merge(), "at_least": 8}


def site_merge():
    """The same arithmetic as a site merges, with the row `merge` in turns: it adds each delta to a
    sum as it arrives, and then takes the step. The peer's times are those of `merge`."""
    return {**measure_merge("site_merge_s", "merge of 3 x 92 M parameters, delta by delta"),
            "at_least": 8}


def merge_with_store(parameters, repeats):
    with tempfile.TemporaryDirectory(prefix="bench-", dir=BUILD) as folder:
        return figures(BUILD / "tests/bench_executor_merge", "--parameters", parameters,
                       "--folder", folder, "--repeats", repeats)


@functools.cache
def small_merges():
    return [merge_with_store(MODEL_92_M, 3) for _ in range(REPEATS)]


def executor_merge():
    """A merge of three contributions of 92 M parameters through the trainer's executor, on a store
    in a folder: 3 s / the time it takes. The file also has the time of the first merge of a
    process, which needs new memory."""
    return {"what": "merge of 3 x 92 M parameters with its store: 3 s / Curtail", "unit": "s",
            "a": [3.0], "b": [one["merge_s"] for one in small_merges()], "at_least": 1,
            "first_s": [one["first_s"] for one in small_merges()]}


def executor_merge_memory():
    """The peak memory of the process that makes those merges: 1.6 GB / Curtail."""
    return {"what": "peak memory of that merge: 1.6 GB / Curtail", "unit": "bytes", "a": [1.6e9],
            "b": [one["peak_bytes"] for one in small_merges()], "at_least": 1}


def executor_merge_561m():
    """The same with 561 M parameters, once: the memory of three models / the peak memory. Needs
    16 GB of disk in the build folder."""
    found = merge_with_store(MODEL_561_M, 0)
    return {"what": "peak memory of a merge of 3 x 561 M parameters: three models / Curtail",
            "unit": "bytes", "a": [3 * 4 * MODEL_561_M], "b": [found["peak_bytes"]],
            "at_least": 1, "merge_s": found["merge_s"]}
