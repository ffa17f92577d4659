# SPDX-License-Identifier: Apache-2.0
"""The procedures of docs/curtail-store.md that change a run, with the example files: a run file
that states only what a person must state."""
import hashlib
import json
import re
import signal

from harness import SOURCE, SmallRun, case, execute, expect, main, program, wait_for

STORE = program("curtail-store")
PACE_S = 0.1
SIZES = {"training": {"batch_tokens": 256},
         "data": {"folder": "data", "epochs": 2000},
         "rounds": {"block_tokens": 128, "round_time_s": 0.4, "checkpoint_interval_s": 0.4,
                    "gather_time_s": 0.5, "lease_s": 1.5}}


def example(name):
    text = (SOURCE / "inputs/examples" / name).read_text()
    return json.loads(re.sub(r"(^|\s)//.*", "", text))


class ExampleRun(SmallRun):
    """The run of inputs/examples: other sizes, times and launchers, but no other keys."""

    def __init__(self, tokens_per_parameter):
        super().__init__(sites=("coast", "plains"), ranks=1)
        sizes = {**SIZES, "folder": "out", "store": "file:out/store"}
        sizes["training"] = {**SIZES["training"], "tokens_per_parameter": tokens_per_parameter}
        self.config = example("run.json")
        for key, value in sizes.items():
            small = {**self.config[key], **value} if isinstance(value, dict) else value
            known = not isinstance(value, dict) or small.keys() == self.config[key].keys()
            expect(key in self.config and known, f"the example no longer has the keys of {key}")
            self.config[key] = small
        expect("optimizer" not in self.config, "the example states the optimizer")
        for site in ("coast", "plains"):
            own = json.loads((self.folder / f"site_{site}.json").read_text())
            own["launcher"]["grace_s"] = 10
            self.write(f"{site}.json", {**example(f"{site}.json"), "ranks": 1,
                                        "launcher": own["launcher"]})
        self.store = self.store_folder / "runs/mine"
        self.save()

    def train_until(self, tokens):
        """Trains at a pace, which is no setting of the run, until the model has `tokens`."""
        paced = {**self.config, "training": {**self.config["training"],
                                             "step_at_least_s": PACE_S}}
        self.write("paced.json", paced)
        job = self.start(program("curtail-train"), self.folder / "paced.json", "--site", "coast")
        wait_for(lambda: self.commits() and self.commits()[-1]["totals"]["tokens"] > tokens,
                 "a commit")
        job.send_signal(signal.SIGUSR1)
        expect(job.wait(30) == 0, "must leave")

    def amend(self, *options, file=None, code=0):
        return execute(STORE, "amend", file or self.run_file, "--reason", "test", *options,
                       code=code)

    def written(self, name, config):
        self.write(name, config)
        return self.folder / name


def check_rates(run, out):
    lines = (run.folder / out / "sites/coast/metrics.jsonl").read_text().splitlines()
    steps = [json.loads(line) for line in lines]
    idle = [s for s in steps if s["lr_scale"] <= 0 or s["update_norm"] <= 0]
    expect(not idle, f"steps without effect: {idle[:1]}")
    return steps


# The model has 90114 parameters. Its rates begin to fall after 60 % of the budget.
@case(seconds=4)
def a_run_is_extended_by_the_book():
    with ExampleRun(tokens_per_parameter=0.1) as run:
        run.train_until(0)
        stored = json.loads((run.store / "run.json").read_text())
        expect(stored["optimizer"]["schedule_tokens"] is None, stored["optimizer"])
        run.config["training"]["tokens_per_parameter"] = 0.2
        run.save()
        shown = run.amend("--dry-run").stdout
        expect("training.tokens changes from 9012 to 18023" in shown, shown)
        expect("created amendments/1.json" in run.amend().stdout, "amend")
        done = run.train("coast", ranks=1)
        expect("learning rate" not in done.stderr, done.stderr)
        tip = run.commits()[-1]
        expect(tip["complete"] and tip["totals"]["tokens"] == 141 * 128, tip["totals"])
        steps = check_rates(run, "out")
        falling = [s for s in steps if 9012 <= s["progress_tokens"] < 0.6 * 18023 - 256]
        expect(falling and all(s["lr_scale"] == 1 for s in falling), "the schedule must follow")
        expect(not run.events("coast", "zero-rate"), "no step has a rate of 0")
        run.verify()


