#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Recomputes what check.py leaves of report.json, and compares it with arXiv:2602.22760.

check_rest.py [DOCUMENT]
Compares each number (to 9 digits), each name and the order of each list with what the published
logs say, and the entry published also with what the technical report states (published.csv). Of
headline, comparison, sites, windows and the curves, it compares the names, and which steps the
smoothed curves show. Labels are in no log; they are constants here. Exits with 1 if something
differs. The following is in no log, so neither script checks it:
schema, report, provenance, missing, facts, notes; the unit and label of a published number;
of run: name, title, status, source, model, parameters, clock_factor;
of signals: unit, provider, kind, rule; of audit: rule, signal_kind, lines; of loss: smoothing.
A key whose value is null may be missing, and an empty object may be null.
"""
import copy
import math
from collections import Counter, defaultdict
from datetime import datetime
from statistics import fmean, median, median_high

import check
from check import SITES, STEP_TOKENS, THRESHOLD

# What neither script checks.
UNCHECKED = {"schema", "report", "provenance", "missing", "facts", "notes"}
UNCHECKED_OF = {"run": {"name", "title", "status", "source", "model", "parameters",
                        "clock_factor"}, "audit": {"rule", "signal_kind", "lines"},
                "loss": {"smoothing"}, "signals": {"unit", "provider", "kind", "rule"}}
DEVICES = "4 × A100"
LABELS = {"run": "this run", "one": "one site, always on", "two": "two sites, always on"}
WHOLE = {"energy_is_whole": True, "co2_is_whole": True}
LAST_STEPS = 100  # of a round, for its loss
CLOSE_DELAY = 600  # seconds
EXCHANGE = {"contribute", "merge", "adopt"}  # the bill has one state for them
DECISIONS = {"opened": ("closed", "open", "below the threshold"),
             "dirty": ("open", "closing", "above the threshold"),
             "closed": ("closing", "closed", "close delay over")}


def tally(minutes, start=0, end=math.inf):
    return check.tally(minutes, start, end) | WHOLE


def inside_windows(experiment, site):
    """The energy that a site drew from the opening to the closing of its windows."""
    return sum(tally(experiment.drawn[site], w.opened, w.closed or experiment.end)["kwh"]
               for w in experiment.windows if w.site == site)


def seconds_in_windows(experiment, sites):
    """Seconds of training, with devices, and with devices or a wait for them."""
    windows = [w for w in experiment.windows if w.site in sites]
    return (sum(b - a for site in sites for a, b in experiment.training[site]),
            sum(w.released - w.ready for w in windows),
            sum(w.released - w.opened for w in windows))


def others_trained(experiment, w):
    """Whether another site trained between the opening of a window and its first step."""
    return any(a < w.first and w.opened < b for site, spans in experiment.training.items()
               if site != w.site for a, b in spans)


def seconds_trained(experiment, site, start, end):
    return sum(max(0, min(b, end) - max(a, start)) for a, b in experiment.training[site])


def round_of(experiment, r, drawn, end):
    """A round's entry. Energy counts from its start to `end`."""
    steps = sum(r.made.values())
    last = sorted((s for _, s in r.logged), key=lambda s: s.step)
    times = {site: [s.t for of, s in r.logged if of == site] for site in r.made}
    sites = [{"site": site, "steps": r.made[site], "tokens": r.made[site] * STEP_TOKENS,
              "weight": r.made[site] / steps, "first_step_s": t[0] - r.start,
              "train_s": seconds_trained(experiment, site, r.start, r.end),
              "last_step_s": r.end - t[-1]} for site, t in times.items()]
    return {"number": r.number, "start_s": r.start, "end_s": r.end, "merged_s": r.merged,
            "mode": "joint" if len(sites) > 1 else "solo", "sites": sites, "steps": steps,
            "last_step": last[-1].step, "tokens": steps * STEP_TOKENS,
            "duration_s": r.end - r.start, "merge_s": r.merged and r.merged - r.end,
            "loss": fmean(s.loss for s in last[-LAST_STEPS:]), **tally(drawn, r.start, end)}


def rounds(experiment):
    drawn = sum(experiment.drawn.values(), [])
    # A minute at the start of a round belongs to this round only.
    ends = [r.start - 1e-6 for r in experiment.rounds[1:]] + [experiment.end]
    return [round_of(experiment, r, drawn, end) for r, end in zip(experiment.rounds, ends)]


def exchange(rounds, start, end):
    for r in rounds:
        if start <= r.end <= end and r.merged:
            return [("contribute", start, r.end), ("merge", r.end, r.merged),
                    ("adopt", r.merged, end)]
    return [("contribute", start, end)]


