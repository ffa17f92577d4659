#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares steps.csv, states.csv and samples.csv with the logs from which Curtail took them, with
Python 3.6 or later alone. Reads the logs in the simplest way: it knows no rule of docs/report.md
but the end of a killed trainer and the event `frozen`. So it names what Curtail corrected or left
out. Exits with 1 if something differs."""
import collections, csv, datetime, json, os, pathlib, sys

HERE = pathlib.Path(os.path.abspath(__file__)).parent
PROBLEMS = []


def table(name):
    with open(str(HERE / name), encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def log(site, stream):
    """The lines of a log that are JSON objects with a time; empty if there is no such log."""
    path, lines = HERE / "logs" / "{}-{}.jsonl".format(site, stream), []
    for text in path.read_bytes().splitlines() if path.exists() else []:
        try:
            line = json.loads(text.decode("utf-8"))
            lines.append(dict(line, at=milliseconds(line["time"])))
        except (ValueError, TypeError, KeyError):
            tell(False, "{} has a line without a time".format(path.name))
    return lines


def milliseconds(text):
    form = "%Y-%m-%dT%H:%M:%S.%fZ" if "." in text else "%Y-%m-%dT%H:%M:%SZ"
    moment = datetime.datetime.strptime(text, form).replace(tzinfo=datetime.timezone.utc)
    return round(moment.timestamp() * 1000)


def tell(same, text):
    print("agrees: " + text if same else "differs: " + text)
    if not same:
        PROBLEMS.append(text)


def compare_steps(site, rows):
    logged = collections.Counter((s.get("tokens"), s.get("step_s"))
                                 for s in log(site, "metrics"))
    taken = collections.Counter((int(r["tokens"]), float(r["step_s"])) for r in rows)
    tell(logged == taken, "{}: {} steps in steps.csv, and {} in the log".format(
        site, sum(taken.values()), sum(logged.values())))


def training_ms(site):
    """The time in the state training, from each event `state` to the trainer's next one."""
    ends = [step["at"] for step in log(site, "metrics")]
    events = log(site, "trainer")
    states = [event for event in events if event.get("type") == "state"]
    total = 0
    for state, after in zip(states, states[1:] + [{"state": "starting", "at": float("inf")}]):
        begin, end = state["at"], after["at"]
        if state.get("state") != "training":
            continue
        if after.get("state") == "starting":  # a kill, or the log's end: the last step counts
            end = max([t for t in ends if begin <= t <= end], default=begin)
        total += end - begin
        for pause in (e for e in events if e.get("type") == "frozen"):
            both = min(end, milliseconds(pause["to"])) - max(begin, milliseconds(pause["from"]))
            total -= max(0, both)
    return total


def compare_states(site, rows):
    spans = {(int(r["real_from_ms"]), int(r["real_to_ms"])) for r in rows
             if r["state"] in ("training", "stalled")}
    taken, logged = sum(end - begin for begin, end in spans), training_ms(site)
    tell(abs(taken - logged) <= max(1000, .005 * logged),
         "{}: {:.1f} s of training in states.csv, and {:.1f} s in the log".format(
             site, taken / 1000, logged / 1000))


def compare_samples(sites):
    logged = {(line.get("region"), line["at"], line.get("intensity_gco2_per_kwh"))
              for site in sites for line in log(site, "signals")
              if line.get("kind", "marginal") == "marginal"}
    regions = {region for region, _, _ in logged}
    taken = [(r["region"], int(r["time_ms"]), float(r["gco2_per_kwh"]) if r["gco2_per_kwh"] else
              None) for r in table("samples.csv")]
    for region in sorted({region for region, _, _ in taken}):
        mine = [sample for sample in taken if sample[0] == region]
        if region in regions:
            known = sum(sample in logged for sample in mine)
            tell(known == len(mine), "{}: {} of {} samples are in a log".format(
                region, known, len(mine)))
            valued = {at for name, at, value in logged if name == region and value is not None}
            unknown = sum(value is None and at in valued and (region, at, value) not in logged
                          for _, at, value in mine)
            if unknown:
                print("samples.csv leaves out {} value{} of {}: see the note \"Contradicting "
                      "samples\" of the report".format(unknown, "s" * (unknown > 1), region))
        else:
            print("only in samples.csv: " + region)


def main():
    sites = [site["id"] for site in json.loads((HERE / "run.json").read_text("utf-8"))["sites"]]
    steps, states = table("steps.csv"), table("states.csv")
    for site in sites:
        compare_steps(site, [row for row in steps if row["site"] == site])
        compare_states(site, [row for row in states if row["site"] == site])
    compare_samples(sites)
    if PROBLEMS:
        print("the notes of the report name what Curtail corrected or left out")
    sys.exit(1 if PROBLEMS else 0)


if __name__ == "__main__":
    main()
