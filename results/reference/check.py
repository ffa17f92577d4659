#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Recomputes report.json, which `curtail-report --reference` prints, from the published logs.

check.py [DOCUMENT]
Compares each number of the entries headline, comparison, sites and windows to 9 digits, and each
point of each curve. Exits with 1 if one differs. docs/energy.md has the rules. Times are in seconds
after time zero. check_rest.py checks the rest: names, which steps a curve shows, other entries.
"""
import bisect
import csv
import json
import math
import sys
from collections import Counter, defaultdict, namedtuple
from datetime import datetime
from itertools import accumulate, combinations, groupby, zip_longest
from pathlib import Path
from statistics import fmean, stdev
from types import SimpleNamespace

HERE = Path(__file__).resolve().parent
SITES = {"client_0": "CAISO_NORTH", "client_1": "SPP_TX", "client_2": "NEM_SA"}
THINNED = "client_2"  # its log has only some of its steps
TRACE = "../../signals/mci_2026-01-11.csv"
STEP_TOKENS, PLANNED_STEPS = 524_288, 23_400
IDLE_KW, TRAINING_KW, THRESHOLD = 0.468, 2.024, 100
TAIL_STEPS, BUCKET_STEPS, SMOOTHING_STEPS, MOST_POINTS = 1000, 500, 100, 1500
EVENTS = {"PROVISION_DECISION": "opened", "PROVISION_COMPLETE": "ready",
          "CLIENT_CONNECTED": "connected", "DEPROVISION_MARKED": "dirty",
          "DEPROVISION_STARTED": "closed", "DEPROVISION": "released"}
NOTHING_UNKNOWN = {"unknown_kwh": 0, "held_kwh": 0, "held_s": 0}
Step = namedtuple("Step", "t step loss ppl")  # with the names that the document uses
Sample = namedtuple("Sample", "t v")
Minute = namedtuple("Minute", "t wh intensity g")  # power and intensity hold for a minute
Bucket = namedtuple("Bucket", "step d se")


def rows(name):
    return list(csv.DictReader((HERE / name).read_text("utf-8").splitlines()))


def steps_in(name):
    return [Step(*map(float, row.values())) for row in rows(name + ".csv")]


def trace():
    """Region -> samples. Time zero of the logs is the time of the first sample."""
    samples = rows(TRACE)
    when = [datetime.fromisoformat(s.pop("point_time")) for s in samples]
    return {region: [Sample((t - when[0]).total_seconds(), float(s[region]))
                     for t, s in zip(when, samples)] for region in samples[0]}


def training_of(steps):
    """Intervals of training: groups of steps that are at most 60 s apart."""
    breaks = [i for i in range(1, len(steps)) if steps[i].t - steps[i - 1].t > 60]
    return [(steps[a].t, steps[b - 1].t) for a, b in zip([0, *breaks], [*breaks, len(steps)])]


def windows_of(events, steps):
    """The windows in the order in which they opened, with the times of their events."""
    windows, latest = [], {}
    for event in events:
        site, name = event["client"], EVENTS.get(event["event_type"])
        if name == "opened":
            latest[site] = SimpleNamespace(site=site, closed=None, released=events[-1]["t"])
            windows.append(latest[site])
        # The log repeats "dirty" until the devices are released.
        if name and not (name == "dirty" and latest[site].closed):
            setattr(latest[site], name, event["t"])
    for w in windows:
        inside = [s.t for s in steps[w.site] if w.ready <= s.t <= w.released]
        w.first, w.last = inside[0], inside[-1]
    return windows


def rounds_of(events, steps):
    """The rounds that ended. `logged`: pairs of a site and a step; `made`: site -> its steps."""
    rounds = defaultdict(dict)
    for event in events:
        rounds[event["round"]][event["event_type"]] = event["t"]
    ended = {number: at for number, at in rounds.items() if "ROUND_END" in at}
    for number, at in ended.items():
        start, end = at["ROUND_START"], at["ROUND_END"]
        inside = [(site, s) for site in SITES for s in steps[site] if start <= s.t <= end]
        made, numbers = Counter(site for site, _ in inside), [s.step for _, s in inside]
        # The steps of a round have successive numbers.
        if THINNED in made:
            made[THINNED] += max(numbers) - min(numbers) + 1 - len(numbers)
        yield SimpleNamespace(number=int(number), start=start, end=end, logged=inside, made=made,
                              merged=at.get("AGGREGATION"))


def drawn(samples, end, training, held=()):
    """What a site draws at 0, 60, ... s. Both ends of an interval belong to it."""
    minutes = []
    for t in range(0, int(end) + 61, 60):
        kw = (TRAINING_KW if any(a <= t <= b for a, b in training) else
              IDLE_KW if any(a <= t <= b for a, b in held) else 0)
        # Intensity is linear between samples, and none of the times is beyond them.
        i = bisect.bisect(samples, (t, math.inf))
        before, after = samples[i - 1], samples[i]
        intensity = before.v + (t - before.t) / (after.t - before.t) * (after.v - before.v)
        minutes.append(Minute(t, kw * 1000 / 60, intensity, kw * intensity / 60))
    return minutes


def tally(minutes, start=0, end=math.inf):
    inside = [m for m in minutes if start <= m.t <= end]
    dirty = [m for m in inside if m.intensity >= THRESHOLD]
    wh, dirty_wh = sum(m.wh for m in inside), sum(m.wh for m in dirty)
    return {"kwh": wh / 1000, "kwh_unknown": 0, "kwh_outside": dirty_wh / 1000,
            "share": (wh - dirty_wh) / wh, "gco2": sum(m.g for m in inside),
            "gco2_outside": sum(m.g for m in dirty)}


def cumulative(minutes):
    return list(accumulate(minutes, lambda a, b: b._replace(wh=a.wh + b.wh, g=a.g + b.g)))


def averaged(steps, key):
    """The steps in order of a key. Steps that have it in common become their mean."""
    groups = (list(group) for _, group in groupby(sorted(steps, key=key), key))
    return [g[0] if len(g) == 1 else Step(*map(fmean, zip(*g))) for g in groups]


def smoothed(steps):
    """Loss and perplexity, smoothed exponentially."""
    def smooth(y, x):
        a = math.exp((y.step - x.step) / SMOOTHING_STEPS)
        return x._replace(loss=a * y.loss + (1 - a) * x.loss, ppl=a * y.ppl + (1 - a) * x.ppl)
    return accumulate(averaged(steps, lambda s: s.step), smooth)


def mean_and_error(values):
    return [fmean(values), stdev(values) / math.sqrt(len(values))]


def figures_of(log):
    """What the steps decide of a scenario. The perplexity is smoothed with the constant 0.99."""
    first, last = log[0], log[-1]
    perplexities = [s.ppl for s in averaged(log, lambda s: s.t)]
    return {"wall_s": max(s.t for s in log), "tokens": (last.step + 1) * STEP_TOKENS,
            "s_step": (last.t - first.t) / (last.step - first.step),
            "ppl": min(accumulate(perplexities, lambda y, x: 0.99 * y + 0.01 * x)),
            "tail": mean_and_error([s.loss for s in log if s.step > last.step - TAIL_STEPS])}


def differences(steps, base):
    """What the mean losses of two logs differ by, in buckets of steps."""
    losses = defaultdict(lambda: ([], []))
    for i, log in enumerate((steps, base)):
        for s in log:
            losses[s.step // BUCKET_STEPS][i].append(s.loss)
    for bucket in sorted(losses):
        if bucket > 0 and min(map(len, losses[bucket])) > 20:
            (mean, error), other = map(mean_and_error, losses[bucket])
            middle = (bucket + 0.5) * BUCKET_STEPS
            yield Bucket(middle, mean - other[0], math.hypot(error, other[1]))


class Experiment:
    def __init__(self):
        self.trace = trace()
        self.events = [event | {"t": float(event["elapsed_s"])} for event in rows("events.csv")]
        self.end = self.events[-1]["t"]
        self.steps = {site: steps_in(site) for site in SITES}
        run = sorted((s for steps in self.steps.values() for s in steps), key=lambda s: s.step)
        one, two = steps_in("baseline_1_client"), steps_in("baseline_2_clients")
        self.logs = {"run": run, "one": one, "two": two}
        self.windows = windows_of(self.events, self.steps)
        self.rounds = list(rounds_of(self.events, self.steps))
        self.joint = [r for r in self.rounds if len(r.made) > 1]
        self.training = {site: training_of(steps) for site, steps in self.steps.items()}
        held = {s: [(w.ready, w.released) for w in self.windows if w.site == s] for s in SITES}
        self.drawn = {site: drawn(self.trace[region], self.end, self.training[site], held[site])
                      for site, region in SITES.items()}
        self.always = {region: drawn(samples, one[-1].t, [(one[0].t, one[-1].t)])
                       for region, samples in self.trace.items()}
        self.of_two = [drawn(self.trace[region], two[-1].t, training_of(two),
                             [(two[0].t, two[-1].t)]) for region in SITES.values()]
        self.total = tally(sum(self.drawn.values(), []))
        self.kg = {site: tally(minutes)["gco2"] / 1000 for site, minutes in self.drawn.items()}
        self.tokens = {s: STEP_TOKENS * sum(r.made[s] for r in self.rounds) for s in SITES}

    def scenario(self, sites, steps, tallies):
        """An entry of the comparison. Its figures are ranges if there are several tallies."""
        tallies = [t | {"ratio": self.total["gco2"] / t["gco2"]} for t in tallies]
        figures = {"kg": [t["gco2"] / 1000 for t in tallies],
                   **{key: [t[key] for t in tallies] for key in ("share", "ratio")}}
        figures = ({key: v[0] for key, v in figures.items()} if len(tallies) == 1 else
                   {key + "_range": [min(v), max(v)] for key, v in figures.items()})
        return {"sites": sites, **steps, "kwh": tallies[0]["kwh"], **NOTHING_UNKNOWN,
                "tallies": tallies, **figures}

    def comparison(self):
        run, one, two = map(figures_of, self.logs.values())
        tokens = sum(self.tokens.values())
        run |= {"tokens": tokens, "s_step": run["wall_s"] * STEP_TOKENS / tokens, "split": self.kg}
        pairs = sorted((tally(a + b) for a, b in combinations(self.of_two, 2)),
                       key=lambda t: t["gco2"])
        return [self.scenario(3, run, [self.total]),
                *(self.scenario(1, one, [tally(minutes)]) for minutes in self.always.values()),
                self.scenario(2, two, pairs)]

    def headline(self, run, ones, two):
        regions = sorted(({key: one[key] for key in ("kg", "kwh", "share", "ratio")}
                          | NOTHING_UNKNOWN for one in ones), key=lambda r: r["kg"])
        inside = [tally(self.drawn[w.site], w.opened, w.closed or self.end) for w in self.windows]
        trained = sum(b - a for spans in self.training.values() for a, b in spans) / 3600
        allocated = sum(w.released - w.opened for w in self.windows) / 3600
        return {"co2_kg": run["kg"], "co2_by_site": self.kg, "always_on": regions,
                "baselines": [{"kwh": b["kwh"], "wall_s": b["wall_s"], "best_ppl": b["ppl"],
                               "tail_loss": b["tail"]} for b in (ones[0], two)],
                "co2_outside_kg": self.total["gco2_outside"] / 1000, "energy_kwh": run["kwh"],
                "kwh_outside": self.total["kwh_outside"], "kwh_unknown": 0, "share": run["share"],
                "share_inside_windows": sum(t["kwh"] for t in inside) / run["kwh"],
                "share_baseline": {r: one["share"] for r, one in zip(self.trace, ones)},
                "mean_intensity": 1000 * run["kg"] / run["kwh"], "wall_s": run["wall_s"],
                "best_ppl": run["ppl"], "tail_loss": run["tail"], "tokens": run["tokens"],
                "tokens_by_site": self.tokens, "planned_tokens": PLANNED_STEPS * STEP_TOKENS,
                "goodput": trained / allocated, "training_h": trained, "allocated_h": allocated,
                "rounds": len(self.rounds), "joint_rounds": len(self.joint)}

    def window(self, w):
        steps = sum(r.made[w.site] for r in self.rounds if r.start < w.last and w.first < r.end)
        return {"open_s": w.opened, "close_s": w.closed, "released_s": w.released,
                "closing_s": [[w.dirty, w.closed]] if w.closed else [], "first_step_s": w.first,
                "last_step_s": w.last, "startup_s": w.first - w.opened, "steps": steps,
                **tally(self.drawn[w.site], w.opened, w.released)}

    def curves(self, doc):
        """Of each: its name, the document's series, the points here, and decimals of fields."""
        loss, energy = doc["loss"], doc["energy"]["cumulative"]
        for curve, (name, log) in zip_longest(loss["curves"], self.logs.items()):
            shown = {log[0].step, log[-1].step, *curve["step"]}
            points = [s for s in smoothed(log) if s.step in shown]
            yield "smoothed loss of " + name, curve, points, {"t": 9, "loss": 4, "ppl": 3}
        for curve, name in zip_longest(loss["difference"]["curves"], ("run", "two")):
            points = list(differences(self.logs[name], self.logs["one"]))
            yield "difference of " + name, curve, points, {"step": 9, "d": 4, "se": 4}
        for site, log in self.steps.items():
            points = log[::math.ceil(len(log) / MOST_POINTS)]
            yield "loss of " + site, loss["raw"][site], points, {"step": 9, "t": 9, "loss": 3}
        for site, minutes in self.drawn.items():
            yield "energy of " + site, energy["sites"][site], cumulative(minutes), {"wh": 1, "g": 2}
        for region, minutes in self.always.items():
            curve = {key: energy["always_on"][key][region] for key in ("wh", "g")}
            yield "always on in " + region, curve, cumulative(minutes)[::5], {"wh": 1, "g": 2}
        for region, samples in self.trace.items():
            yield region, doc["signals"]["series"][region], samples, {"t": 9, "v": 2}


