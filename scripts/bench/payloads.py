# SPDX-License-Identifier: Apache-2.0
"""Rows of scripts/bench_rounds.py about payloads on one machine. In the build folder, because a
temporary folder may be in memory."""
import os
import tempfile

from common import BUILD, REPEATS, figures, seconds

PAYLOAD_BYTES = 2 << 30


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
