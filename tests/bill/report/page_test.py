#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Opens reports of synthetic runs in headless Chromium and checks what a reader sees.

page_test.py BUILD_FOLDER [--keep FOLDER] [KIND...]
Opens one report of each kind of run, or of those named.
Exits with 77 (skipped) if Chromium, chromedriver or Selenium is not installed.
--keep stores each page in FOLDER: screenshots of three widths, light and dark, and a PDF.
"""
import argparse
import glob
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile

from bill_checks import check_audit, check_bill, check_cursor, check_hours
from shown import (SIGN, bound_of, carbon_of, hours, joint_mark, lower_bound, number, percent,
                   shown_mode, significant)
from use_checks import check_now, check_use, check_width

try:
    from browser import Browser, missing_programs, shared_address
except ImportError as error:
    print(f"skipped: {error} (apt-get install python3-selenium)")
    sys.exit(77)

# Kinds that start from the demo's run: without the trace and not evaluated; without metrics; with
# steps so fast that always-on is better in some regions, and followed by an evaluation; with a site
# that trains only beside others.
FROM_DEMO = ["blind", "silent", "worse", "joint"]
KINDS = ["demo", "empty", "open", "gaps", "refused", "hostile", *FROM_DEMO, "long", "reference"]
SOURCE = os.path.abspath(os.path.join(os.path.dirname(__file__), "../../.."))
MOST_BYTES = {"demo": 2_500_000, "reference": 2_500_000}


class Checks:
    def __init__(self):
        self.failures = []

    def equal(self, what, shown, expected):
        if shown != expected:
            self.failures.append(f"{what}: the page shows {shown!r}, expected {expected!r}")

    def true(self, what, good):
        if not good:
            self.failures.append(what)

    def no_problems(self, browser, url):
        self.failures += browser.problems(url)


def check_figures(browser, doc, checks):
    """Every figure of the summary, the windows, the comparison and the rounds, as rounded."""
    if doc.get("headline"):
        check_headline(browser, doc["headline"], checks)
        check_comparison(browser, doc, checks)
        check_bill(browser, doc, checks)
    check_audit(browser, doc, checks)
    if "goodput" in doc:
        check_hours(browser, doc, checks)
    check_windows(browser, doc, checks)
    check_rounds(browser, doc, checks)
    check_work(browser, doc, checks)
    if doc["events"]:
        count, left_out = len(doc["events"]), doc["events_left_out"]
        more = f", {left_out:,} left out" if left_out else ""
        checks.equal("events", browser.text("#events .count"), [f"{count} of {count}{more}"])


def check_headline(browser, head, checks):
    unknown = head["kwh_unknown"]
    checks.equal("CO2", browser.text("#headline .big")[0].split("kg")[0],
                 lower_bound(head["co2_kg"], head["energy_kwh"], unknown))
    tiles = browser.text("#headline .tile .v")
    checks.equal("energy", tiles[0].split("kWh")[0],
                 SIGN[head.get("energy_bound", "exact")] + significant(head["energy_kwh"]))
    checks.equal("share", tiles[1], percent(head["share"]) + "%")
    checks.equal("wall", tiles[2], hours(head["wall_s"]) + "h")
    if "held_out" in head:
        checks.equal("held-out loss", tiles[3], number(head["held_out"]["loss"], 3) + "nats")
    checks.equal("goodput", tiles[5], percent(head["goodput"]) + "%")
    bars = [row[2] for row in browser.rows("#headline .bars")]
    checks.equal("always on", [bar.split(" kg")[0].rstrip("–") or "–" for bar in bars[1:]],
                 [lower_bound(a["kg"], a["kwh"], a["unknown_kwh"]) for a in head["always_on"]])


def check_comparison(browser, doc, checks):
    checks.equal("scenarios", [(r[0], r[2], r[4], r[7]) for r in browser.rows("#compare")],
                 [(c["label"] + joint_mark(c), hours(c["wall_s"]), significant(c["kwh"]),
                   carbon_of(c)) for c in doc["comparison"]])
    shares = [percent(doc["totals"]["sites"][s["id"]]["share"]) for s in doc["sites"]]
    rows = browser.rows("#energy .t")
    checks.true(f"the energy table does not show the shares below the threshold {shares}", all(
        share == "–" or share + " %" in row for share, row in zip(shares, rows)))


def check_windows(browser, doc, checks):
    label = {s["id"]: s["label"] for s in doc["sites"]}
    checks.equal("windows", [(r[0], r[5], r[6], r[7], r[9]) for r in browser.rows("#windows")],
                 [(label[w["site"]], number(w["startup_s"], 1), number(w["steps"]),
                   significant(w["kwh"]),
                   bound_of(w, doc["totals"]["sites"].get(w["site"], {}))) for w in doc["windows"]])
    units = browser.text("#windows thead .u")
    if units:
        checks.equal("units of energy and carbon", units[7:], [units[8]] * 2 + [units[10]] * 2)


def check_rounds(browser, doc, checks):
    marks = "abcdefghijklmnopqrstuvwxyz"
    checks.equal("rounds", [(r[0].rstrip(marks), r[2], r[-2], r[-1])
                            for r in browser.rows("#rounds")],
                 [(number(k["number"]), shown_mode(k["mode"]), significant(k["kwh"]),
                   bound_of(k, doc["totals"]["all"])) for k in doc["rounds"]])


def check_work(browser, doc, checks):
    """What became of each site's work."""
    work = doc.get("work")
    if not work or not doc["commits"]["all"]:
        checks.equal("panel about no work", browser.text("#work"), [])
        return
    label = {s["id"]: s["label"] for s in doc["sites"]} | {None: "All sites"}
    keys = ["trained_tokens", "included_tokens", "lost", "refused", "clipped", "removed"]
    expected = []
    for site in [*work["sites"], work["all"]]:
        site["lost"] = site["refused_tokens"] + (site["dropped_tokens"] or 0)
        expected.append([label[site["site"]], *(number(site[key]) for key in keys)])
    checks.equal("work by site", [*browser.rows("#work"), browser.text("#work tfoot td")],
                 expected)
    checks.equal("warnings about work", browser.text("#headline .warn"),
                 [warning + "." for warning in work["warnings"]])


