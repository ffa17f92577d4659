#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Recomputes what check.py leaves of report.json, and compares it with arXiv:2602.22760.

check_rest.py [DOCUMENT]
Compares each number (to 9 digits), each name and the order of each list with what the published
logs say, and the entry published also with what the technical report states (published.csv). Exits
with 1 if something differs. The following is in no log, so neither script checks it:
schema, report, provenance, missing, facts, notes; the unit and label of a published number;
of run: name, title, status, source, model, parameters, clock_factor;
of signals: unit, provider, kind, rule; of audit: rule, signal_kind, lines; of loss: smoothing.
A key whose value is null may be missing, and an empty object may be null.
"""
from collections import Counter, defaultdict
from statistics import fmean, median, median_high

from check import (LABELS, compare, comparison, inside_windows, main, others_trained,
                   seconds_in_windows)
from logs import SITES, STEP_TOKENS, TAIL_STEPS, THRESHOLD, rows, tally

# What neither script checks, and what check.py checks.
UNCHECKED = {"schema", "report", "provenance", "missing", "facts", "notes"}
UNCHECKED_OF = {"run": {"name", "title", "status", "source", "model", "parameters",
                        "clock_factor"}, "audit": {"rule", "signal_kind", "lines"},
                "loss": {"smoothing", "curves", "difference", "raw"}, "energy": {"cumulative"},
                "signals": {"unit", "provider", "kind", "rule", "series"}}
CHECKED_BY_CHECK = {"headline", "comparison", "sites", "windows"}
LAST_STEPS = 100  # of a round, for its loss
CLOSE_DELAY = 600  # seconds
EXCHANGE = {"contribute", "merge", "adopt"}  # the bill has one state for them
DECISIONS = {"opened": ("closed", "open", "below the threshold"),
             "dirty": ("open", "closing", "above the threshold"),
             "closed": ("closing", "closed", "close delay over")}


def seconds_trained(experiment, site, start, end):
    return sum(max(0, min(b, end) - max(a, start)) for a, b in experiment.training[site])


def round_of(experiment, r, drawn, end):
    """A round's entry. Energy counts from its start to `end`."""
    steps = sum(r.made.values())
    last = sorted((s for some in r.logged.values() for s in some), key=lambda s: s.step)
    sites = [{"site": site, "steps": r.made[site], "tokens": r.made[site] * STEP_TOKENS,
              "weight": r.made[site] / steps, "first_step_s": some[0].t - r.start,
              "train_s": seconds_trained(experiment, site, r.start, r.end),
              "last_step_s": r.end - some[-1].t} for site, some in r.logged.items()]
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
            "total_g": {site: t["gco2"] for site, t in total.items()}}


def total_of(experiment, site=None):
    """The row of a site, or of all sites, in the table of sites."""
    t = tally(experiment.drawn[site]) if site else experiment.total
    made = [r.made for r in experiment.rounds if not site or site in r.made]
    joint = sum(len(sites) > 1 for sites in made)
    trained, held, allocated = seconds_in_windows(experiment, site)
    return {"kwh": t["kwh"], "unknown_kwh": 0, "energy_is_whole": True, "co2_is_whole": True,
            "g": t["gco2"], "g_outside": t["gco2_outside"], "share": t["share"],
            "share_inside_windows": inside_windows(experiment, site) / t["kwh"],
            "ratio": {region: t["gco2"] / tally(always)["gco2"]
                      for region, always in experiment.always.items()},
            "tokens": experiment.tokens[site] if site else sum(experiment.tokens.values()),
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


def loss(run, one, two):
    """What the curves end with. `steps` are counted, even those that a log does not have."""
    final = [{"id": name, "label": LABELS[name], "best_ppl": s["ppl"], "tail_loss": s["tail"][0],
              "tail_se": s["tail"][1], "wall_s": s["wall_s"], "steps": s["tokens"] // STEP_TOKENS}
             for name, s in (("run", run), ("one", one), ("two", two))]
    return {"tokens_per_step": STEP_TOKENS, "tail_steps": TAIL_STEPS, "final": final}


def durations(experiment):
    """Medians of joint rounds and of starts, and the shortest and longest steps of a start."""
    joint, windows = experiment.joint, experiment.windows
    merged = [r for r in joint if r.merged is not None]
    usual = [r for r in joint
             if r.end - r.start < 2 * median_high([r.end - r.start for r in joint])]
    before = [min(some[0].t for some in r.logged.values()) - r.start for r in usual]
    after = [r.end - max(some[-1].t for some in r.logged.values()) for r in usual]
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
    """All parts, without their keys in UNCHECKED_OF."""
    windows, tokens = experiment.windows, sum(experiment.tokens.values())
    states = {site: states_of(experiment, site) for site in SITES}
    goodput = {site: total_of(experiment, site)["goodput"] for site in SITES}
    stated = published(experiment, run, ones, two)
    beside = [w for w in windows if others_trained(experiment, w)]
    number, joint = len(experiment.rounds), len(experiment.joint)
    return {
        "run": {"time_zero": experiment.time_zero.isoformat().replace("+00:00", "Z"),
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
        "loss": loss(run, ones[0], two),
        "hours": {site: hours_of(experiment, states[site]) for site in SITES},
        "allocated_h": {s: seconds_in_windows(experiment, s)[2] / 3600 for s in SITES},
        "goodput": {"all": total_of(experiment)["goodput"], "sites": goodput},
        "energy": energy(experiment, states),
        "times": {site: {"startup_s": spread([w for w in windows if w.site == site])}
                  for site in SITES},
        "edges": {"start_s": {"alone": spread([w for w in windows if w not in beside]),
                              "beside": spread(beside)}, "stop_s": {}},
        "after_signal": [], "events_left_out": 0, "warnings": [],
        "events": [(e["t"], e["event_type"], int(e["round"]) if e["round"] else None,
                    e["client"] or None, e["details"]) for e in experiment.events],
        "published": {key: {"value": value} for key, value in stated.items()}}


def check(doc, experiment):
    run, *ones, two = comparison(experiment)
    found = {key: part for key, part in doc.items() if key not in UNCHECKED | CHECKED_BY_CHECK}
    found |= {part: {key: value for key, value in doc[part].items() if key not in keys}
              for part, keys in UNCHECKED_OF.items()}
    found["published"] = {key: {k: v for k, v in of.items() if k not in ("unit", "label")}
                          for key, of in doc["published"].items()}
    yield from compare(found, document(experiment, run, ones, two), "document")
    for row in rows("published.csv"):
        yield from compare(found["published"][row["key"]]["value"], float(row["value"]),
                           "stated " + row["key"], relative=float(row["relative_tolerance"]))


if __name__ == "__main__":
    main(check)
