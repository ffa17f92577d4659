#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Recomputes report.json, which `curtail-report --reference` prints, from the published logs.

check.py [DOCUMENT]
Checks each number of the entries in CHECKED to 9 digits, each curve at 20 points, sums, and the
values that arXiv:2602.22760 states (published.csv). Exits with 1 if one differs.
"""
import json
import math
import os
import sys

from experiment import (BUCKET_STEPS, HERE, IDLE_W, SITES, STEP_TOKENS, THRESHOLD, TRAINING_W,
                        Experiment, best, best_of_run, buckets, rows, smoothed, step_s, tail_of,
                        tally, upper_median)

CHECKED = ("headline", "comparison", "sites", "windows", "published")
PLANNED_STEPS = 23_400


class Figures(Experiment):
    """The entries of the document, with their numbers only."""

    def with_ratio(self, part):
        return part | {"ratio": self.total["gco2"] / part["gco2"]}

    def sites(self):
        power = {"idle_kw": IDLE_W / 1000, "training_kw": TRAINING_W / 1000, "pue": 1}
        return [{"color": i, "power": power, "open_below": THRESHOLD, "close_above": THRESHOLD,
                 "close_delay_s": 600} for i in range(len(SITES))]

    def window(self, w):
        steps = sum(r.counts[w.site] for r in self.rounds if w.site in r.parts
                    and w.decision <= r.parts[w.site][0].time <= w.released)
        closed = {} if w.drain is None else {
            "close_s": w.drain / 1000, "closing_s": [[w.dirty[-1] / 1000, w.drain / 1000]]}
        return {"open_s": w.decision / 1000, "released_s": w.released / 1000, **closed,
                "first_step_s": w.first / 1000, "last_step_s": w.last / 1000,
                "startup_s": (w.first - w.decision) / 1000, "steps": steps,
                **tally(self.drawn[w.site], w.decision, w.released)}

    def headline(self):
        always_on, t = self.comparison()[1:5], self.total
        regions = [{"region": r, "kg": c["kg"], "kwh": c["kwh"], "unknown_kwh": 0, "held_s": 0,
                    "share": c["share"], "held_kwh": 0, "ratio": c["ratio"]}
                   for r, c in zip(self.trace, always_on)]
        baselines = [{"kwh": c["kwh"], "wall_s": c["wall_s"], "best_ppl": c["ppl"],
                      "tail_loss": c["tail"]} for c in self.comparison()[4:]]
        inside = sum(tally(self.drawn[w.site], w.decision, w.drain or self.end)["kwh"]
                     for w in self.windows)
        trained = sum(b - a for w in self.windows for a, b in w.training) / 3.6e6
        allocated = sum(w.released - w.decision for w in self.windows) / 3.6e6
        return {"co2_kg": t["gco2"] / 1000, "co2_by_site": self.kg, "baselines": baselines,
                "always_on": sorted(regions, key=lambda a: a["kg"]), "kwh_unknown": 0,
                "co2_outside_kg": t["gco2_outside"] / 1000, "energy_kwh": t["kwh"],
                "kwh_outside": t["kwh_outside"], "share": t["share"],
                "share_inside_windows": inside / t["kwh"], "mean_intensity": t["gco2"] / t["kwh"],
                "share_baseline": {a["region"]: a["share"] for a in regions},
                "wall_s": self.last / 1000, "best_ppl": best_of_run(self.all),
                "tail_loss": tail_of(self.all), "tokens": sum(self.tokens.values()),
                "tokens_by_site": self.tokens, "planned_tokens": PLANNED_STEPS * STEP_TOKENS,
                "goodput": trained / allocated, "training_h": trained, "allocated_h": allocated,
                "rounds": len(self.rounds),
                "joint_rounds": sum(len(r.parts) > 1 for r in self.rounds)}

    def scenario(self, sites, steps, tallies, tokens, lowest, step=None):
        entries, wall = [self.with_ratio(t) for t in tallies], max(s.time for s in steps) / 1000
        values = {"share": [e["share"] for e in entries], "ratio": [e["ratio"] for e in entries],
                  "kg": [e["gco2"] / 1000 for e in entries]}
        figures = ({key: v[0] for key, v in values.items()} if len(entries) == 1 else
                   {key + "_range": [min(v), max(v)] for key, v in values.items()})
        return {"sites": sites, "wall_s": wall, "s_step": step or step_s(steps), "held_s": 0,
                "kwh": entries[0]["kwh"], "unknown_kwh": 0, "held_kwh": 0, "tallies": entries,
                **figures, "tokens": tokens, "ppl": lowest, "tail": tail_of(steps)}

    def comparison(self):
        tokens = sum(self.tokens.values())
        run = self.scenario(3, self.all, [self.total], tokens, best_of_run(self.all),
                            self.last / 1000 / (tokens / STEP_TOKENS)) | {"split": self.kg}
        always = lambda sites, log, tallies: self.scenario(
            sites, log, tallies, (log[-1].number + 1) * STEP_TOKENS,
            best([s.perplexity for s in log]))
        ones = [always(1, self.one, [tally(points)]) for points in self.always.values()]
        return [run, *ones, always(2, self.two, self.pairs)]

    def published(self):
        joint = [r for r in self.rounds if len(r.parts) > 1]
        usual = 2 * upper_median([r.end - r.start for r in joint])
        waits = [(min(p[0].time for p in r.parts.values()) - r.start,
                  r.end - max(p[-1].time for p in r.parts.values()))
                 for r in joint if r.end - r.start < usual]
        trained = [sum(max(0, min(b, r.end) - max(a, r.start)) for a, b in self.training[site])
                   for r in joint for site in r.parts]
        merged = [r for r in joint if r.merged is not None]
        connected = [w for w in self.windows if w.connected is not None]
        run, *ones, two = self.comparison()
        out = {"co2_kg": run["kg"], "energy_kwh": run["kwh"], "curtailed_share": run["share"],
               "best_perplexity": run["ppl"], "wall_time_s": run["wall_s"],
               "baseline_energy_kwh": ones[0]["kwh"], "end_s": self.end / 1000,
               "round_s": upper_median([r.merged - r.start for r in merged]) / 1000,
               "round_training_s": upper_median(trained) / 1000,
               "round_before_s": upper_median([w[0] for w in waits]) / 1000 - step_s(self.one),
               "round_after_s": upper_median([w[1] for w in waits]) / 1000,
               "round_merge_s": upper_median([r.merged - r.end for r in merged]) / 1000,
               "provisioning_s": upper_median([w.ready - w.decision for w in self.windows]) / 1000}
        for region, one in zip(self.trace, ones):
            out["baseline_co2_kg." + region] = one["kg"]
            out["ratio_percent." + region] = 100 * one["ratio"]
            out["baseline_curtailed_share." + region] = one["share"]
        for name, always in (("one_site", ones[0]), ("two_sites", two)):
            for key, source in (("best_perplexity", "ppl"), ("wall_time_s", "wall_s"),
                                ("step_s", "s_step")):
                out[f"{key}.{name}"] = always[source]
        for i, w in enumerate(self.windows, 1):
            out[f"open_s.{i}"] = w.decision / 1000
            if w.drain is not None:
                out[f"turned_dirty_s.{i}"] = w.dirty[-1] / 1000
                out[f"close_s.{i}"] = w.drain / 1000
        for key, spans in (("connection", [w.connected - w.ready for w in connected]),
                           ("first_step", [w.first - w.connected for w in connected]),
                           ("startup", [w.first - w.decision for w in self.windows])):
            out[key + "_min_s"], out[key + "_max_s"] = min(spans) / 1000, max(spans) / 1000
        # Curtail's detector on the same trace: the test windows_trace computes these times.
        out |= {row["key"]: float(row["value"]) for row in rows("published.csv")
                if row["key"].startswith("detector_")}
        return {key: {"value": value} for key, value in out.items()}

    def curves(self, doc):
        """Pairs of a series in the document and a function that gives its value at an index."""
        loss, cumulative = doc["loss"], doc["energy"]["cumulative"]
        logs = {"run": self.all, "one": self.one, "two": self.two}
        for curve in loss["curves"]:
            exact = smoothed(logs[curve["id"]])
            at = lambda i, exact=exact, curve=curve: exact[curve["step"][i]]
            yield curve["loss"], lambda i, at=at: at(i)[0], 4
            yield curve["ppl"], lambda i, at=at: at(i)[1], 3
        for site, raw in loss["raw"].items():
            steps, nth = self.steps[site], math.ceil(len(self.steps[site]) / 1500)
            yield raw["loss"], lambda i, steps=steps, nth=nth: steps[i * nth].loss, 3
            yield raw["t"], lambda i, steps=steps, nth=nth: steps[i * nth].time / 1000, 0
        base = buckets(self.one)
        for curve in loss["difference"]["curves"]:
            mine = buckets(logs[curve["id"]])
            both = [(b, mine[b], base[b]) for b in sorted(mine) if b in base]
            yield curve["step"], lambda i, both=both: (both[i][0] + .5) * BUCKET_STEPS, 1
            yield curve["d"], lambda i, both=both: both[i][1][0] - both[i][2][0], 4
            yield curve["se"], lambda i, both=both: math.hypot(both[i][1][1], both[i][2][1]), 4
        always = {key: {"wh": cumulative["always_on"]["wh"][key],
                        "g": cumulative["always_on"]["g"][key]} for key in self.always}
        for series, drawn, minutes in ((cumulative["sites"], self.drawn, 1),
                                       (always, self.always, 5)):
            for key, totals in series.items():
                until = lambda i, key=key, drawn=drawn, n=minutes: drawn[key][:i * n + 1]
                yield totals["wh"], lambda i, u=until: sum(p.wh for p in u(i)), 1
                yield totals["g"], lambda i, u=until: sum(p.g for p in u(i)), 2
        for region, series in doc["signals"]["series"].items():
            times, values = self.trace[region]
            yield series["t"], lambda i, times=times: times[i] / 1000, 1
            yield series["v"], lambda i, values=values: values[i], 2


def differ(found, expected, relative=1e-9, absolute=1e-12):
    return abs(found - expected) > max(relative * abs(expected), absolute)


def compare(found, expected, where):
    """Yields what differs, and counts the numbers; a number that was not recomputed differs."""
    if isinstance(found, dict):
        for key in {**(expected or {}), **found}:
            yield from compare(found.get(key), (expected or {}).get(key), f"{where}.{key}")
    elif isinstance(found, list):
        if expected is not None and len(found) != len(expected):
            yield f"{where} has {len(found)} entries, not {len(expected)}"
        for i, value in enumerate(found):
            yield from compare(value, expected[i] if expected and i < len(expected) else None,
                               f"{where}[{i}]")
    elif isinstance(found, (int, float)) and not isinstance(found, bool):
        compare.count += 1
        if not isinstance(expected, (int, float)) or differ(found, expected):
            yield f"{where} is {found!r}, recomputed {expected!r}"
    elif isinstance(expected, (int, float, dict, list)):
        yield f"{where} is {found!r}, recomputed {expected!r}"


def compare_curves(doc, figures):
    for number, (series, value_at, digits) in enumerate(figures.curves(doc)):
        for i in {round(k * (len(series) - 1) / 19) for k in range(20)}:
            if differ(series[i], value_at(i), 0, 0.51 * 10 ** -digits):
                yield f"curve {number}, point {i}: {series[i]!r}, recomputed {value_at(i)!r}"


def compare_sums(doc):
    states = [s for site in doc["energy"]["states"].values() for s in site.values()]
    whole = {"kwh": doc["totals"]["all"]["kwh"], "gco2": doc["totals"]["all"]["g"]}
    for name, parts in (("states", states), ("rounds", doc["rounds"]), ("windows", doc["windows"])):
        for key in whole:
            total = sum(part[key] for part in parts)
            if differ(total, whole[key]):
                yield f"the {key} of all {name} are {total}, not {whole[key]}"


def compare_published(doc):
    for row in rows("published.csv"):
        found, stated = doc["published"][row["key"]]["value"], float(row["value"])
        if differ(found, stated, float(row["relative_tolerance"]), 1e-12):
            yield f"{row['key']} is {found!r}, published {stated!r}"


def main():
    path = sys.argv[1] if len(sys.argv) > 1 else os.path.join(HERE, "report.json")
    with open(path, encoding="utf-8") as file:
        doc = json.load(file)
    figures, compare.count = Figures(), 0
    expected = {"headline": figures.headline(), "comparison": figures.comparison(),
                "sites": figures.sites(), "published": figures.published(),
                "windows": [figures.window(w) for w in figures.windows]}
    wrong = [line for key in CHECKED for line in compare(doc[key], expected[key], key)]
    wrong += [*compare_curves(doc, figures), *compare_sums(doc), *compare_published(doc)]
    print(*wrong, f"{compare.count} numbers, {len(wrong)} differ", sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
