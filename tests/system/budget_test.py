# SPDX-License-Identifier: Apache-2.0
"""A run with a token budget trains in two windows of a replay and ends at its very last block."""
import json
import signal
import subprocess

from harness import SmallRun, case, execute, expect, main, program, wait_for
from rig import trace

BUDGET, BLOCK = 300_000, 2048
BLOCKS = 147  # 300,000 / 2,048, rounded up


@case(seconds=28)
def budget_ends_a_run_in_its_second_window():
    with SmallRun(sites=("A",), epochs=8000,
                  rounds={"block_tokens": BLOCK, "grant_quantum_blocks": 4},
                  training={"batch_tokens": 2 * BLOCK, "device_batch_rows": 16, "tokens": BUDGET,
                            "step_at_least_s": 0.2},
                  optimizer={"schedule_tokens": BUDGET}) as run:
        site = json.loads((run.folder / "site_A.json").read_text())
        site.update(poll_period_s=1, signal_max_age_s=5, window={"close_delay_s": 1})
        run.write("site_A.json", site)
        (run.folder / "trace.csv").write_text(trace([(12, 50), (6, 500), (600, 50)]))
        poller = run.start(program("curtail-poll"), run.run_file, "--trace",
                           run.folder / "trace.csv", "--watch")
        wait_for(lambda: (run.out / "complete.json").exists(), "the end of the run", timeout=90)
        expect(len(run.poller_events("window-open")) == 2, "the run did not use two windows")
        wait_for(lambda: len(run.poller_events("job-ended")) == 2, "the end of the second job")
        poller.send_signal(signal.SIGTERM)
        try:
            poller.wait(timeout=30)
        except subprocess.TimeoutExpired:
            expect(False, "the poller did not stop")
        last = run.commits()[-1]
        expect(last["totals"]["tokens"] == BLOCKS * BLOCK, f"totals {last['totals']}")
        status = json.loads(execute(program("curtail-status"), run.run_file, "--json").stdout)
        chain = status["chain"]
        expect(chain["complete"] and chain["blocks"]["done"] == chain["blocks"]["whole"] == BLOCKS,
               f"{chain['complete']} {chain['blocks']}")
        expect(len(run.poller_events("job-submitted")) == 2, "a complete run got another job")
        expect(not run.poller_events("job-failed"), "the end of the run is shown as a problem")
        expect((run.store / "closing/A/1.json").exists(), "the journal has no closing")
        verified = execute(program("curtail-status"), run.run_file, "--verify").stdout
        expect("1 sites have closed their journal" in verified, verified)
        run.verify()


if __name__ == "__main__":
    main()