def numbers(value, path):
    """Pairs of a path and a number: each number in the value, and the length of each list."""
    if isinstance(value, (list, tuple)):
        yield path + ".length", len(value)
        value = dict(enumerate(value))
    if isinstance(value, dict):
        for key, part in value.items():
            yield from numbers(part, f"{path}.{key}")
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield path, value


def compare(found, expected, path, relative=1e-9, absolute=1e-12):
    """Describes what differs. A number that only one of the two has differs, too."""
    found, expected = dict(numbers(found, path)), dict(numbers(expected, path))
    for key in {**found, **expected}:
        pair = found.get(key), expected.get(key)
        if None in pair or not math.isclose(*pair, rel_tol=relative, abs_tol=absolute):
            yield "{} is {!r}, not {!r}".format(key, *pair)


def check(doc, experiment):
    run, *ones, two = comparison = experiment.comparison()
    power = {"idle_kw": IDLE_KW, "training_kw": TRAINING_KW, "pue": 1}
    expected = {"headline": experiment.headline(run, ones, two), "comparison": comparison,
                "sites": [{"color": color, "power": power, "open_below": THRESHOLD,
                           "close_above": THRESHOLD, "close_delay_s": 600}
                          for color in range(len(SITES))],
                "windows": [experiment.window(w) for w in experiment.windows]}
    for key, value in expected.items():
        yield from compare(doc[key], value, key)
    for name, curve, points, decimals in experiment.curves(doc):
        for field, digits in decimals.items():
            values = [getattr(point, field) for point in points]
            yield from compare(curve[field], values, f"{name}: {field}", 0, 0.50001 * 10 ** -digits)


def main(check_document):
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "report.json"
    wrong = list(check_document(json.loads(path.read_text("utf-8")), Experiment()))
    print(*wrong, f"{len(wrong)} values differ", sep="\n")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main(check)
