# SPDX-License-Identifier: Apache-2.0
"""What happened in the experiment of arXiv:2602.22760, from its published logs.

docs/energy.md has the rules. Times are in milliseconds after time zero, energy is in Wh, and carbon
is in g.
"""
import bisect
import csv
import math
import os
from collections import namedtuple
from datetime import datetime
from types import SimpleNamespace

HERE = os.path.dirname(os.path.abspath(__file__))
SITES = {"client_0": "CAISO_NORTH", "client_1": "SPP_TX", "client_2": "NEM_SA"}
THINNED = "client_2"  # its log has only some of its steps
STEP_TOKENS, TAIL_STEPS, BUCKET_STEPS = 524_288, 1000, 500
IDLE_W, TRAINING_W, THRESHOLD, MINUTE = 468, 2024, 100, 60_000
Step = namedtuple("Step", "time number loss perplexity")
Point = namedtuple("Point", "time wh intensity g")  # power and intensity hold for a minute


def ms(seconds):
    return round(float(seconds) * 1000)


def rows(name):
    with open(os.path.join(HERE, name), encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def steps_in(name):
    return [Step(ms(r["time"]), int(r["step"]), float(r["loss"]), float(r["perplexity"]))
            for r in rows(name + ".csv")]


def read_trace():
    """Region -> times and intensities. Time zero of the logs is the time of the first sample."""
    samples = rows("../../signals/mci_2026-01-11.csv")
    when = [datetime.fromisoformat(s["point_time"]) for s in samples]
    times = [ms((t - when[0]).total_seconds()) for t in when]
    return {region: (times, [float(s[region]) for s in samples])
            for region in samples[0] if region != "point_time"}


def intensity_at(series, time):
    """Linear between samples; beyond the ends, that of the nearest sample."""
    times, values = series
    i = bisect.bisect_right(times, time)
    if i in (0, len(times)):
        return values[min(i, len(times) - 1)]
    share = (time - times[i - 1]) / (times[i] - times[i - 1])
    return values[i - 1] + share * (values[i] - values[i - 1])


def segments_of(steps):
    """Training: groups of steps that are at most 60 s apart."""
    out = []
    for step in steps:
        if out and step.time - out[-1][1] <= MINUTE:
            out[-1][1] = step.time
        else:
            out.append([step.time, step.time])
    return out


def windows_of(events, training):
    """The windows in order of their decisions, with their training segments."""
    current, done = {}, []
    for event in (e for e in events if e["client"] in SITES):
        site, at, kind = event["client"], event["at"], event["event_type"]
        if kind == "PROVISION_DECISION":
            current[site] = SimpleNamespace(site=site, decision=at, connected=None, dirty=[],
                                            drain=None, released=events[-1]["at"])
        window = current[site]
        if kind == "DEPROVISION_MARKED" and window.drain is None:
            window.dirty.append(at)
        key = {"PROVISION_COMPLETE": "ready", "CLIENT_CONNECTED": "connected",
               "DEPROVISION_STARTED": "drain", "DEPROVISION": "released"}.get(kind)
        if key:
            setattr(window, key, at)
        if key == "released":
            done.append(current.pop(site))
    windows = sorted([*done, *current.values()], key=lambda w: w.decision)
    for w in windows:
        w.training = [s for s in training[w.site] if w.ready <= s[0] <= w.released]
        w.first, w.last = w.training[0][0], w.training[-1][1]
    return windows


def rounds_of(events, steps):
    """The rounds that ended. `parts`: site -> its logged steps; `counts`: how many it made."""
    starts, rounds = {}, []
    for event in (e for e in events if e["round"]):
        if event["event_type"] == "ROUND_START":
            starts[event["round"]] = event["at"]
        elif event["event_type"] == "ROUND_END":
            rounds.append(SimpleNamespace(start=starts[event["round"]], end=event["at"],
                                          merged=None))
        elif event["event_type"] == "AGGREGATION":
            rounds[-1].merged = event["at"]
    for r in rounds:
        logged = {s: [x for x in steps[s] if r.start <= x.time <= r.end] for s in SITES}
        r.parts = {s: mine for s, mine in logged.items() if mine}
        r.counts = {s: len(mine) for s, mine in r.parts.items()}
        numbers = [x.number for mine in r.parts.values() for x in mine]
        if THINNED in r.counts:
            others = sum(n for s, n in r.counts.items() if s != THINNED)
            r.counts[THINNED] = max(numbers) - min(numbers) + 1 - others
    return rounds


def drawn(training, held, series, minutes):
    """What a site draws. Both ends of an interval belong to it."""
    inside = lambda time, spans: any(a <= time <= b for a, b in spans)
    points = []
    for time in range(0, minutes * MINUTE, MINUTE):
        wh = (TRAINING_W if inside(time, training) else IDLE_W if inside(time, held) else 0) / 60
        intensity = intensity_at(series, time)
        points.append(Point(time, wh, intensity, wh * intensity / 1000))
    return points


def tally(points, start=0, end=math.inf):
    inside = [p for p in points if start <= p.time <= end]
    dirty = [p for p in inside if p.intensity >= THRESHOLD]
    wh, dirty_wh = sum(p.wh for p in inside), sum(p.wh for p in dirty)
    return {"kwh": wh / 1000, "kwh_unknown": 0, "kwh_outside": dirty_wh / 1000,
            "share": (wh - dirty_wh) / wh, "gco2": sum(p.g for p in inside),
            "gco2_outside": sum(p.g for p in dirty)}


def best(perplexities):
    """The lowest value, smoothed exponentially with the constant 0.99."""
    lowest = smoothed = perplexities[0]
    for value in perplexities[1:]:
        smoothed = 0.99 * smoothed + 0.01 * value
        lowest = min(lowest, smoothed)
    return lowest


def best_of_run(steps):
    """Steps of several sites that were logged at the same time count once."""
    by_time = {}
    for step in steps:
        by_time.setdefault(step.time, []).append(step.perplexity)
    return best([sum(by_time[t]) / len(by_time[t]) for t in sorted(by_time)])


def mean_and_error(values):
    mean = sum(values) / len(values)
    squares = sum((v - mean) ** 2 for v in values)
    return [mean, math.sqrt(squares / (len(values) - 1) / len(values))]


def tail_of(steps):
    last = max(s.number for s in steps)
    return mean_and_error([s.loss for s in steps if s.number > last - TAIL_STEPS])


def smoothed(steps):
    """Step -> smoothed loss and perplexity, with a constant of 100 steps."""
    by_number, out, before = {}, {}, None
    for step in steps:
        by_number.setdefault(step.number, []).append(step)
    for number in sorted(by_number):
        same = by_number[number]
        values = [sum(s[i] for s in same) / len(same) for i in (2, 3)]
        a = 0 if before is None else math.exp(-(number - before) / 100)
        out[number] = values if before is None else [
            a * y + (1 - a) * x for x, y in zip(values, out[before])]
        before = number
    return out


def buckets(steps):
    losses = {}
    for step in steps:
        losses.setdefault(step.number // BUCKET_STEPS, []).append(step.loss)
    return {b: mean_and_error(v) for b, v in losses.items() if len(v) > 20 and b > 0}


def step_s(steps):
    return (steps[-1].time - steps[0].time) / 1000 / (steps[-1].number - steps[0].number)


def upper_median(values):
    return sorted(values)[len(values) // 2]


class Experiment:
    def __init__(self):
        self.trace = read_trace()
        events = [event | {"at": ms(event["elapsed_s"])} for event in rows("events.csv")]
        self.steps = {site: steps_in(site) for site in SITES}
        self.all = sorted((s for site in SITES for s in self.steps[site]), key=lambda s: s.number)
        self.one, self.two = steps_in("baseline_1_client"), steps_in("baseline_2_clients")
        self.end, self.last = events[-1]["at"], max(s.time for s in self.all)
        self.training = {site: segments_of(self.steps[site]) for site in SITES}
        self.windows = windows_of(events, self.training)
        self.rounds = rounds_of(events, self.steps)
        minutes = max(self.end, self.one[-1].time) // MINUTE + 2
        held = {s: [(w.ready, w.released) for w in self.windows if w.site == s] for s in SITES}
        self.drawn = {s: drawn(self.training[s], held[s], self.trace[r], minutes)
                      for s, r in SITES.items()}
        whole = lambda steps: [(steps[0].time, steps[-1].time)]
        self.always = {r: drawn(whole(self.one), [], series, minutes)
                       for r, series in self.trace.items()}
        two = [drawn(segments_of(self.two), whole(self.two), self.trace[r], minutes)
               for r in SITES.values()]
        self.pairs = sorted((tally(a + b) for i, a in enumerate(two) for b in two[i + 1:]),
                            key=lambda t: t["gco2"])
        self.total = tally([p for points in self.drawn.values() for p in points])
        self.tokens = {s: STEP_TOKENS * sum(r.counts.get(s, 0) for r in self.rounds) for s in SITES}
        self.kg = {s: tally(points)["gco2"] / 1000 for s, points in self.drawn.items()}
