# SPDX-License-Identifier: Apache-2.0
"""A run of the first record format (tests/chain/format1): programs read it, none writes to it, and
a fork continues its model."""
import json
import lzma
import shutil

from harness import SOURCE, SmallRun, execute, expect, main, program

TOKENS = 82944  # in the model of the newest commit, which is commit 10


class OldRun(SmallRun):
    """Sites A and B with the stored run, without the logs of its trainers."""

    def __init__(self):
        super().__init__(ranks=1, training={"batch_tokens": 1024},
                         rounds={"keep_models": 1, "milestone_every": 0})
        self.config.update(run="first", outer={"kind": "nesterov"})
        self.save()
        self.store = self.store_folder / "runs/first"
        shutil.copytree(SOURCE / "tests/chain/format1/runs", self.store_folder / "runs")
        for path in list(self.store.rglob("*.xz")):
            path.with_suffix("").write_bytes(lzma.decompress(path.read_bytes()))
            path.unlink()

    def program(self, name, *options, code=0):
        return execute(program(name), self.run_file, *options, code=code)

    def tool(self, command, *options, code=0):
        return execute(program("curtail-store"), command, self.run_file, *options, code=code)

    def files(self):
        return {str(path.relative_to(self.store_folder)): path.read_bytes()
                for path in self.store_folder.rglob("*") if path.is_file()}


def status_shows_it():
    with OldRun() as run:
        text = run.program("curtail-status").stdout
        expect("round     6" in text and f"tokens    {TOKENS} of" in text, text)
        expect("format 1" in text and "curtail-store fork" in text, text)
        expect("waits for a merge to include 1 contribution" in text, text)
        shown = json.loads(run.program("curtail-status", "--json").stdout)
        expect(shown["chain"]["commit"]["number"] == 10, shown["chain"])


def it_is_verified_to_the_last_byte():
    with OldRun() as run:
        for done in (run.program("curtail-status", "--verify"), run.tool("verify")):
            expect("10 commits, 4 headers and 3 payloads are correct" in done.stdout, done.stdout)
            expect(f"tokens    {TOKENS}" in done.stdout, done.stdout)
        for name in ("models/*/*/w0.h5", "deltas/*/*/*/d0.h5", "contrib/*/5.json",
                     "commits/00000009.json", "run.json"):
            path = next(run.store.glob(name))
            good = path.read_bytes()
            at = good.rfind(b"1")
            path.write_bytes(good[:at] + b"2" + good[at + 1:])
            # A lost header is no fault: the chain records the decision.
            done = run.tool("verify", code=0 if "contrib" in name else 76)
            expect(path.name in done.stdout + done.stderr, f"{name}: {done.stdout}{done.stderr}")
            path.write_bytes(good)


def the_tools_for_stores_read_it():
    with OldRun() as run:
        expect("first" in execute(program("curtail-store"), "ls",
                                  f"file://{run.store_folder}").stdout, "ls")
        for name in ("10", "run", "contrib/B.0b26cde8.6/2.json", "merge/5/1.json"):
            run.tool("show", name)
        kinds = json.loads(run.tool("ls", "--json").stdout)["kinds"]
        expect(kinds["commits"]["objects"] == 10, kinds)
        for _ in range(2):  # the second call takes commits from the cache
            done = run.tool("gc", "--dry-run", "--cache", run.folder / "cache")
            expect("commit 10, round 6" in done.stdout, done.stdout)
        copy = run.folder / "copy"
        copy.mkdir()
        run.tool("copy", f"file://{copy}")
        for path in copy.rglob("*.json"):
            same = run.store_folder / path.relative_to(copy)
            expect(path.read_bytes() == same.read_bytes(), f"{path}")
        execute(program("curtail-store"), "verify", f"file://{copy}")


def the_report_marks_what_is_missing():
    with OldRun() as run:
        page = run.folder / "report.html"
        done = run.program("curtail-report", "--out", page)
        expect("10 commits: 1 merged from two sites" in done.stdout, done.stdout)
        expect("there is no log of the work of A, B" in done.stdout, done.stdout)
        report = json.loads(page.with_suffix(".json").read_text())
        expect(report["headline"]["tokens_by_site"] == {"A": 70144, "B": 12800}, report["headline"])


def its_model_is_evaluated():
    with OldRun() as run:
        done = execute(program("curtail-model"), "evaluate", run.run_file, "--json")
        expect(5 < json.loads(done.stdout)["held_out_loss_nats"] < 7, done.stdout)


def no_program_writes_to_it():
    with OldRun() as run:
        before = run.files()
        done = [run.train("A", ranks=1, code=65), run.tool("sweep", code=65),
                run.tool("amend", "--reason", "more", code=65),
                run.tool("repair", "--site", "A", code=65),
                execute(program("curtail-model"), "evaluate", run.run_file, "--follow", "--site",
                        "A", code=65)]
        for output in done:
            expect("format 1" in output.stderr, output.stderr)
            expect("curtail-store fork" in output.stderr, output.stderr)
        expect(run.files() == before, f"{run.files().keys() - before.keys()} is new")


def a_fork_continues_it():
    with OldRun() as run:
        before = run.files()
        tip = json.loads((run.store / "commits/00000010.json").read_text())
        training = {**run.config["training"], "tokens": TOKENS + 40 * 128}
        # One contribution ends the run: the stored deltas are far shorter than real ones.
        rounds = {**run.config["rounds"], "checkpoint_interval_s": 20}
        run.write("fork.json", {**run.config, "run": "second", "folder": "out2",
                                "training": training, "rounds": rounds})
        file = run.folder / "fork.json"
        done = run.tool("fork", file)
        expect("continues from commit 10 of run first" in done.stdout, done.stdout)
        first = json.loads((run.store_folder / "runs/second/commits/00000001.json").read_text())
        for key in ("round", "model", "outer", "totals", "norms"):
            expect(first[key] == tip[key], f"{key}: {first[key]}")
        expect(first["data"] == {**tip["data"], "aside": []}, first["data"])
        expect(first["format"] == 2 and first["members"] == [], first)
        execute(program("curtail-store"), "verify", file)
        execute("mpirun", "-n", 1, program("curtail-train"), file, "--site", "A")
        shown = json.loads(execute(program("curtail-status"), file, "--json").stdout)
        expect(shown["chain"]["complete"], shown["chain"])
        execute(program("curtail-store"), "verify", file)
        after = run.files()
        expect({name: after[name] for name in before} == before, "the old run must not change")


main([status_shows_it, it_is_verified_to_the_last_byte, the_tools_for_stores_read_it,
      the_report_marks_what_is_missing, its_model_is_evaluated, no_program_writes_to_it, a_fork_continues_it])
