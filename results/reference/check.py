#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Recomputes report.json, which `curtail-report --reference` prints, from the published logs.

check.py [DOCUMENT]
Compares each number (to 9 digits), each name and the order of each list in headline, comparison,
sites and windows, and each point of each curve. Exits with 1 if something differs. Labels and the
sites' settings are in no log; they are constants here. check_rest.py checks the rest.
"""
import json
import math
import sys
from itertools import combinations
from pathlib import Path

from logs import (BUCKET_STEPS, HERE, IDLE_KW, MOST_POINTS, PLANNED_STEPS, SITES, STEP_TOKENS,
                  THRESHOLD, TRAINING_KW, Experiment, cumulative, differences, figures_of,
                  smoothed, tally, thinned)

NODE = {"label": "4 × A100", "source": "the technical report's node of 4 × A100"}
LABELS = {"run": "this run", "one": "one site, always on", "two": "two sites, always on"}
NOTHING_UNKNOWN = {"unknown_kwh": 0, "held_kwh": 0, "held_s": 0, "elsewhere": False}


def scenario(experiment, name, steps, tallies):
    """An entry of the comparison. Its figures are ranges if there are several tallies."""
    tallies = [t | {"ratio": experiment.total["gco2"] / t["gco2"]} for t in tallies]
    figures = {"kg": [t["gco2"] / 1000 for t in tallies],
               **{key: [t[key] for t in tallies] for key in ("share", "ratio")}}
    figures = ({key: v[0] for key, v in figures.items()} if len(tallies) == 1 else
               {key + "_range": [min(v), max(v)] for key, v in figures.items()})
    return {**name, **steps, "kwh": tallies[0]["kwh"], **NOTHING_UNKNOWN,
            "tallies": tallies, **figures}


def comparison(experiment):
    run, one, two = map(figures_of, experiment.logs.values())
    tokens = sum(experiment.tokens.values())
    run |= {"tokens": tokens, "s_step": run["wall_s"] * STEP_TOKENS / tokens,
            "split": experiment.kg}
    pairs = sorted((tally(a + b) for a, b in combinations(experiment.of_two, 2)),
                   key=lambda t: t["gco2"])
    yield scenario(experiment, {"id": "run", "label": "This run", "sites": 3}, run,
                   [experiment.total])
    for region, minutes in experiment.always.items():
        name = {"id": "one:" + region, "label": "Always on, " + region, "sites": 1}
        yield scenario(experiment, name | {"region": region}, one, [tally(minutes)])
    name = {"id": "two", "label": "Always on, two regions", "sites": 2}
    yield scenario(experiment, name, two, pairs)


def inside_windows(experiment, site=None):
    """The energy that a site, or all sites, drew from the opening to the closing of a window."""
    return sum(tally(experiment.drawn[w.site], w.opened, w.closed or experiment.end)["kwh"]
               for w in experiment.windows if site in (None, w.site))


def seconds_in_windows(experiment, site=None):
    """Of a site, or of all sites: seconds of training, with devices, and with a wait for them."""
    windows = [w for w in experiment.windows if site in (None, w.site)]
    return (sum(b - a for s in ([site] if site else SITES) for a, b in experiment.training[s]),
            sum(w.released - w.ready for w in windows),
            sum(w.released - w.opened for w in windows))


def headline(experiment, run, ones, two):
    regions = [{key: one[key] for key in ("region", "kg", "kwh", "share", "ratio")}
               | NOTHING_UNKNOWN for one in ones]
    total, (trained, _, allocated) = experiment.total, seconds_in_windows(experiment)
    return {"co2_kg": run["kg"], "co2_by_site": experiment.kg,
            "co2_is_whole": True, "energy_is_whole": True,
            "always_on": sorted(regions, key=lambda r: r["kg"]),
            "baselines": [{"id": b["id"], "label": LABELS[b["id"]].partition(",")[0],
                           "kwh": b["kwh"], "wall_s": b["wall_s"], "best_ppl": b["ppl"],
                           "tail_loss": b["tail"]} for b in (ones[0] | {"id": "one"}, two)],
            "co2_outside_kg": total["gco2_outside"] / 1000, "energy_kwh": run["kwh"],
            "kwh_outside": total["kwh_outside"], "kwh_unknown": 0, "share": run["share"],
            "share_inside_windows": inside_windows(experiment) / run["kwh"],
            "share_baseline": {one["region"]: one["share"] for one in ones},
            "mean_intensity": 1000 * run["kg"] / run["kwh"], "wall_s": run["wall_s"],
            "best_ppl": run["ppl"], "tail_loss": run["tail"], "tokens": run["tokens"],
            "tokens_by_site": experiment.tokens, "planned_tokens": PLANNED_STEPS * STEP_TOKENS,
            "goodput": trained / allocated, "training_h": trained / 3600,
            "allocated_h": allocated / 3600, "rounds": len(experiment.rounds),
            "joint_rounds": len(experiment.joint)}


def sites():
    power = {"source": NODE["source"], "idle_kw": IDLE_KW, "training_kw": TRAINING_KW, "pue": 1}
    return [{"id": site, "region": region, "label": region, "devices": NODE["label"],
             "color": color, "power": power, "open_below": THRESHOLD, "close_above": THRESHOLD,
             "close_delay_s": 600} for color, (site, region) in enumerate(SITES.items())]


def others_trained(experiment, w):
    """Whether another site trained between the opening of a window and its first step."""
    return any(a < w.first and w.opened < b for site, spans in experiment.training.items()
               if site != w.site for a, b in spans)


def window(experiment, w):
    steps = sum(r.made[w.site] for r in experiment.rounds if r.start < w.last and w.first < r.end)
    return {"site": w.site, "open_s": w.opened, "close_s": w.closed, "released_s": w.released,
            "closing_s": [[w.dirty, w.closed]] if w.closed else [], "first_step_s": w.first,
            "last_step_s": w.last, "startup_s": w.first - w.opened,
            "startup_beside": others_trained(experiment, w), "steps": steps,
            **tally(experiment.drawn[w.site], w.opened, w.released)}


def columns(points, *fields):
    return {field: [getattr(point, field) for point in points] for field in fields}


def curves(doc, experiment):
    """Of each group of curves: name, what the document has, what is expected, decimals."""
    loss, cumulated = doc["loss"], doc["energy"]["cumulative"]
    shown = [{"id": name, "label": LABELS[name],
              **columns(thinned(list(smoothed(log))), "step", "t", "loss", "ppl")}
             for name, log in experiment.logs.items()]
    yield "smoothed", loss["curves"], shown, {"loss": 4, "ppl": 3}
    between = {name: list(differences(experiment.logs[name], experiment.logs["one"]))
               for name in ("run", "two")}
    shown = {"to": "one", "bucket_steps": BUCKET_STEPS,
             "curves": [{"id": name, **columns(buckets, "step", "d", "se")}
                        for name, buckets in between.items()]}
    yield "difference", loss["difference"], shown, {"d": 4, "se": 4}
    shown = {site: columns(log[::math.ceil(len(log) / MOST_POINTS)], "step", "t", "loss")
             for site, log in experiment.steps.items()}
    yield "single steps", loss["raw"], shown, {"loss": 3}
    always = {region: columns(cumulative(minutes)[::5], "wh", "g")
              for region, minutes in experiment.always.items()}
    shown = {"step_s": 60, "sites": {site: columns(cumulative(minutes), "wh", "g")
                                     for site, minutes in experiment.drawn.items()},
             "always_on": {"step_s": 300, "start_s": dict.fromkeys(always, 0),
                           **{key: {region: of[key] for region, of in always.items()}
                              for key in ("wh", "g")}}}
    yield "cumulative", cumulated, shown, {"wh": 1, "g": 2}
    shown = {region: {**columns(samples, "t", "v"), "left_out": 0}
             for region, samples in experiment.trace.items()}
    yield "series", doc["signals"]["series"], shown, {"v": 2}


def leaves(value, path):
    """Pairs of a path and a value, without nulls; for a list also its length."""
    if isinstance(value, (list, tuple)):
        yield path + (".length",), len(value)
        value = dict(enumerate(value))
    if isinstance(value, dict):
        for key, part in value.items():
            yield from leaves(part, path + (key,))
    elif value is not None:
        yield path, value


def same(a, b, **tolerance):
    if {type(a), type(b)} <= {int, float}:
        return math.isclose(a, b, **tolerance)
    return type(a) is type(b) and a == b


def compare(found, expected, name, decimals={}, relative=1e-9):
    """Describes what differs. A value that only one of the two has differs, too.

    `decimals`: key -> digits after the point to which the numbers under it were rounded.
    """
    found, expected = (dict(leaves(value, (name,))) for value in (found, expected))
    for path in {**found, **expected}:
        pair = found.get(path), expected.get(path)
        digits = next((decimals[key] for key in path if key in decimals), None)
        tolerance = ({"rel_tol": relative, "abs_tol": 1e-12} if digits is None else
                     {"rel_tol": 0, "abs_tol": 0.50001 * 10 ** -digits})
        if not same(*pair, **tolerance):
            yield "{} is {!r}, not {!r}".format(".".join(map(str, path)), *pair)


def check(doc, experiment):
    run, *ones, two = entries = list(comparison(experiment))
    expected = {"headline": headline(experiment, run, ones, two), "comparison": entries,
                "sites": sites(), "windows": [window(experiment, w) for w in experiment.windows]}
    for key, value in expected.items():
        yield from compare(doc[key], value, key)
    for name, found, shown, decimals in curves(doc, experiment):
        yield from compare(found, shown, name, decimals)


def main(check_document):
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "report.json"
    wrong = list(check_document(json.loads(path.read_text("utf-8")), Experiment()))
    print(*wrong, f"{len(wrong)} values differ", sep="\n")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main(check)
