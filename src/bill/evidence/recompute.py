#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Computes the figures of a report with Python 3.6 or later alone. Compares them with figures.jsonl
to 9 digits, and the files with digests.txt. Exits with 1 if something differs."""
import bisect, collections, csv, functools, hashlib, io, itertools, json, math, os, pathlib, sys
HERE = pathlib.Path(os.path.abspath(__file__)).parent
SAME = {"gco2": "g", "gco2_outside": "g_outside", "kwh_unknown": "unknown_kwh", "co2_kg": "kg",
        "energy_kwh": "kwh", "mean_intensity": "g_per_kwh", "is_whole": "co2_is_whole"}
def read_folder():
    """The files by name, and the names of those that are missing, changed, added or links."""
    files = {path.relative_to(HERE).as_posix(): path.read_bytes() if path.is_file() and
             not path.is_symlink() else b"no plain file" for path in HERE.rglob("*")
             if path.is_symlink() or not path.is_dir()}
    named = {line[66:]: line[:64] for line in files["digests.txt"].decode().splitlines()}
    return files, [name for name in sorted({*files, *named} - {"digests.txt"}) if hashlib.sha256(
        files.get(name, b"missing")).hexdigest() != named.get(name)]

def figures(t, name="", **more):
    """What the report states of a sum of Wh, g and doubts. The amounts have a name before them."""
    energy, lit, carbon, dirty = (t[name + k] for k in ("energy", "known", "carbon", "dirty"))
    bounds = {bound for bound in ("at least", "at most", "uncertain") if t[bound] + t[name + bound]}
    of_co2 = bounds | ({"at least"} if energy - lit > .005 * energy else set())
    is_known = bounds <= {"at most"} and (energy <= 0 or not t[name + "blind"] and lit > 0)
    of_carbon = {"g": carbon, "kg": carbon / 1000, "g_outside": dirty,
                 "co2_outside_kg": dirty / 1000, "kwh_outside": (lit - t[name + "clean"]) / 1000,
                 "share": t[name + "clean"] / energy if lit > 0 else None,
                 "g_per_kwh": carbon / lit * 1000 if lit > 0 else None}
    return dict({key: value if is_known else None for key, value in of_carbon.items()},
                kwh=None if t[name + "unpowered"] and energy <= 0 else energy / 1000,
                unknown_kwh=(energy - lit) / 1000, avoided_g=t[name + "avoided"],
                energy_is_whole=not bounds, co2_is_whole=is_known and not of_co2, **more)

class Record:
    def __init__(self, files):
        vars(self).update(json.loads(files["run.json"].decode("utf-8")))
        self.commits = [json.loads(line) for line in files["commits.jsonl"].splitlines()]
        self.tables = {name: [
            {key: value if key in ("site", "state", "region") else float(value) if value else None
             for key, value in row.items()}
            for row in csv.DictReader(io.StringIO(files[name + ".csv"].decode("utf-8")))]
            for name in ("states", "steps", "samples", "averages", "always_on")}
        self.trained = self.commits[-1]["tokens"] - self.commits[0]["tokens"] if self.commits else 0
        self.changes = functools.lru_cache(maxsize=None)(self.changes)
        self.sums = {s["id"]: self.sum_of(s) for s in self.sites}
        self.total = sum(self.sums.values(), collections.Counter(self.bounds))
        self.scenarios = self.always_on() if self.trained > 0 else {}

    def of(self, table, value, key="site"):
        return [row for row in self.tables[table] if row[key] == value]

    def changes(self, table, region, max_age_ms):
        """When the intensity changes, and to what, by the rule `hold` of docs/energy.md."""
        rows, out = self.of(table, region, "region"), [(-math.inf, None)]
        for row, begin in zip(rows, [row["time_ms"] for row in rows[1:]] + [math.inf]):
            end = row["time_ms"] + max(max_age_ms, row["period_ms"] or 0)
            out += [(row["time_ms"], row["gco2_per_kwh"])] + [(end, None)] * (end < begin)
        return out + [(math.inf, None)]

    def bill(self, out, name, rows, table="samples"):
        """Adds what is drawn in the times of some rows of states.csv."""
        for r in rows:
            if r["watts"] is None:
                out.update([name + "at least", name + "unpowered"])
                continue
            changes = self.changes(table, r["region"], r["max_age_ms"])
            out[name + "blind"] += r["watts"] > 0 and all(grams is None for _, grams in changes)
            i = bisect.bisect(changes, (r["from_ms"],)) - 1
            while changes[i][0] < r["to_ms"]:
                (begin, grams), (end, _), i = changes[i], changes[i + 1], i + 1
                hours = (min(end, r["to_ms"]) - max(begin, r["from_ms"])) / 3.6e6
                energy, is_known = r["watts"] * r["pue"] * hours, grams is not None
                carbon, is_clean = energy * (grams or 0) / 1000, (grams or 0) < r["threshold"]
                amounts = dict(energy=energy, inside=energy * r["in_window"], carbon=max(0, carbon),
                               known=energy * is_known, clean=energy * (is_known and is_clean),
                               avoided=max(0, -carbon), dirty=max(0, carbon) * (not is_clean))
                out.update({name + key: value for key, value in amounts.items()})
        return out

    def sum_of(self, site):
        """What a site drew and did: amounts, seconds by state, and tokens."""
        rows, out = self.of("states", site["id"]), collections.Counter([site["bound"]])
        drawn = [r for r in rows if r["state"] not in ("provision", "maybe_between_jobs")]
        self.bill(out, "", drawn)
        self.bill(out, "average ", drawn, "averages")
        self.bill(out, "if idle ", [r for r in rows if r["state"] != "provision"])
        for r, seconds in ((r, (r["to_ms"] - r["from_ms"]) / 1000) for r in rows):
            out.update({r["state"]: seconds, "no embodied": r["embodied_per_hour"] is None,
                        "allocated": seconds * ("between_jobs" not in r["state"]),
                        "embodied": seconds / 3600 * (r["embodied_per_hour"] or 0)})
        for parts in (commit["included"] for commit in self.commits):
            out["tokens"] += parts.get(site["id"], 0)
            out["joint" if len(parts) > 1 else "lone"] += site["id"] in parts
        logged = sum(step["tokens"] for step in self.of("steps", site["id"]))
        out["useful"] = out["training"] * min(1, out["tokens"] / (logged or math.inf))
        out["no goodput"] = not logged and out["tokens"] > 0
        return out

    def always_on(self):
        """Always-on in each region, at a site's rate: that of its steps that ran, alone if any."""
        def apart(steps, rows):
            spans = sorted((r["real_from_ms"], r["real_to_ms"]) for r in rows if r["real_to_ms"])
            ends = [-math.inf] + list(itertools.accumulate((end for _, end in spans), max))
            return [s for s in steps if ends[bisect.bisect(spans, (s["time_ms"],))] <=
                    s["time_ms"] - round(s["step_s"] * 1000)]
        rates, out = {}, {}
        for site in self.sums:
            ran = apart(self.of("steps", site), [r for r in self.of("states", site) if r["state"] in
                                                 ("suspended", "frozen", "stalled")])
            for steps in (ran, apart(ran, [r for r in self.tables["states"] if r["site"] != site])):
                seconds = sum(max(step["step_s"], step["at_least_s"]) for step in steps)
                if seconds > 0 and sum(step["tokens"] for step in steps) > 0:
                    rates[site] = sum(step["tokens"] for step in steps) / seconds
        for region in dict.fromkeys(r["region"] for r in self.tables["always_on"]):
            rows = self.of("always_on", region, "region")
            rate, begin = rates[rows[0]["site"]], rows[0]["from_ms"]
            end = begin + round(self.trained / (rate / self.factor) * 1000)
            changes = [(r, self.changes("samples", region, r["max_age_ms"])) for r in rows]
            known = [min(b, r["to_ms"]) for r, c in changes for (_, grams), (b, _) in zip(c, c[1:])
                     if grams is not None and b > r["from_ms"]]
            until = min(end, max([begin] + known))
            rows = [dict(r, to_ms=min(until, r["to_ms"])) for r in rows if r["from_ms"] < until]
            out[region] = figures(
                self.bill(collections.Counter(), "", rows), wall_s=(end - begin) / 1000, rate={
                    "tokens_per_s": rate}, observed=(until - begin) / (end - begin)
                if end > begin else 1, tokens=int(rate / self.factor * (until - begin) / 1000)
                if until < end else self.trained)
        return out

    def loss(self):
        """The lowest smoothed perplexity, and the mean loss of the last steps."""
        points, smooth, best = sorted((s["progress_tokens"] / self.batch_tokens, s["loss"]) for s
                                      in self.tables["steps"] if s["loss"] is not None), 0, None
        span, last = min(100, max(5, (len(points) + 25) // 50)), -math.inf
        for at, group in itertools.groupby(points, lambda point: point[0]):
            values, a = [math.exp(value) for _, value in group], math.exp((last - at) / span)
            smooth, last = a * smooth + (1 - a) * sum(values) / len(values), at
            best = min(best or smooth, smooth)
        newest = [x for at, x in points if at > last - min(1000, max(20, (len(points) + 5) // 10))]
        return {"best_ppl": best, "tail_loss": {"0": sum(newest) / len(newest) if newest else None}}

    def report(self):
        """The figures by their names in figures.jsonl."""
        t, sites = self.total, {site: self.entry(sums) for site, sums in self.sums.items()}
        rounds = [len(commit["included"]) for commit in self.commits if commit["is_merge"]]
        last_ms = max((step["time_ms"] for step in self.tables["steps"]), default=None)
        idle = figures(t, "if idle ") if t["if idle energy"] > t["energy"] else {}
        whole = dict(
            self.entry(t), tokens=self.trained, rounds=len(rounds), observed=1, lone_rounds=sum(
                n < 2 for n in rounds), joint_rounds=sum(n > 1 for n in rounds), training_h=t[
                    "training"] / 3600, allocated_h=t["allocated"] / 3600, energy_if_idle_kwh=
            idle.get("kwh"), co2_if_idle_kg=idle.get("kg"), wall_s=last_ms and max(
                0, self.origin_ms - self.time_zero_ms + round(
                    (last_ms - self.real_origin_ms) * self.factor)) / 1000, **self.loss())
        whole["split"] = whole["co2_by_site"] = {site: f["kg"] for site, f in sites.items()}
        regions = {r: dict(s, ratio=whole["ratio"][r]) for r, s in self.scenarios.items()}
        grams, is_whole = whole["g"], whole["co2_is_whole"] and self.trained > 0
        has_sci = is_whole and not idle and not t["no embodied"] and not any(
            s["between_jobs"] == "unknown" and sites[s["id"]]["held_devices_s"] for s in self.sites)
        return {
            "totals": {"all": whole, "sites": sites}, "headline": dict(
                whole, always_on=regions, tokens=self.inherited + self.trained,
                tokens_by_site={site: f["tokens"] for site, f in sites.items()},
                share_baseline={region: s["share"] for region, s in regions.items()}),
            "comparison": dict({"one:" + region: s for region, s in regions.items()}, run=dict(
                whole, ratio=1 if is_whole and grams > 0 else None)), "audit": {
                    "average": figures(t, "average ") if self.tables["averages"] else None,
                    "g_per_million_tokens": grams / self.trained * 1e6
                    if self.trained > 0 and grams is not None else None, "sci": {
                        "g_per_million_tokens": (grams + t["embodied"]) / self.trained * 1e6,
                        "operational_g": grams, "embodied_g": t["embodied"]} if has_sci else None}}

    def entry(self, t):
        """What the report states of a site, or of all sites."""
        f, seconds = figures(t), t["allocated"]
        ratio = {region: f["kg"] / s["kg"] * s["tokens"] / self.trained if f["co2_is_whole"] and
                 s["co2_is_whole"] and s["kg"] > 0 and s["observed"] >= .9 else None
                 for region, s in self.scenarios.items()}
        return dict(f, ratio=ratio, tokens=t["tokens"], joint_rounds=t["joint"],
                    lone_rounds=t["lone"], allocated_s=seconds, goodput=t["useful"] / seconds
                    if seconds and not t["no goodput"] else None, held_devices_s=seconds -
                    t["provision"], share_inside_windows=t["inside"] / t["energy"]
                    if t["energy"] else None)

def main():
    files, wrong = read_folder()
    if wrong:
        sys.exit("".join(f"differs: {name!a}\n" for name in wrong))
    found = Record(files).report()
    for path, value in map(json.loads, files["figures.jsonl"].splitlines()):
        mine = functools.reduce(lambda of, key: of.get(SAME.get(key, key), ...) if isinstance(
            of, dict) else of, path, found)
        if mine in (value, ...) or value == "left out" or None not in (mine, value) and \
                math.isclose(mine, value, rel_tol=1e-9, abs_tol=1e-9):
            print(f"{'not recomputed' if mine is ... else str(value):>20}  {'/'.join(path)!a}")
        else:
            wrong.append(f"differs: {'/'.join(path)!a}: {mine!a} instead of {value!a}\n")
    print("SHA-256 of digests.txt:", hashlib.sha256(files["digests.txt"]).hexdigest())
    sys.exit("".join(wrong) or 0)
if __name__ == "__main__": main()
