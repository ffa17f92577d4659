# SPDX-License-Identifier: Apache-2.0
"""curtail-model evaluate --follow: one held-out loss per model of a run, in a site's journal."""
import json
import shutil
import signal

from harness import (STREAMS, SmallRun, case, execute, expect, kill, main, program, published,
                     read_json_lines, wait_for)


def small_run():
    return SmallRun(sites=("A", "B"), ranks=1, training={"tokens": 12_000, "step_at_least_s": 0.2},
                    rounds={"keep_models": 100, "checkpoint_interval_s": 0.5})


def follower(run, *options):
    return (program("curtail-model"), "evaluate", run.run_file, "--follow", "--site", "B",
            "--every", 0.1, "--json", *options)


def local_lines(run):
    return read_json_lines(run.out / STREAMS["evaluation"].format("B"))


def published_lines(run):
    text = published(run.pieces("B", "evaluation")).decode()
    return [json.loads(line) for line in text.splitlines()]


def models(run):
    """The commits that made a model."""
    return [commit for commit in run.commits() if commit["kind"] != "roster"]


def check_lines(run):
    """Each model has one line, in order, with the loss that `evaluate` computes."""
    lines, made = published_lines(run), models(run)
    expect([line["commit"] for line in lines] == [commit["number"] for commit in made],
           f"{[line['commit'] for line in lines]} of {[commit['number'] for commit in made]}")
    for line, commit in zip(lines, made):
        expect(line["model"] == commit["model"]["parts"][0]["sha256"], f"{line} of {commit}")
        expect(line["trained_tokens"] == commit["totals"]["tokens"], f"{line} of {commit}")
    loss = json.loads(execute(program("curtail-model"), "evaluate", run.run_file, "--commit",
                              made[2]["number"], "--json").stdout)["held_out_loss_nats"]
    expect(lines[2]["held_out_loss_nats"] == loss, f"{lines[2]}: {loss}")


def check_readers(run):
    """The store alone has what status and report show."""
    shutil.rmtree(run.out / "sites")
    newest = published_lines(run)[-1]
    status = json.loads(execute(program("curtail-status"), run.run_file, "--json").stdout)
    shown = status["held_out"]
    expect((shown["site"], shown["commit"], shown["loss_nats"], shown["behind_models"]) ==
           ("B", newest["commit"], newest["held_out_loss_nats"], 0), f"{shown} of {newest}")
    text = " ".join(execute(program("curtail-status"), run.run_file).stdout.split())
    expect(f"at commit {newest['commit']}, the newest model; at B" in text, text)
    (run.folder / "plotly.js").write_text("// no charts")
    report = json.loads(execute(program("curtail-report"), run.run_file, "--json", "--plotly",
                                run.folder / "plotly.js").stdout)
    expect([point["commit"] for point in report["held_out"]] ==
           [line["commit"] for line in published_lines(run)], report["held_out"])


@case(seconds=6)
def each_model_has_one_line_although_a_follower_is_killed():
    with small_run() as run:
        first = run.start(*follower(run))
        wait_for(lambda: "has no commit yet" in run.log(), "the wait for the run")
        refused = execute(*follower(run), code=75)
        expect("cannot follow run small at site B" in refused.stderr, refused.stderr)
        trainer = run.start_training("A")
        wait_for(lambda: len(local_lines(run)) >= 2, "two lines", timeout=60)
        kill(first.pid)
        first.wait()
        made = len(models(run))
        wait_for(lambda: len(models(run)) > made, "a model that nobody has evaluated", timeout=60)
        second = run.start(*follower(run))
        expect(trainer.wait(60) == 0 and second.wait(60) == 0, run.log()[-3000:])
        expect(run.commits()[-1]["complete"], "the run must be complete")
        check_lines(run)
        run.verify()
        third = execute(*follower(run))
        expect(third.stdout == "", "everything is evaluated: " + third.stdout)
        check_readers(run)


@case(seconds=3)
def a_stop_request_ends_a_follower_with_0():
    with small_run() as run:
        run.start_training("A")
        for number in (signal.SIGUSR1, signal.SIGTERM, signal.SIGINT):
            before = len(local_lines(run))
            process = run.start(*follower(run))
            wait_for(lambda: len(local_lines(run)) > before, "a line", timeout=60)
            process.send_signal(number)
            expect(process.wait(20) == 0, run.log()[-3000:])
            expect(published_lines(run) == local_lines(run), "all lines must be published")


@case()
def options_are_refused_that_cannot_work():
    with small_run() as run:
        for option in (("--site", "B"), ("--every", 5)):
            refused = execute(program("curtail-model"), "evaluate", run.run_file, *option, code=64)
            expect(f"{option[0]}: works only with --follow" in refused.stderr, refused.stderr)
        unknown = execute(program("curtail-model"), "evaluate", run.run_file, "--follow", "--site",
                          "BB", code=78)
        expect('did you mean "B"?' in unknown.stderr, unknown.stderr)


if __name__ == "__main__":
    main()