@case(seconds=4)
def a_site_with_the_former_run_file_follows_the_amended_budget():
    with ExampleRun(tokens_per_parameter=0.1) as run:
        run.train_until(0)
        former = run.written("former.json", run.config)
        run.config["training"]["tokens_per_parameter"] = 0.15
        run.save()
        run.amend()
        done = execute(program("curtail-train"), former, "--site", "coast")
        expect("training.tokens is 13518 in the run's terms and 9012" in done.stderr, done.stderr)
        steps = check_rates(run, "out")
        rates = {s["lr_scale"] for s in steps if s["progress_tokens"] < 0.6 * 13518 - 256}
        expect(rates == {1} and run.commits()[-1]["complete"], f"rates {rates}")


@case(seconds=5)
def a_budget_is_fixed_once_the_rates_fall():
    with ExampleRun(tokens_per_parameter=0.1) as run:
        run.train_until(0.65 * 9012)
        expect(not run.commits()[-1]["complete"], "the run must not be complete")
        old = json.loads(json.dumps(run.config))
        run.config["training"]["tokens_per_parameter"] = 0.2
        run.save()
        for options in ((), ("--dry-run",)):
            refused = run.amend(*options, code=78).stderr
            expect("the learning rates already fall" in refused and "fork" in refused, refused)
        old["rounds"]["gather_time_s"] = 0.7
        run.amend(file=run.written("times.json", old))
        fork = run.written("fork.json", {**run.config, "run": "longer", "folder": "out-fork"})
        execute(STORE, "fork", run.run_file, fork)
        execute(program("curtail-train"), fork, "--site", "coast")
        check_rates(run, "out-fork")


@case(seconds=4)
def sites_enter_and_retire_by_the_book():
    with ExampleRun(tokens_per_parameter=0.3) as run:
        run.train_until(0)
        older = json.loads(json.dumps(run.config))
        third = json.loads((run.folder / "plains.json").read_text())
        run.write("harbor.json", {**third, "site": "harbor"})
        run.config["sites"].append("harbor.json")
        run.config["rounds"]["gather_time_s"] = 0.8
        run.save()
        shown = run.amend().stdout
        expect("site harbor may enter" in shown, shown)
        expect("rounds.gather_time_s changes from 0.5 to 0.8" in shown, shown)
        older["sites"].remove("plains.json")
        older["reference_site"] = "coast"
        file = run.written("older.json", older)
        shown = run.amend(file=file).stdout
        expect("site plains is retired" in shown and "2.json" in shown, shown)
        expect("rounds.gather_time_s stays as amendments/1.json has set it" in shown, shown)
        expect("sites.harbor stays" in shown, shown)
        only = json.loads((run.store / "amendments/2.json").read_text())
        expect(only["changes"] == {"sites.plains": [True, None]}, only["changes"])
        expect("--only" in run.amend(file=file, code=65).stderr, "nothing new in the file")
        run.amend("--only", "rounds.round_time_s", file=file, code=64)
        refused = run.train("plains", ranks=1, code=78).stderr
        expect("not in its list of sites" in refused, refused)
        run.train("harbor", ranks=1)
        terms = run.commits()[-1]["terms"]
        expect(terms["sites"] == ["coast", "harbor"], terms["sites"])
        expect(terms["params"]["gather_time_ms"] == 800, terms["params"])