def states_of(experiment, site):
    """What a site did: triples of a state, its start and its end."""
    states = []
    for w in (w for w in experiment.windows if w.site == site):
        spans = [span for span in experiment.training[site] if w.ready <= span[0] <= w.released]
        states += [("provision", w.opened, w.ready), ("starting", w.ready, w.first)]
        for (a, b), (c, _) in zip(spans, spans[1:]):
            states += [("training", a, b), *exchange(experiment.rounds, b, c)]
        states += [("training", *spans[-1]),
                   ("draining" if w.closed else "idle", w.last, w.released)]
    return [state for state in states if state[1] < state[2]]


def hours_of(experiment, states):
    hours = Counter()
    for name, start, end in states:
        hours[name] += (end - start) / 3600
    return {**hours, "closed": experiment.end / 3600 - sum(hours.values())}


def energy_by_state(experiment, site, states):
    """Training decides whether a minute is one of training; the events decide the rest."""
    minutes = defaultdict(list)
    for m in (m for m in experiment.drawn[site] if m.wh > 0):
        training = any(a <= m.t <= b for a, b in experiment.training[site])
        name = "training" if training else next(
            name for name, a, b in states if name != "training" and a <= m.t <= b)
        # Devices that are ready at the end of the wait for them draw power at that time, too.
        name = {"provision": "starting", **dict.fromkeys(EXCHANGE, "exchange")}.get(name, name)
        minutes[name].append(m)
    return {name: tally(some) for name, some in minutes.items()}


def energy(experiment, states):
    by_state = {site: energy_by_state(experiment, site, states[site]) for site in SITES}
    total = {site: tally(minutes) for site, minutes in experiment.drawn.items()}

    def split(key):
        return {site: {name: t[key] for name, t in of.items()} for site, of in by_state.items()}
    return {"states": by_state, "kwh": split("kwh"), "g": split("gco2"),
            "inside_kwh": {site: t["kwh"] - t["kwh_outside"] for site, t in total.items()},
            "window_kwh": {site: inside_windows(experiment, site) for site in SITES},
            "unknown_kwh": dict.fromkeys(SITES, 0),
            "outside_g": {site: t["gco2_outside"] for site, t in total.items()},
            "total_kwh": {site: t["kwh"] for site, t in total.items()},
            "total_g": {site: t["gco2"] for site, t in total.items()},
            "cumulative": {"step_s": 60, "always_on": {
                "step_s": 300, "start_s": dict.fromkeys(experiment.always, 0),
                **dict.fromkeys(("wh", "g"), sorted(experiment.always))}}}


def total_of(experiment, site=None):
    """The row of a site, or of all sites, in the table of sites."""
    sites = [site] if site else list(SITES)
    t = tally(sum((experiment.drawn[s] for s in sites), []))
    made = [r.made for r in experiment.rounds if not site or site in r.made]
    joint = sum(len(of) > 1 for of in made)
    trained, held, allocated = seconds_in_windows(experiment, sites)
    inside = sum(inside_windows(experiment, s) for s in sites)
    return {**WHOLE, "kwh": t["kwh"], "unknown_kwh": 0, "g": t["gco2"],
            "g_outside": t["gco2_outside"], "share": t["share"],
            "share_inside_windows": inside / t["kwh"],
            "ratio": {region: t["gco2"] / tally(always)["gco2"]
                      for region, always in experiment.always.items()},
            "tokens": sum(experiment.tokens[s] for s in sites),
            "joint_rounds": joint, "lone_rounds": len(made) - joint, "allocated_s": allocated,
            "held_devices_s": held, "goodput": trained / allocated}


def decisions(experiment):
    all_of = [{"t": getattr(w, event), "site": w.site, "from": before, "to": after,
               "reason": reason} for w in experiment.windows
              for event, (before, after, reason) in DECISIONS.items()
              if getattr(w, event, None) is not None]
    return sorted(all_of, key=lambda decision: decision["t"])


def spread(windows):
    spans = [w.first - w.opened for w in windows]
    return {"count": len(spans), "min": min(spans), "median": median(spans), "max": max(spans)}