def check_structure(browser, kind, checks):
    undrawn = "[...document.querySelectorAll('.plot')].filter(p => !p.querySelector('.main-svg'))"
    checks.equal("charts not drawn", browser.evaluate(undrawn + ".length"), 0)
    foreign = "document.querySelectorAll('main script, main iframe, main img').length"
    checks.equal("elements made of foreign text", browser.evaluate(foreign), 0)
    all_but_facts = ["timeline", "loss", "time", "energy", "compare", "rounds", "events"]
    empty = {"empty": all_but_facts, "silent": ["loss"]}.get(kind, [])
    explained = "s => s.querySelector(':scope > div > p.empty')"
    checks.equal("panels that explain why they are empty", browser.evaluate(
        "[...document.querySelectorAll('section.panel')]"
        f".filter({explained}).map(s => s.id)"), empty)


def check_zoom(browser, checks):
    """A zoom in one chart applies to all time charts."""
    ranges = ("JSON.stringify([...document.querySelectorAll('.plot')]"
              ".map(p => p._fullLayout.xaxis).filter(x => x.type === 'date').map(x => x.range))")
    before = browser.evaluate(ranges)
    browser.run("document.querySelectorAll('#timeline .ctl button')[2].click()")
    browser.wait(f"{ranges} !== {json.dumps(before)}", "zooming changed no range")
    after = json.loads(browser.evaluate(ranges))
    checks.true("fewer than three time charts", len(after) >= 3)
    checks.true("time charts show different ranges after a zoom",
                all(r == after[0] for r in after))


