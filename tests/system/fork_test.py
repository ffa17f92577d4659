# SPDX-License-Identifier: Apache-2.0
"""curtail-store fork: a run continues as another run, with real trainers."""
import json
import shutil

from harness import SmallRun, case, execute, expect, main, program


def fork(run, *options, code=0, **settings):
    """Writes fork.json, the run file of the fork, and forks `run` with it."""
    config = {**run.config, "run": "fork", "folder": "out-fork", **settings}
    run.write("fork.json", config)
    return execute(program("curtail-store"), "fork", run.run_file, run.folder / "fork.json",
                   *options, code=code)


def records(run, name):
    folder = run.store_folder / "runs" / name / "commits"
    return [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]


@case(seconds=3)
def a_complete_run_continues_as_a_fork():
    with SmallRun(training={"tokens": 2900}) as run:
        run.train("A")
        tip = run.commits()[-1]
        expect(tip["complete"], "the run must be complete")
        done = fork(run, training={**run.config["training"], "tokens": 6000, "batch_tokens": 256})
        expect(f"continues from commit {tip['number']} of run small" in done.stdout, done.stdout)
        file = run.folder / "fork.json"
        before = execute(program("curtail-status"), file).stdout
        expect(f"fork      of commit {tip['number']} of run small" in before, before)
        execute("mpirun", "-n", 2, program("curtail-train"), file, "--site", "A")
        chain = records(run, "fork")
        expect(chain[0]["model"] == tip["model"] and chain[0]["data"] == tip["data"], chain[0])
        expect(chain[-1]["complete"] and chain[-1]["totals"]["tokens"] == 47 * 128, chain[-1])
        steps = [json.loads(line) for line in
                 (run.folder / "out-fork/sites/A/metrics.jsonl").read_text().splitlines()]
        expect(steps[0]["progress_tokens"] == tip["totals"]["tokens"],
               "the schedules must continue")
        check_readers(run, file, tip)


def check_readers(run, file, tip):
    """Every program that reads a run must accept the fork."""
    for command in (("curtail-status", file, "--verify"), ("curtail-store", "verify", file),
                    ("curtail-store", "gc", file, "--dry-run")):
        execute(program(command[0]), *command[1:])
    shown = json.loads(execute(program("curtail-status"), file, "--json").stdout)
    expect(shown["chain"]["fork"]["run"] == "small", shown["chain"].get("fork"))
    execute(program("curtail-model"), "evaluate", file)
    report = run.folder / "report"
    execute(program("curtail-report"), file, "--out", report.with_suffix(".html"), timeout=120)
    (run.folder / "copy").mkdir()
    copy = f"file://{run.folder}/copy"
    execute(program("curtail-store"), "copy", file, copy)
    execute(program("curtail-store"), "verify", copy)


@case()
def an_interrupted_fork_is_no_run_and_can_be_resumed():
    with SmallRun(training={"tokens": 2900}) as run:
        run.train("A")
        more = {"training": {**run.config["training"], "tokens": 6000}}
        fork(run, **more)
        record = run.store_folder / "runs/fork/run.json"
        first = run.store_folder / "runs/fork/commits/00000001.json"
        whole, commit = record.read_bytes(), first.read_bytes()
        record.unlink()
        status = execute(program("curtail-status"), run.folder / "fork.json").stdout
        expect("has not started" in status, status)
        fork(run, **more)
        expect(record.read_bytes() == whole and first.read_bytes() == commit,
               "a resumed fork must have the same records")
        expect("had this fork already" in fork(run, **more).stdout, "a third call")


@case()
def unfit_forks_are_refused():
    with SmallRun(training={"tokens": 2900}) as run:
        run.train("A")
        more = {"training": {**run.config["training"], "tokens": 6000}}
        expect("would have 23" in fork(run, code=78).stderr, "the same budget")
        expect("no commit 99" in fork(run, "--commit", 99, code=66, **more).stderr, "a commit")
        shutil.rmtree(run.store / "models/1", ignore_errors=True)
        expect("no longer has" in fork(run, "--commit", 1, code=66, **more).stderr, "swept")
        model = json.loads((run.folder / "model.json").read_text())
        run.write("deep.json", {**model, "depth": 2})
        expect("another shape" in fork(run, code=78, model="deep.json", **more).stderr, "shape")
        shutil.copytree(run.folder / "data", run.folder / "data2")
        manifest = run.folder / "data2/manifest.json"
        manifest.write_text(manifest.read_text() + "\n")
        data = {"data": {**run.config["data"], "folder": "data2"}}
        expect("other data" in fork(run, code=78, **data, **more).stderr, "data")
        same = execute(program("curtail-store"), "fork", run.run_file, run.run_file, code=64)
        expect("same run" in same.stderr, same.stderr)
        expect(not (run.store_folder / "runs/fork").exists(), "nothing may be written")
        fork(run, **more)
        more["training"]["tokens"] = 7000
        done = fork(run, code=76, **more)
        expect("has another run fork" in done.stderr, done.stderr)


if __name__ == "__main__":
    main()