@case(seconds=3)
def an_amendment_back_to_a_former_value_is_named():
    with ExampleRun(tokens_per_parameter=0.3) as run:
        run.train_until(0)
        older = run.written("older.json", run.config)
        run.config["rounds"]["gather_time_s"] = 0.8
        run.save()
        run.amend()
        shown = run.amend("--only", "rounds", file=older).stdout
        expect("rounds.gather_time_s changes from 0.8 to 0.5" in shown, shown)
        run.config["optimizer"] = {"lr_scale": 0.5}
        run.save()
        for command in (run.amend(code=78), run.train("coast", ranks=1, code=78)):
            expect("optimizer.lr_scale is" in command.stderr, command.stderr)


@case(seconds=5)
def values_that_are_not_stated_follow_from_the_terms_in_force():
    with ExampleRun(tokens_per_parameter=0.1) as run:
        run.train_until(0.65 * 9012)
        older = json.loads(json.dumps(run.config))
        run.config["rounds"]["round_time_s"] = 2
        run.save()
        shown = run.amend().stdout
        expect("rounds.drop_after_s changes from 1.2 to 6" in shown, shown)
        older["rounds"]["checkpoint_interval_s"] = 1
        shown = run.amend("--dry-run", file=run.written("older.json", older)).stdout
        expect("rounds.drop_after_s changes" not in shown, shown)
        older["rounds"]["round_time_s"] = 9
        refused = run.amend("--only", "rounds.round_time_s", code=65,
                            file=run.written("older.json", older)).stderr
        expect("must be at least twice" in refused and "budget" not in refused, refused)


@case(seconds=5)
def fewer_kept_models_make_no_run_unsound():
    with ExampleRun(tokens_per_parameter=0.3) as run:
        run.train_until(0)
        run.config["rounds"].update(keep_models=1, milestone_every=0)
        run.save()
        run.amend()
        run.train("coast", ranks=1)
        expect(run.commits()[-1]["complete"], "the run must go on")
        run.verify()
        # A backup has the commits, but not the amendments.
        for amendment in (run.store / "amendments").iterdir():
            amendment.unlink()
        run.verify()


@case(seconds=4)
def a_schedule_that_ends_early_is_announced():
    with SmallRun(ranks=1, training={"tokens": 8192}, optimizer={"schedule_tokens": 4096}) as run:
        warned = run.train("A").stderr
        expect("the last 4096 tokens train at a learning rate of 0" in warned, warned)
        expect("the learning rate is 0 from token 4096 on" in warned, warned)
        events = run.events("A", "zero-rate")
        expect([e["progress_tokens"] for e in events] == [4096], events)
        report = execute(program("curtail-report"), run.run_file, "--out", run.folder / "r.html")
        line = "A trained 4,096 tokens in 8 steps at a learning rate of 0"
        expect(line in report.stdout + (run.folder / "r.html").read_text(), report.stdout)
        shown = execute(program("curtail-status"), run.run_file).stdout
        expect("train at a learning rate of 0" in shown, shown)


def sealed(record):
    """The stored form of a record that somebody has written by hand."""
    def canonical(value):
        return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    digest = hashlib.sha256(canonical(record).encode()).hexdigest()
    return canonical({**record, "self": digest})


@case(seconds=4)
def an_absurd_amendment_kills_no_site():
    with ExampleRun(tokens_per_parameter=0.1) as run:
        run.train_until(0)
        run.config["rounds"]["gather_time_s"] = 0.8
        run.save()
        run.amend()
        path = run.store / "amendments/1.json"
        record = json.loads(path.read_text())
        del record["self"]
        path.chmod(0o600)
        path.write_text(sealed({**record, "changes": {"params.sweep_after_ms": [86400000, 0]}}))
        shown = execute(STORE, "show", run.run_file, "amendments/1.json", code=76).stderr
        expect("amendments/1.json" in shown and "sweep_after_ms: must be 1 to" in shown, shown)
        run.train("coast", ranks=1)
        expect(run.commits()[-1]["complete"], "the run must go on")


if __name__ == "__main__":
    main()