def check_controls(browser, checks):
    """Every switch, the pointer over a chart, sorting and filtering."""
    browser.run("document.querySelectorAll('.seg input').forEach(i => i.click())")
    browser.run("['losxtokens', 'losyloss', 'losrfull']"
                ".forEach(i => document.getElementById(i).click())")
    browser.run("document.querySelector('#loss .plot').scrollIntoView({block: 'center'})")
    browser.hover("#loss .plot", along=0.6, down=0.4)
    browser.wait("document.querySelector('#loss .hoverlayer *')",
                 "the pointer shows no values on the loss chart")
    browser.run("document.querySelectorAll('#rounds th button')[4].click()")
    tokens = [float(r[4].replace(",", "")) for r in browser.rows("#rounds")]
    checks.true("rounds are not sorted by tokens", tokens == sorted(tokens))
    browser.type("#events input", "NEM_SA")
    shown = browser.rows("#events")
    checks.true("events are not filtered", shown and all("NEM_SA" in " ".join(r) for r in shown))


def check_open(browser, doc, checks):
    checks.true("an open window is not shown as open",
                ("run ended first" if doc["run"]["status"] in ("finished", "complete") else
                 "still open") in browser.text("#windows")[0])


def check_gaps(browser, doc, checks):
    checks.true("unknown energy is not shown", doc["headline"]["kwh_unknown"] > 0 and
                "signal unknown" in browser.text("#headline")[0])
    checks.true("a lower bound is shown as the whole",
                "at least" in browser.text("#headline .sum")[0])
    checks.true("the page does not explain why percentages are missing",
                "energy is unknown" in browser.text("#headline")[0])
    check_no_ratios(doc, checks)


def check_no_ratios(doc, checks):
    checks.equal("percentages although intensity is unknown",
                 [a["ratio"] for a in doc["headline"]["always_on"]], [None] * 4)


def check_no_carbon(browser, doc, checks):
    head = doc["headline"]
    checks.equal("carbon although intensity is unknown", (head["co2_kg"], head["share"]),
                 (None, None))
    checks.true("the headline does not say that CO2 is unknown",
                "CO₂ is unknown" in browser.text("#headline .sum")[0])
    checks.equal("grams of all sites in the energy table",
                 browser.text("#energy tfoot td")[-3:], ["–", "–", "–"])


def check_blind(browser, doc, checks):
    check_no_carbon(browser, doc, checks)
    tiles = browser.text("#headline .tile")
    real = [i for i, text in enumerate(tiles) if "in real time" in text]
    checks.true(f"tiles {real} show real time, not only that of wall time", real == [2])
    texts = "[...document.querySelectorAll('#timeline .annotation-text')]"
    checks.equal("lanes that state that they have no signal", browser.evaluate(
        texts + ".filter(t => t.textContent.startsWith('no signal')).length"), 3)


def check_hostile(browser, doc, checks):
    check_no_carbon(browser, doc, checks)
    check_no_ratios(doc, checks)
    checks.true("foreign text is not shown literally",
                "</script><script>alert(1)</script>&<b>" in browser.text("#facts")[0])


def check_silent(browser, doc, checks):
    checks.true("unknown real time is not a dash",
                "in real time–" in browser.text("#headline .tile")[2])


def check_worse(browser, doc, checks):
    under = browser.text("#headline .under")[0]
    checks.true(f"more CO2 than always-on is described as {under!r}",
                "% less to" in under and "% more than always-on" in under)
    held = [point["loss"] for point in doc["held_out"]]
    checks.true("a followed run has several losses", len(held) > 3 and held[2] is None)
    drawn = browser.evaluate("[...document.querySelectorAll('#loss .js-plotly-plot')].flatMap("
                             "g => g.data).filter(t => t.name === 'held-out loss').map(t => t.y)")
    checks.equal("held-out losses in the chart", drawn[0], [loss for loss in held if loss])
    checks.true("a rise of the held-out loss is a note", "nats per token above that of commit"
                in browser.text("body")[0])