def thinned(steps):
    """The first, last, lowest and highest loss of each of some groups of equal size."""
    groups = check.MOST_POINTS // 6
    ends, kept = [len(steps) * i // groups for i in range(groups + 1)], []
    for group in (steps[a:b] for a, b in zip(ends, ends[1:])):
        losses = [s.loss for s in group]
        shown = {0, losses.index(min(losses)), losses.index(max(losses)), len(group) - 1}
        kept += [group[i] for i in sorted(shown)]
    return kept


def loss(experiment, run, one, two):
    """The curves, and what they end with. `steps` are counted, even those that a log lacks."""
    final = [{"id": name, "label": LABELS[name], "best_ppl": s["ppl"], "tail_loss": s["tail"][0],
              "tail_se": s["tail"][1], "wall_s": s["wall_s"], "steps": s["tokens"] // STEP_TOKENS}
             for name, s in (("run", run), ("one", one), ("two", two))]
    shown = {name: [s.step for s in thinned(list(check.smoothed(log)))]
             for name, log in experiment.logs.items()}
    return {"tokens_per_step": STEP_TOKENS, "tail_steps": check.TAIL_STEPS, "final": final,
            "curves": [{"id": name, "label": LABELS[name], "step": steps}
                       for name, steps in shown.items()],
            "difference": {"to": "one", "bucket_steps": check.BUCKET_STEPS,
                           "curves": [{"id": "run"}, {"id": "two"}]}}


def durations(experiment):
    """Medians of joint rounds and of starts, and the shortest and longest steps of a start."""
    joint, windows = experiment.joint, experiment.windows
    merged = [r for r in joint if r.merged is not None]
    usual = [r for r in joint
             if r.end - r.start < 2 * median_high([r.end - r.start for r in joint])]
    before = [min(s.t for _, s in r.logged) - r.start for r in usual]
    after = [r.end - max(s.t for _, s in r.logged) for r in usual]
    trained = [seconds_trained(experiment, site, r.start, r.end) for r in joint for site in r.made]
    out = {"round_s": median_high([r.merged - r.start for r in merged]),
           "round_training_s": median_high(trained), "round_before_s": median_high(before),
           "round_after_s": median_high(after),
           "round_merge_s": median_high([r.merged - r.end for r in merged]),
           "provisioning_s": median_high([w.ready - w.opened for w in windows])}
    for key, spans in (("connection", [w.connected - w.ready for w in windows]),
                       ("first_step", [w.first - w.connected for w in windows]),
                       ("startup", [w.first - w.opened for w in windows])):
        out |= {key + "_min_s": min(spans), key + "_max_s": max(spans)}
    return out


def detected(samples):
    """When Curtail's detector opens and closes windows on a trace (docs/windows.md)."""
    opens, closes, since = [], [], None
    for t, intensity in samples:
        if len(opens) == len(closes):
            opens += [t] if intensity < THRESHOLD else []
        elif intensity <= THRESHOLD:
            since = None
        elif since is None:
            since = t
        elif t - since >= CLOSE_DELAY:  # always the time of a sample
            closes, since = closes + [t], None
    return opens, closes


def published(experiment, run, ones, two):
    out = durations(experiment)
    out["round_before_s"] -= ones[0]["s_step"]
    out |= {"co2_kg": run["kg"], "energy_kwh": run["kwh"], "curtailed_share": run["share"],
            "best_perplexity": run["ppl"], "wall_time_s": run["wall_s"],
            "baseline_energy_kwh": ones[0]["kwh"], "end_s": experiment.end}
    for region, one in zip(experiment.trace, ones):
        out |= {"baseline_co2_kg." + region: one["kg"],
                "ratio_percent." + region: 100 * one["ratio"],
                "baseline_curtailed_share." + region: one["share"]}
    for name, baseline in (("one_site", ones[0]), ("two_sites", two)):
        out |= {"best_perplexity." + name: baseline["ppl"],
                "wall_time_s." + name: baseline["wall_s"], "step_s." + name: baseline["s_step"]}
    for i, w in enumerate(experiment.windows, 1):
        out[f"open_s.{i}"] = w.opened
        if w.closed:
            out |= {f"turned_dirty_s.{i}": w.dirty, f"close_s.{i}": w.closed}
    found = [detected(samples) for samples in experiment.trace.values()]
    for event, times in zip(("open", "close"), map(sorted, (sum(f, []) for f in zip(*found)))):
        out |= {f"detector_{event}s": len(times),
                **{f"detector_{event}_s.{i}": t for i, t in enumerate(times, 1)}}
    return out


def document(experiment, run, ones, two):
    """All parts that check.py leaves, without their keys in UNCHECKED_OF."""
    windows, tokens = experiment.windows, sum(experiment.tokens.values())
    states = {site: states_of(experiment, site) for site in SITES}
    goodput = {site: total_of(experiment, site)["goodput"] for site in SITES}
    stated = published(experiment, run, ones, two)
    beside = [w for w in windows if others_trained(experiment, w)]
    number, joint = len(experiment.rounds), len(experiment.joint)
    time_zero = datetime.fromisoformat(check.rows(check.TRACE)[0]["point_time"])
    return {
        "run": {"time_zero": time_zero.isoformat().replace("+00:00", "Z"),
                "end_s": experiment.end, "last_step_s": run["wall_s"],
                "trace_end_s": max(s[-1].t for s in experiment.trace.values())},
        "commits": {"all": number, "genesis": 0, "roster": 0, "joint": joint,
                    "lone": number - joint},
        "totals": {"all": total_of(experiment),
                   "sites": {site: total_of(experiment, site) for site in SITES}},
        "audit": {"estimated_samples": 0, "sci": {
            "g_per_million_tokens": 1e6 * experiment.total["gco2"] / tokens,
            "is_whole": True, "operational_g": experiment.total["gco2"]}},
        "decisions": decisions(experiment), "states": states, "rounds": rounds(experiment),
        "round_summary": {"joint": joint, **{
            key: stated["round_" + name] for key, name in (
                ("duration_s", "s"), ("before_s", "before_s"), ("train_s", "training_s"),
                ("after_s", "after_s"), ("merge_s", "merge_s"))}},
        "loss": loss(experiment, run, ones[0], two),
        "hours": {site: hours_of(experiment, states[site]) for site in SITES},
        "allocated_h": {s: seconds_in_windows(experiment, [s])[2] / 3600 for s in SITES},
        "goodput": {"all": total_of(experiment)["goodput"], "sites": goodput},
        "energy": energy(experiment, states),
        "times": {site: {"startup_s": spread([w for w in windows if w.site == site])}
                  for site in SITES},
        "edges": {"start_s": {"alone": spread([w for w in windows if w not in beside]),
                              "beside": spread(beside)}, "stop_s": {}},
        "after_signal": [], "events_left_out": 0, "warnings": [],
        "events": [[e["t"], e["event_type"], int(e["round"]) if e["round"] else None,
                    e["client"] or None, e["details"]] for e in experiment.events],
        "signals": {"series": {region: {"left_out": 0} for region in experiment.trace}},
        "published": {key: {"value": value} for key, value in stated.items()}}


def named(experiment):
    """The names in the parts whose numbers check.py compares, and what is true or false there."""
    def scenario(name, label, tallies=1, **of):
        return {"id": name, "label": label, "elsewhere": False, "tallies": [WHOLE] * tallies, **of}
    always = experiment.always
    return {
        "headline": {**WHOLE, "always_on": [
            {"region": region, "elsewhere": False}
            for region in sorted(always, key=lambda r: tally(always[r])["gco2"])],
            "baselines": [{"id": name, "label": LABELS[name].partition(",")[0]}
                          for name in ("one", "two")]},
        "comparison": [scenario("run", "This run"),
                       *(scenario("one:" + region, "Always on, " + region, region=region)
                         for region in always),
                       scenario("two", "Always on, two regions", tallies=3)],
        "sites": [{"id": site, "region": region, "label": region, "devices": DEVICES,
                   "power": {"source": "the technical report's node of " + DEVICES}}
                  for site, region in SITES.items()],
        "windows": [{**WHOLE, "site": w.site, "startup_beside": others_trained(experiment, w)}
                    for w in experiment.windows]}


def names(value, path):
    """Pairs of a path and each string, true or false in the value."""
    parts = (value.items() if isinstance(value, dict) else
             enumerate(value) if isinstance(value, (list, tuple)) else ())
    for key, part in parts:
        yield from names(part, f"{path}.{key}")
    if isinstance(value, (str, bool)):
        yield path, value


def compare_names(found, expected, path):
    found, expected = dict(names(found, path)), dict(names(expected, path))
    for key in {**found, **expected}:
        pair = found.get(key), expected.get(key)
        if pair[0] != pair[1]:
            yield "{} is {!r}, not {!r}".format(key, *pair)


def without_curves(doc, experiment):
    """The document without the lists of numbers of curves, which check.py compares."""
    doc = copy.deepcopy(doc)
    for _, curve, _, decimals in experiment.curves(doc):
        for field in decimals:
            del curve[field]
    always_on = doc["energy"]["cumulative"]["always_on"]
    always_on |= {key: sorted(always_on[key]) for key in ("wh", "g")}
    return doc


def check_rest(doc, experiment):
    run, *ones, two = experiment.comparison()
    expected_names = named(experiment)
    for key, part in expected_names.items():
        yield from compare_names(doc[key], part, key)
    doc = without_curves(doc, experiment)
    found = {key: part for key, part in doc.items() if key not in UNCHECKED | {*expected_names}}
    found |= {part: {key: value for key, value in doc[part].items() if key not in keys}
              for part, keys in UNCHECKED_OF.items()}
    found["published"] = {key: {k: v for k, v in of.items() if k not in ("unit", "label")}
                          for key, of in doc["published"].items()}
    expected = document(experiment, run, ones, two)
    yield from check.compare(found, expected, "document")
    yield from compare_names(found, expected, "document")
    for row in check.rows("published.csv"):
        yield from check.compare(found["published"][row["key"]]["value"], float(row["value"]),
                                 "stated " + row["key"], float(row["relative_tolerance"]))


if __name__ == "__main__":
    check.main(check_rest)
