#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Computes a run's headline figures with Python alone, and compares them with headline.json. Exits
with 1 if one differs in its first 9 digits, or if a file is not the one that digests.txt names."""
import bisect
import csv
import functools
import hashlib
import json
import math
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def table(name):
    return list(csv.DictReader((HERE / name).read_text().splitlines()))


def lines(name):
    return [json.loads(line) for line in (HERE / name).read_text().splitlines()]


RUN = json.loads((HERE / "run.json").read_text())
SITES = RUN["sites"]
COMMITS = lines("commits.jsonl")
STATES = [(r["site"], r["state"], int(r["from_ms"]), int(r["to_ms"])) for r in table("states.csv")]
SAMPLES = table("samples.csv")
STEPS = {s["id"]: [{k: float(v) if v else None for k, v in row.items() if k != "site"}
                   for row in table("steps.csv") if row["site"] == s["id"]] for s in SITES}


@functools.lru_cache(maxsize=None)
def series(region, max_age_ms):
    """A sample holds until the next one, at most for the longer of its period and max_age_ms."""
    rows = [r for r in SAMPLES if r["region"] == region]
    pieces = []
    for row, following in zip(rows, rows[1:] + [None]):
        begin = int(row["time_ms"])
        end = begin + max(max_age_ms, int(row["period_ms"] or 0))
        end = min(end, int(following["time_ms"])) if following else end
        if row["gco2_per_kwh"]:
            pieces.append((begin, end, float(row["gco2_per_kwh"])))
    return pieces


def bill(spans, settings, region=None):
    """Energy, clean and unknown energy in Wh, carbon and dirty carbon in g, of spans (state, from,
    to), with the settings that were in force."""
    sums = [0.0] * 5
    for s in settings:
        pieces = series(region or s["region"], s["max_age_ms"])
        for state, begin, end in spans:
            begin, end = max(begin, s["from_ms"]), min(end, s["to_ms"])
            if begin >= end or s["training_w"] is None:
                continue
            watts = s["pue"] * s["training_w" if state in ("training", "stalled") else "idle_w"]
            known = 0
            for first, last, grams in pieces[max(0, bisect.bisect(pieces, (begin,)) - 1):]:
                if first >= end:
                    break
                part = max(0, min(end, last) - max(begin, first))
                known += part
                energy = watts * part / 3.6e6
                carbon, clean = max(0.0, energy * grams / 1000), grams < s["threshold"]
                sums[1] += energy if clean else 0
                sums[3] += carbon
                sums[4] += 0 if clean else carbon
            sums[0] += watts * (end - begin) / 3.6e6
            sums[2] += watts * (end - begin - known) / 3.6e6
    return sums


def rate(site, held, pauses):
    """Tokens per real second of the steps that ran, alone if the site has such steps."""
    def overlaps(spans, begin, end):
        return any(a < end and begin < b for a, b in spans)

    pace = {True: [0, 0.0], False: [0, 0.0]}
    for step in STEPS[site]:
        end = step["time_ms"]
        begin = end - round(step["step_s"] * 1000)
        if overlaps(pauses[site], begin, end):
            continue
        alone = not any(overlaps(spans, begin, end) for s, spans in held.items() if s != site)
        for kind in {alone, False}:
            pace[kind][0] += step["tokens"]
            pace[kind][1] += max(step["step_s"], RUN["step_at_least_s"])
    return next((t / s for t, s in (pace[True], pace[False]) if t > 0 and s > 0), None)


def always_on(region, trained, rates):
    near = [s for s in SITES if s["region"] == region and rates[s["id"]]]
    site = (near or [s for s in SITES if s["id"] == RUN["reference"]])[0]
    speed = rates[site["id"]] / RUN["clock"]["factor"]
    start = next(int(r["time_ms"]) for r in SAMPLES if r["region"] == region)
    end = start + round(trained / speed * 1000)
    known = [(s, series(region, s["max_age_ms"])[-1][1]) for s in site["settings"]
             if series(region, s["max_age_ms"])]
    until = min(end, max([start] + [min(k, s["to_ms"]) for s, k in known if k > s["from_ms"]]))
    energy, clean, unknown, grams, _ = bill([("training", start, until)], site["settings"], region)
    return {"kwh": energy / 1000, "kg": grams / 1000,
            "share": clean / energy if energy > unknown else None,
            "tokens": trained if until == end else int(speed * (until - start) / 1000)}


def loss():
    """Lowest smoothed perplexity, and mean loss of the last steps."""
    points = sorted(((s["progress_tokens"] / RUN["batch_tokens"], s["loss"])
                     for steps in STEPS.values() for s in steps if s["loss"] is not None),
                    key=lambda point: point[0])
    if not points:
        return None, None
    constant = min(100.0, max(5.0, math.floor(len(points) / 50 + 0.5)))
    groups = {}
    for step, value in points:
        groups.setdefault(step, []).append(math.exp(value))
    smooth = best = last = None
    for step, values in groups.items():
        a = math.exp(-(step - last) / constant) if last is not None else 0.0
        smooth = a * (smooth or 0.0) + (1 - a) * sum(values) / len(values)
        best, last = min(best or smooth, smooth), step
    tail = min(1000.0, max(20.0, math.floor(len(points) / 10 + 0.5)))
    newest = [value for step, value in points if step > points[-1][0] - tail]
    return best, sum(newest) / len(newest)


def headline():
    if not COMMITS:
        return {}
    by_site = {s["id"]: 0 for s in SITES}
    for part in (part for commit in COMMITS for part in commit["included"]):
        by_site[part["site"]] = by_site.get(part["site"], 0) + part["tokens"]
    trained = COMMITS[-1]["tokens"] - COMMITS[0]["tokens"]
    sums, inside, training, allocated, useful, grams = [0.0] * 5, 0.0, 0.0, 0.0, 0.0, {}
    for site in SITES:
        mine = [span[1:] for span in STATES if span[0] == site["id"]]
        drawn = [span for span in mine if span[0] != "provision"]
        figures = bill(drawn, site["settings"])
        sums = [a + b for a, b in zip(sums, figures)]
        grams[site["id"]] = figures[3] / 1000
        for w in (w for w in table("windows.csv") if w["site"] == site["id"]):
            begin, end = int(w["open_ms"]), int(w["close_ms"])
            inside += bill([(s, max(a, begin), min(b, end)) for s, a, b in drawn],
                           site["settings"])[0]
        seconds = sum(b - a for s, a, b in mine if s == "training") / 1000
        logged = sum(step["tokens"] for step in STEPS[site["id"]])
        training += seconds
        allocated += sum(b - a for s, a, b in mine if s != "between_jobs") / 1000
        useful += seconds * min(1, by_site[site["id"]] / logged) if logged else 0
    real = [r for r in table("states.csv") if r["real_from_ms"]]
    spans = {kind: {s["id"]: [(int(r["real_from_ms"]), int(r["real_to_ms"])) for r in real
                              if r["site"] == s["id"] and (not kind or r["state"] in kind)]
                    for s in SITES} for kind in ((), ("suspended", "frozen", "stalled"))}
    rates = {s["id"]: rate(s["id"], *spans.values()) for s in SITES}
    energy, clean, unknown, carbon, dirty = sums
    best, tail = loss()
    last = max((step["time_ms"] for steps in STEPS.values() for step in steps), default=None)
    clock = RUN["clock"]
    regions = [r for r in dict.fromkeys(row["region"] for row in SAMPLES) if trained > 0 and (
        rates[RUN["reference"]] or any(s["region"] == r and rates[s["id"]] for s in SITES))]
    return {
        "energy_kwh": energy / 1000, "co2_kg": carbon / 1000, "co2_by_site": grams,
        "share": clean / energy if energy > unknown else None, "kwh_unknown": unknown / 1000,
        "co2_outside_kg": dirty / 1000, "kwh_outside": (energy - unknown - clean) / 1000,
        "mean_intensity": carbon / (energy - unknown) * 1000 if energy > unknown else None,
        "share_inside_windows": inside / energy if energy else None,
        "tokens": COMMITS[-1]["tokens"], "tokens_by_site": by_site,
        "wall_s": max(0, clock["origin_ms"] - RUN["time_zero_ms"] +
                      round((last - clock["real_origin_ms"]) * clock["factor"])) / 1000
        if last else None,
        "training_h": training / 3600, "allocated_h": allocated / 3600,
        "goodput": useful / allocated if allocated else None, "best_ppl": best, "tail_loss": tail,
        "rounds": sum(c["kind"] == "merge" for c in COMMITS),
        "joint_rounds": sum(len({p["site"] for p in c["included"]}) > 1 for c in COMMITS),
        "always_on": {r: always_on(r, trained, rates) for r in regions}}


def flat(value, name=""):
    return {name: value} if not isinstance(value, dict) else {
        k: v for key, part in value.items() for k, v in flat(part, f"{name}/{key}").items()}


def main():
    digests = [line.split("  ", 1) for line in (HERE / "digests.txt").read_text().splitlines()]
    wrong = [name for digest, name in digests
             if hashlib.sha256((HERE / name).read_bytes()).hexdigest() != digest]
    found = flat(headline())
    for name, value in flat(json.loads((HERE / "headline.json").read_text())).items():
        print(f"{name:40} {found.get(name)!r:>24} {value!r:>24}")
        if found.get(name) is None or not math.isclose(found[name], value, rel_tol=1e-9):
            wrong.append(name)
    print("".join(f"differs: {name}\n" for name in wrong), end="", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