def check_refused(browser, doc, checks):
    stuck, quarantined = browser.text("#headline .warn")
    checks.true(f"a site whose work is refused: {stuck!r}",
                "SPP_TX has trained on 399,360 tokens, and the model includes no work" in stuck)
    checks.true(f"a quarantine: {quarantined!r}", "SPP_TX is in quarantine until" in quarantined)
    tile = browser.text("#headline .tile")[4]
    checks.true(f"the summary does not say how much is lost: {tile!r}",
                "lost besides0.40\xa0M" in tile)
    checks.true("the last loss is not explained",
                "the delta was missing or damaged" in browser.text("#work .note")[0])


def check_long(browser, doc, checks):
    checks.true("a very long run shows all its events",
                doc["events_left_out"] > 0 and "leaves out" in browser.text("#events")[0])


CHECKS_OF_KIND = {"open": check_open, "gaps": check_gaps, "refused": check_refused,
                  "blind": check_blind, "hostile": check_hostile, "silent": check_silent,
                  "worse": check_worse, "long": check_long}


def check_kind(browser, kind, folder, checks):
    page = os.path.join(folder, "report.html")
    url = "file://" + page
    with open(os.path.join(folder, "report.json"), encoding="utf-8") as f:
        doc = json.load(f)
    size, limit = os.path.getsize(page), MOST_BYTES.get(kind, 3_000_000)
    checks.true(f"the page has {size:,} bytes, more than {limit:,}", size < limit)
    browser.open(url)
    check_width(browser, 1400, checks)
    embedded = "JSON.parse(document.getElementById('curtail-data').textContent)"
    checks.equal("document in the page", browser.evaluate(embedded), doc)
    check_figures(browser, doc, checks)
    check_structure(browser, kind, checks)
    check_now(browser, doc, checks)
    if kind in CHECKS_OF_KIND:
        CHECKS_OF_KIND[kind](browser, doc, checks)
    if kind in ("demo", "reference"):
        check_cursor(browser, doc, checks)
        check_zoom(browser, checks)
        check_controls(browser, checks)
    checks.no_problems(browser, url)
    if kind == "reference":
        browser.open(url, width=420)
    else:
        browser.set_size(420)
        browser.wait("document.documentElement.scrollWidth <= innerWidth",
                     "the page scrolls sideways when it becomes narrow")
    check_width(browser, 420, checks)
    checks.no_problems(browser, url)
    if kind == "demo":
        check_use(browser, doc, url, checks)
        check_without_scripts(browser, doc, url, checks)
        check_without_charts(browser, doc, page, checks)


PANELS = ["timeline", "loss", "time", "energy", "compare", "audit", "work", "rounds", "events",
          "facts", "notes"]
TABLES = ["CO2 of this run and of one always-on site in each region, kg", "Windows", "Decisions",
          "Final values", "Share of time by state; values in the next table",
          "Hours by site and state", "Starts and stops by site", "Energy and CO2 by site and state",
          "This run and counterfactuals", "Work by site", "Rounds, sortable", "Events"]


def check_tables(browser, doc, what, checks):
    """The page has all tables with all figures."""
    checks.equal(f"panels {what}", browser.evaluate(
        "[...document.querySelectorAll('main > section.panel')].map(s => s.id)"), PANELS)
    checks.equal(f"tables {what}",
                 list(dict.fromkeys(browser.text("main table caption"))), TABLES)
    first_headings = browser.evaluate("[...document.querySelectorAll('main .t thead tr')]"
                                      ".map(row => row.cells[0].firstChild.textContent)")
    checks.equal(f"their first headings {what}", [title.strip("▲") for title in first_headings],
                 ["Window", "Site", "At the end", "Hours", "Starts and stops", "Site", "Training",
                  "Scenario", "Site", "#", "UTC"])
    checks.equal(f"links {what}", browser.evaluate(
        "[...document.querySelectorAll('nav a')].map(a => a.hash)"),
        ["#headline"] + ["#" + panel for panel in PANELS])
    check_figures(browser, doc, checks)


