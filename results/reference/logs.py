# SPDX-License-Identifier: Apache-2.0
"""Reads the published logs of the reference experiment, and sums up what they say.

docs/energy.md has the rules. Times are in seconds after time zero.
"""
import bisect
import csv
import math
from collections import Counter, defaultdict, namedtuple
from datetime import datetime
from itertools import accumulate, groupby
from pathlib import Path
from statistics import fmean, stdev
from types import SimpleNamespace

HERE = Path(__file__).resolve().parent
SITES = {"client_0": "CAISO_NORTH", "client_1": "SPP_TX", "client_2": "NEM_SA"}
THINNED = "client_2"  # its log has only some of its steps
STEP_TOKENS, PLANNED_STEPS = 524_288, 23_400
IDLE_KW, TRAINING_KW, THRESHOLD = 0.468, 2.024, 100
TAIL_STEPS, BUCKET_STEPS, SMOOTHING_STEPS, MOST_POINTS = 1000, 500, 100, 1500
EVENTS = {"PROVISION_DECISION": "opened", "PROVISION_COMPLETE": "ready",
          "CLIENT_CONNECTED": "connected", "DEPROVISION_MARKED": "dirty",
          "DEPROVISION_STARTED": "closed", "DEPROVISION": "released"}
Step = namedtuple("Step", "t step loss ppl")  # with the names that the document uses
Sample = namedtuple("Sample", "t v")
Minute = namedtuple("Minute", "t wh intensity g")  # power and intensity hold for a minute
Bucket = namedtuple("Bucket", "step d se")


def rows(name):
    return list(csv.DictReader((HERE / name).read_text("utf-8").splitlines()))


def steps_in(name):
    return [Step(*map(float, row.values())) for row in rows(name + ".csv")]


def trace():
    """Time zero of the logs, which is the time of the first sample; and region -> samples."""
    samples = rows("../../signals/mci_2026-01-11.csv")
    when = [datetime.fromisoformat(s.pop("point_time")) for s in samples]
    return when[0], {region: [Sample((t - when[0]).total_seconds(), float(s[region]))
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
    """The rounds that ended. `logged`: site -> its steps in the log; `made`: site -> their number,
    with those that the log lacks.
    """
    rounds = defaultdict(dict)
    for event in events:
        rounds[event["round"]][event["event_type"]] = event["t"]
    for number, at in rounds.items():
        if "ROUND_END" not in at:
            continue
        start, end = at["ROUND_START"], at["ROUND_END"]
        inside = {site: [s for s in steps[site] if start <= s.t <= end] for site in SITES}
        logged = {site: some for site, some in inside.items() if some}
        made = Counter({site: len(some) for site, some in logged.items()})
        # The steps of a round have successive numbers.
        if THINNED in made:
            numbers = [s.step for some in logged.values() for s in some]
            made[THINNED] += int(max(numbers) - min(numbers)) + 1 - len(numbers)
        yield SimpleNamespace(number=int(number), start=start, end=end, logged=logged, made=made,
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
            "gco2_outside": sum(m.g for m in dirty),
            "energy_is_whole": True, "co2_is_whole": True}


def cumulative(minutes):
    return list(accumulate(minutes, lambda a, b: b._replace(wh=a.wh + b.wh, g=a.g + b.g)))


def averaged(steps, key):
    """The steps in order of a key. Steps that have it in common become their mean."""
    groups = (list(group) for _, group in groupby(sorted(steps, key=key), key))
    return [g[0] if len(g) == 1 else Step(*map(fmean, zip(*g))) for g in groups]


def smoothed(steps):
    """Loss and perplexity, smoothed exponentially, by step."""
    def smooth(y, x):
        a = math.exp((y.step - x.step) / SMOOTHING_STEPS)
        return x._replace(loss=a * y.loss + (1 - a) * x.loss, ppl=a * y.ppl + (1 - a) * x.ppl)
    return accumulate(averaged(steps, lambda s: s.step), smooth)


def thinned(steps):
    """The first, last, lowest and highest loss of each of some groups of equal size."""
    groups = MOST_POINTS // 6
    ends, kept = [len(steps) * i // groups for i in range(groups + 1)], []
    for group in (steps[a:b] for a, b in zip(ends, ends[1:])):
        losses = [s.loss for s in group]
        shown = {0, losses.index(min(losses)), losses.index(max(losses)), len(group) - 1}
        kept += [group[i] for i in sorted(shown)]
    return kept


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
        self.time_zero, self.trace = trace()
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
