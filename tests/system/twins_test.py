# SPDX-License-Identifier: Apache-2.0
"""Two processes train one site in one store: in two folders, as two pollers or a copied folder do, or
in one folder of a file server whose locks hold on one machine only."""
import signal

from harness import (BUILD, PACED, SmallRun, case, expect, main, mpirun, program, read_json_lines,
                     wait_for)

ROUNDS = {"status_interval_s": 0.5}


class TwoFolders(SmallRun):
    def __init__(self):
        super().__init__(sites=("A",), ranks=1, training=PACED, rounds=ROUNDS)
        self.write("run2.json", {**self.config, "folder": "out2", "store": "file:out/store"})

    def begin(self, folder, *environment):
        file = {"out": "run.json", "out2": "run2.json"}[folder]
        return self.start(*mpirun(1, "env", *environment, program("curtail-train"),
                                  self.folder / file, "--site", "A"))

    def lines(self, folder, name):
        return read_json_lines(self.folder / folder / "sites/A" / name)

    def steps(self, folder):
        return len(self.lines(folder, "metrics.jsonl"))


@case(seconds=8)
def two_folders_of_a_site_take_turns_and_lose_no_work():
    with TwoFolders() as run:
        job = run.begin("out")
        wait_for(lambda: run.steps("out") > 3, "steps")
        for folder in ("out2", "out"):
            before, steps, job = job, run.steps(folder), run.begin(folder)
            expect(before.wait(30) == 75, f"exit code {before.returncode}")
            wait_for(lambda: run.steps(folder) > steps + 3, f"steps in {folder}")
        job.send_signal(signal.SIGUSR1)
        expect(job.wait(30) == 0, f"exit code {job.returncode}")
        expect("another process of this site has joined the run" in run.log(), run.log())
        waits = [e for e in run.lines("out2", "events.jsonl") if e["type"] == "waiting-for-twin"]
        expect(waits, "the second process must wait for the first")
        trained = sum(step["tokens"] for folder in ("out", "out2")
                      for step in run.lines(folder, "metrics.jsonl"))
        tokens = run.commits()[-1]["totals"]["tokens"]
        expect(tokens == trained, f"{trained} tokens were trained, and the model has {tokens}")


@case(seconds=6)
def two_processes_in_a_folder_without_locks_lose_no_work():
    preload = f"LD_PRELOAD={BUILD}/tests/libno_flock.so"
    with TwoFolders() as run:
        first = run.begin("out", preload)
        wait_for(lambda: run.steps("out") > 3, "steps")
        second = run.begin("out", preload)
        expect(first.wait(30) == 75, f"exit code {first.returncode}")
        steps = run.steps("out")
        wait_for(lambda: run.steps("out") > steps + 3, "steps of the second process")
        second.send_signal(signal.SIGUSR1)
        expect(second.wait(30) == 0, f"exit code {second.returncode}")
        expect(run.events("A", "waiting-for-twin"), "the second process must wait for the first")
        trained = sum(step["tokens"] for step in run.metrics("A"))
        tokens = run.commits()[-1]["totals"]["tokens"]
        expect(tokens == trained, f"{trained} tokens were trained, and the model has {tokens}")


if __name__ == "__main__":
    main()