def check_without_scripts(browser, doc, url, checks):
    browser.allow_scripts(False)
    browser.open(url, "document.querySelector('noscript .empty')")
    for pixels in (820, 400, 1400):
        browser.set_size(pixels)
        browser.wait(f"innerWidth === {pixels}", f"the window has not {pixels} px")
        check_width(browser, pixels, checks)
    check_tables(browser, doc, "without JavaScript", checks)
    checks.no_problems(browser, url)
    browser.allow_scripts(True)


def check_without_charts(browser, doc, page, checks):
    """A browser that cannot unpack plotly.js, and a page whose plotly.js is damaged."""
    undo = browser.run_before_page("delete window.DecompressionStream")
    check_tables_only(browser, doc, "file://" + page, "this browser has no DecompressionStream",
                      checks)
    undo()
    damaged = os.path.join(os.path.dirname(page), "damaged.html")
    with open(page, encoding="utf-8") as f:
        before, after = f.read().split('id="plotly">')
    swapped = after[:5000] + after[5001] + after[5000] + after[5002:]
    with open(damaged, "w", encoding="utf-8") as f:
        f.write(before + 'id="plotly">' + swapped)
    check_tables_only(browser, doc, "file://" + damaged, "this file is damaged", checks)


def check_tables_only(browser, doc, url, why, checks):
    browser.open(url, "document.querySelector('main > .empty')")
    message = browser.text("main .empty")[0]
    checks.true(f"the page does not say that {why}: {message!r}", why in message)
    check_tables(browser, doc, f"when {why}", checks)
    checks.equal("charts", browser.evaluate("document.querySelectorAll('.plot').length"), 0)
    checks.no_problems(browser, url)


def keep_screenshots(browser, kind, folder, keep):
    url = "file://" + os.path.join(folder, "report.html")
    for pixels in (400, 820, 1400):
        for theme in ("light", "dark"):
            browser.open(f"{url}?theme={theme}", width=pixels)
            browser.screenshot(os.path.join(keep, f"{kind}-{pixels}-{theme}.png"))
    with open(os.path.join(keep, kind + ".pdf"), "wb") as f:
        f.write(browser.pdf())


def change_metrics(folder, change):
    for path in glob.glob(os.path.join(folder, "sites/*/metrics.jsonl")):
        with open(path, encoding="utf-8") as f:
            rows = [json.loads(line) for line in f]
        with open(path, "w", encoding="utf-8") as f:
            f.writelines(json.dumps(row) + "\n" for row in change(rows))


