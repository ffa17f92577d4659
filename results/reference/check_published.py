#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks report.json against what arXiv:2602.22760 states (published.csv).

check_published.py [DOCUMENT]
Recomputes each number of the entry published to 9 digits, compares it with the stated value, and
checks that the parts of the run sum up to the whole. Exits with 1 if a number differs.
"""
from statistics import median_high

from check import compare, main, rows


def durations(experiment):
    """Medians of joint rounds and of starts, and the shortest and longest steps of a start."""
    joint, windows = experiment.joint, experiment.windows
    merged = [r for r in joint if r.merged is not None]
    usual = [r for r in joint
             if r.end - r.start < 2 * median_high([r.end - r.start for r in joint])]
    trained = [sum(max(0, min(b, r.end) - max(a, r.start)) for a, b in experiment.training[site])
               for r in joint for site in r.made]
    out = {"round_s": median_high([r.merged - r.start for r in merged]),
           "round_training_s": median_high(trained),
           "round_before_s": median_high([min(r.times) - r.start for r in usual]),
           "round_after_s": median_high([r.end - max(r.times) for r in usual]),
           "round_merge_s": median_high([r.merged - r.end for r in merged]),
           "provisioning_s": median_high([w.ready - w.opened for w in windows])}
    for key, spans in (("connection", [w.connected - w.ready for w in windows]),
                       ("first_step", [w.first - w.connected for w in windows]),
                       ("startup", [w.first - w.opened for w in windows])):
        out |= {key + "_min_s": min(spans), key + "_max_s": max(spans)}
    return out


def published(experiment):
    run, *ones, two = experiment.comparison()
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
    return out


def check(doc, experiment):
    stated, found = rows("published.csv"), doc["published"]
    # Curtail's detector on the same trace: the test windows_trace computes these times.
    values = {row["key"]: float(row["value"]) for row in stated
              if row["key"].startswith("detector_")} | published(experiment)
    yield from compare(found, {key: {"value": v} for key, v in values.items()}, "published")
    for row in stated:
        yield from compare(found[row["key"]]["value"], float(row["value"]), "stated " + row["key"],
                           float(row["relative_tolerance"]))
    whole = {"kwh": doc["totals"]["all"]["kwh"], "gco2": doc["totals"]["all"]["g"]}
    states = [s for site in doc["energy"]["states"].values() for s in site.values()]
    for name, parts in (("states", states), ("rounds", doc["rounds"]), ("windows", doc["windows"])):
        sums = {key: sum(part[key] for part in parts) for key in whole}
        yield from compare(sums, whole, "the sum of all " + name)


if __name__ == "__main__":
    main(check)