def digest_of(path):
    with open(path, "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()


def flatten(folder):
    """Makes the intensity almost the same where it was low and where it was high."""
    path = os.path.join(folder, "trace.csv")
    before = digest_of(path)
    with open(path, encoding="utf-8") as f:
        header, *rows = [line.split(",") for line in f.read().splitlines()]
    for row in rows:
        row[1:] = [x and ("90" if float(x) < 100 else "160") for x in row[1:]]
    with open(path, "w", encoding="utf-8") as f:
        f.writelines(",".join(row) + "\n" for row in [header, *rows])
    for log in glob.glob(os.path.join(folder, "poller/sites/*/events.jsonl")):
        with open(log, encoding="utf-8") as f:
            text = f.read()
        with open(log, "w", encoding="utf-8") as f:
            f.write(text.replace(before, digest_of(path)))


def keep_joint_steps(folder):
    """Drops the steps that SPP_TX trained alone: its site has only the rate of joint rounds."""
    path = os.path.join(folder, "sites/SPP_TX/metrics.jsonl")
    with open(path, encoding="utf-8") as f:
        lines = f.readlines()
    with open(path, "w", encoding="utf-8") as f:
        f.writelines(line for line in lines if json.loads(line)["step_s"] > 0.3)


def write_evaluations(folder):
    """Writes the held-out losses of all models; that of the newest has risen."""
    lines = []
    for path in sorted(glob.glob(os.path.join(folder, "store/runs/*/commits/*.json"))):
        with open(path, encoding="utf-8") as f:
            commit = json.load(f)
        if commit["kind"] != "roster":
            lines.append({"time": "2026-11-21T10:00:00Z", "commit": commit["number"],
                          "round": commit["round"], "data": "0" * 64,
                          "model": commit["model"]["parts"][0]["sha256"],
                          "trained_tokens": commit["totals"]["tokens"], "duration_s": 1.5,
                          "tokens": 40_960, "held_out_loss_nats": 7 - 0.01 * len(lines),
                          "unigram_entropy_nats": 6.75})
    lines[2]["missing"] = "deleted"
    lines[-1]["held_out_loss_nats"] = 7.5
    file = os.path.join(folder, "sites/SPP_TX/evaluation/evaluation.jsonl")
    os.mkdir(os.path.dirname(file))
    with open(file, "w", encoding="utf-8") as f:
        f.writelines(json.dumps(line) + "\n" for line in lines)


def make_run(build, kind, folder):
    made = "demo" if kind in FROM_DEMO else kind
    subprocess.run([os.path.join(build, "tests/make_run"), made, folder], check=True,
                   env=os.environ | {"CURTAIL_TEST_SOURCE_DIR": SOURCE})
    if kind == "blind":
        os.remove(os.path.join(folder, "evaluation.json"))
    if kind == "silent":
        change_metrics(folder, lambda rows: [])
    if kind == "joint":
        keep_joint_steps(folder)
    if kind == "worse":
        flatten(folder)
        write_evaluations(folder)


def make_report(build, kind, folder):
    """Runs curtail-report for a synthetic run or the reference; returns the finished process."""
    program = [os.path.join(build, "bin/curtail-report"), "--quiet"]
    if kind == "reference":
        arguments = ["--reference", "--out", os.path.join(folder, "report.html")]
    else:
        make_run(build, kind, folder)
        arguments = [os.path.join(folder, "run.json")]
        if kind != "blind":
            arguments += ["--trace", os.path.join(folder, "trace.csv")]
    return subprocess.run(program + arguments, capture_output=True, text=True)


def failures_of(browser, build, kind, work, keep):
    folder = os.path.join(work, kind)
    os.mkdir(folder)
    made = make_report(build, kind, folder)
    if made.returncode != 0:
        return [f"{kind}: curtail-report: {made.stderr}"]
    checks = Checks()
    check_kind(browser, kind, folder, checks)
    if keep:
        keep_screenshots(browser, kind, folder, keep)
    return [f"{kind}: {failure}" for failure in checks.failures]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build")
    parser.add_argument("--keep")
    parser.add_argument("kinds", nargs="*", choices=[*KINDS, []])
    options = parser.parse_args()
    build, kinds = os.path.abspath(options.build), options.kinds or KINDS
    keep = options.keep and os.path.abspath(options.keep)
    if missing_programs():
        print(f"skipped: {' and '.join(missing_programs())} not found "
              "(apt-get install chromium chromium-driver)")
        return 77
    if keep:
        os.makedirs(keep, exist_ok=True)
    work = tempfile.mkdtemp(prefix="curtail-page-")
    failures, browser = [], None
    try:
        browser = Browser(os.path.join(work, "profile"), shared_address())
        for kind in kinds:
            failures += failures_of(browser, build, kind, work, keep)
    finally:
        if browser:
            browser.close()
        shutil.rmtree(work, ignore_errors=True)
    for failure in failures:
        print(failure)
    print(f"{len(failures)} failures in {len(kinds)} kinds of run")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
