#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Opens reports of synthetic runs in headless Chromium, by its DevTools protocol over a pipe, and looks at what a reader gets.

page_test.py BUILD_FOLDER [--keep FOLDER]     exit 77 (skipped) where there is no Chromium or no plotly.js
--keep leaves the pages and a screenshot of each, in light, dark and narrow, for a person to look at.
"""
import base64, glob, json, os, shutil, subprocess, sys, tempfile, time

KINDS = ["demo", "empty", "open", "gaps", "hostile", "blind", "silent", "worse", "long", "reference"]
# The demo's run: without the trace and not evaluated; without metrics; and with steps so fast that always-on is better in some regions.
AS_DEMO = ["blind", "silent", "worse"]
DEADLINE_S = 30


class Browser:
    """A Chromium of its own, with its own profile, ended by its process id."""

    def __init__(self, program, folder):
        to_read, self.to_write = os.pipe()
        self.to_read, from_write = os.pipe()
        def wire():
            os.dup2(to_read, 13); os.dup2(from_write, 14); os.dup2(13, 3); os.dup2(14, 4)
            os.set_inheritable(3, True); os.set_inheritable(4, True)
        self.process = subprocess.Popen(
            [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
             "--no-first-run", "--disable-background-networking", "--disable-extensions", "--remote-debugging-pipe",
             "--user-data-dir=" + folder], preexec_fn=wire, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read); os.close(from_write)
        self.buffer, self.number, self.events, self.session = b"", 0, [], None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"): self.call(domain + ".enable")

    def close(self):
        self.process.terminate()
        try: self.process.wait(10)
        except subprocess.TimeoutExpired: self.process.kill(); self.process.wait()
        os.close(self.to_write); os.close(self.to_read)

    def receive(self):
        while b"\0" not in self.buffer:
            piece = os.read(self.to_read, 1 << 20)
            if not piece: raise RuntimeError("Chromium has gone")
            self.buffer += piece
        line, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(line)

    def call(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session: message["sessionId"] = self.session
        os.write(self.to_write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == self.number:
                if "error" in answer: raise RuntimeError(method + ": " + answer["error"]["message"])
                return answer["result"]
            if "method" in answer: self.events.append(answer)

    def evaluate(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer: raise RuntimeError(expression + ": " + json.dumps(answer["exceptionDetails"])[:400])
        return answer["result"].get("value")

    def open(self, url, ready="document.documentElement && document.documentElement.dataset.ready === '1'"):
        self.events = []
        self.call("Page.navigate", url=url)
        until = time.monotonic() + DEADLINE_S
        while time.monotonic() < until:
            if self.evaluate(f"location.href !== 'about:blank' && document.readyState === 'complete' && !!({ready})"): return
        raise RuntimeError(url + " was not drawn in time")

    def complaints(self, url):
        """Console messages, exceptions, dialogs, and requests other than for the page itself."""
        found = []
        for event in self.events:
            method, p = event["method"], event.get("params", {})
            if method == "Runtime.consoleAPICalled": found.append("console: " + json.dumps(p["args"])[:300])
            if method == "Runtime.exceptionThrown": found.append("exception: " + json.dumps(p["exceptionDetails"])[:300])
            if method == "Log.entryAdded": found.append("log: " + p["entry"]["text"][:300])
            if method == "Page.javascriptDialogOpening": found.append("dialog: " + p["message"])
            if method == "Network.requestWillBeSent":
                asked = p["request"]["url"]
                if asked.split("?")[0] != url and not asked.startswith(("data:", "blob:")): found.append("request: " + asked[:300])
        return found

    def width(self, pixels):
        self.call("Emulation.setDeviceMetricsOverride", width=pixels, height=1000, deviceScaleFactor=1, mobile=False)

    def screenshot(self, path):
        height = self.evaluate("document.documentElement.scrollHeight")
        width = self.evaluate("innerWidth")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        data = self.call("Page.captureScreenshot", format="png")["data"]
        with open(path, "wb") as f: f.write(base64.b64decode(data))
        self.width(width)


class Checks:
    def __init__(self): self.failures = []

    def equal(self, what, found, wanted):
        if found != wanted: self.failures.append(f"{what}: the page shows {found!r}, the document says {wanted!r}")

    def true(self, what, good):
        if not good: self.failures.append(what)


def number(value, digits=0):
    return "–" if value is None else f"{value:,.{digits}f}".replace("-", "−")


def text_of(browser, selector):
    return browser.evaluate(f"[...document.querySelectorAll({json.dumps(selector)})].map(e => e.textContent)")


def rows_of(browser, selector):
    return browser.evaluate(f"[...document.querySelectorAll({json.dumps(selector + ' tbody tr')})].map(r => [...r.cells].map(c => c.textContent))")


def at_least(value, kwh, unknown, digits):
    """A figure of which a part is not known is a least value."""
    return ("≥ " if value is not None and unknown > 0.005 * kwh else "") + number(value, digits)


def carbon_of(scenario):
    if "kg_range" in scenario: return "–".join(number(kg, 2) for kg in scenario["kg_range"])
    return at_least(scenario["kg"], scenario["kwh"], scenario["unknown_kwh"], 3 if scenario["id"] == "run" else 2)


def hours(seconds): return "–" if seconds is None else number(seconds / 3600, 2)


def percent(share): return "–" if share is None else number(share * 100, 1)


def check_figures(browser, doc, checks):
    """Every headline, window, comparison and round figure, after the rounding the page states."""
    head = doc.get("headline")
    if head:
        checks.equal("CO2", text_of(browser, "#headline .big")[0].split("kg")[0], at_least(head["co2_kg"], head["energy_kwh"], head["kwh_unknown"], 3))
        tiles = [t.split("kWh")[0] for t in text_of(browser, "#headline .tile .v")]
        checks.equal("energy", tiles[0], number(head["energy_kwh"], 2))
        checks.equal("share", text_of(browser, "#headline .tile .v")[1], percent(head["share"]) + "%")
        checks.equal("wall", text_of(browser, "#headline .tile .v")[2], hours(head["wall_s"]) + "h")
        if "held_out" in head: checks.equal("held-out loss", text_of(browser, "#headline .tile .v")[3], number(head["held_out"]["loss"], 3) + "nats")
        checks.equal("goodput", text_of(browser, "#headline .tile .v")[5], number(head["goodput"] * 100, 1) + "%")
        always = [r[1] for r in rows_of(browser, "#headline .bars")] and [r[2] for r in rows_of(browser, "#headline .bars")][1:]
        checks.equal("always on", [a.split(" kg")[0].rstrip("–") or "–" for a in always],
                     [at_least(a["kg"], a["kwh"], a["unknown_kwh"], 2) for a in head["always_on"]])
        compared = rows_of(browser, "#compare")
        checks.equal("scenarios", [(r[0], r[2], r[4], r[7]) for r in compared],
                     [(c["label"], hours(c["wall_s"]), number(c["kwh"], 2), carbon_of(c)) for c in doc["comparison"]])
        wanted = [percent(doc["totals"]["sites"][s["id"]]["share"]) for s in doc["sites"]]
        shown = rows_of(browser, "#energy .t")
        checks.true(f"curtailed shares {wanted} are not those of the table of energy", all(
            share == "–" or share + " %" in row for share, row in zip(wanted, shown)))
    label = {s["id"]: s["label"] for s in doc["sites"]}
    checks.equal("windows", [(r[0], r[5], r[6], r[7], r[9]) for r in rows_of(browser, "#windows")],
                 [(label[w["site"]], number(w["startup_s"], 1), number(w["steps"]), number(w["kwh"], 2), number(w["gco2"], 1)) for w in doc["windows"]])
    units = text_of(browser, "#windows thead .u")
    if units: checks.equal("units of energy and carbon", units[7:], [units[8]] * 2 + [units[10]] * 2)
    rounds = [r for r in rows_of(browser, "#rounds")]
    checks.equal("rounds", [(r[0].rstrip("abcdefghijklmnopqrstuvwxyz"), r[2], r[-2], r[-1]) for r in rounds],
                 [(number(k["number"]), {"solo": "lone"}.get(k["mode"], k["mode"]), number(k["kwh"], 2), number(k["gco2"], 1)) for k in doc["rounds"]])
    left_out = f", {doc['events_left_out']:,} left out" if doc["events_left_out"] else ""
    if doc["events"]: checks.equal("events", text_of(browser, "#events .count"), [f"{len(doc['events'])} of {len(doc['events'])}{left_out}"])


def check_layout(browser, url, checks):
    for pixels in (1400, 420):
        browser.width(pixels)
        browser.open(url)
        wide = browser.evaluate("document.documentElement.scrollWidth - innerWidth")
        checks.true(f"scrolls sideways by {wide} px at a width of {pixels}", wide <= 0)
    browser.width(1400)


def check_zoom(browser, checks):
    """A zoom on one chart moves all charts of time."""
    ranges = "JSON.stringify([...document.querySelectorAll('.plot')].map(p => p._fullLayout.xaxis).filter(x => x.type === 'date').map(x => x.range))"
    before = browser.evaluate(ranges)
    browser.evaluate("document.querySelectorAll('#timeline .ctl button')[2].click()")
    until = time.monotonic() + DEADLINE_S
    while browser.evaluate(ranges) == before and time.monotonic() < until: pass
    after = json.loads(browser.evaluate(ranges))
    checks.true("zoom did nothing", json.dumps(after) != before and len(after) >= 3)
    checks.true("charts of time show different ranges after a zoom", all(r == after[0] for r in after))


def check_controls(browser, checks):
    """Every switch, the pointer over a chart, the keyboard's cursor, sorting and filtering; complaints show afterwards."""
    browser.evaluate("document.querySelectorAll('.seg input').forEach(i => i.click())")
    browser.evaluate("['losxtokens', 'losyloss', 'losrfull'].forEach(i => document.getElementById(i).click())")
    browser.evaluate("document.querySelector('#loss .plot').scrollIntoView({block: 'center'})")
    box = browser.evaluate("(r => [r.x + r.width * 0.6, r.y + r.height * 0.4])(document.querySelector('#loss .plot').getBoundingClientRect())")
    for shift in (0, 5): browser.call("Input.dispatchMouseEvent", type="mouseMoved", x=box[0] + shift, y=box[1])
    until = time.monotonic() + DEADLINE_S
    while not browser.evaluate("!!document.querySelector('#loss .hoverlayer *')") and time.monotonic() < until: pass
    checks.true("the pointer shows no values on the loss chart", browser.evaluate("!!document.querySelector('#loss .hoverlayer *')"))
    browser.evaluate("document.querySelector('#timeline .plot').focus()")
    for _ in range(40): browser.call("Input.dispatchKeyEvent", type="keyDown", key="ArrowRight", code="ArrowRight")
    spoken = browser.evaluate("document.querySelector('#timeline .plot').getAttribute('aria-valuetext')")
    checks.true(f"the keyboard's cursor says {spoken!r}", "UTC" in spoken and "kWh" in spoken)
    browser.evaluate("document.querySelectorAll('#rounds th button')[4].click()")
    tokens = [float(r[4].replace(",", "")) for r in rows_of(browser, "#rounds")]
    checks.true("rounds are not sorted by tokens", tokens == sorted(tokens))
    browser.evaluate("(i => { i.value = 'NEM_SA'; i.dispatchEvent(new Event('input')) })(document.querySelector('#events input'))")
    shown = rows_of(browser, "#events")
    checks.true("events are not filtered", shown and all("NEM_SA" in " ".join(r) for r in shown))


def check_kind(browser, kind, folder, checks):
    url = "file://" + os.path.join(folder, "report.html")
    with open(os.path.join(folder, "report.json"), encoding="utf-8") as f: doc = json.load(f)
    checks.true("size is %d bytes" % os.path.getsize(url[7:]), os.path.getsize(url[7:]) < 8 << 20)
    browser.width(1400)
    browser.open(url)
    checks.equal("document in the page", browser.evaluate("JSON.parse(document.getElementById('curtail-data').textContent)"), doc)
    check_figures(browser, doc, checks)
    checks.equal("charts drawn", browser.evaluate("[...document.querySelectorAll('.plot')].filter(p => !p.querySelector('.main-svg')).length"), 0)
    checks.equal("elements from foreign text", browser.evaluate("document.querySelectorAll('main script, main iframe, main img').length"), 0)
    why = browser.evaluate("[...document.querySelectorAll('section.panel')].filter(s => s.querySelector(':scope > div > p.empty')).map(s => s.id)")
    checks.equal("panels that say why they are empty", why,
                 ["timeline", "loss", "time", "energy", "compare", "rounds", "events"] if kind == "empty" else ["loss"] if kind == "silent" else [])

    if kind == "open": checks.true("an open window is not shown as open", "run ended first" in text_of(browser, "#windows")[0])
    if kind == "gaps": checks.true("unknown energy is not shown", doc["headline"]["kwh_unknown"] > 0 and "signal unknown" in text_of(browser, "#headline")[0])
    if kind == "gaps": checks.true("a part is shown as the whole", "at least" in text_of(browser, "#headline .sum")[0])
    if kind in ("blind", "hostile"):
        checks.equal("carbon although intensity is not known", (doc["headline"]["co2_kg"], doc["headline"]["share"]), (None, None))
        checks.true("the headline does not say that carbon is not known", "CO₂ is unknown" in text_of(browser, "#headline .sum")[0])
        checks.equal("grams of all sites in the table of energy", text_of(browser, "#energy tfoot td")[-3:], ["–", "–", "–"])
    if kind == "blind":
        in_real_time = [i for i, t in enumerate(text_of(browser, "#headline .tile")) if "in real time" in t]
        checks.true(f"tiles {in_real_time} speak of real time, not that of wall time alone", in_real_time == [2])
    if kind == "blind": checks.equal("lanes that say that there is no signal", browser.evaluate(
        "[...document.querySelectorAll('#timeline .annotation-text')].filter(t => t.textContent.startsWith('no signal')).length"), 3)
    if kind == "silent": checks.true("real time that is not known is not a dash", "in real time–" in text_of(browser, "#headline .tile")[2])
    if kind == "worse":
        under = text_of(browser, "#headline .under")[0]
        checks.true(f"more CO2 than always-on is told as {under!r}", "% less to" in under and "% more than always-on" in under)
    if kind == "long": checks.true("no event is left out of a very long run", doc["events_left_out"] > 0 and "leaves out" in text_of(browser, "#events")[0])
    if kind in ("gaps", "hostile"):
        checks.equal("percentages although intensity is not known", [a["ratio"] for a in doc["headline"]["always_on"]], [None] * 4)
    if kind == "gaps":
        checks.true("the page does not say why percentages are missing", "energy is not known" in text_of(browser, "#headline")[0])
    if kind == "hostile": checks.true("foreign text is not shown as it is", "</script><script>alert(1)</script>&<b>" in text_of(browser, "#facts")[0])
    if kind in ("demo", "reference"):
        check_zoom(browser, checks)
        check_controls(browser, checks)
        for complaint in browser.complaints(url): checks.true(complaint, False)
    check_layout(browser, url, checks)
    for complaint in browser.complaints(url): checks.true(complaint, False)
    if kind == "demo":
        browser.call("Emulation.setScriptExecutionDisabled", value=True)
        browser.open(url, "document.querySelector('noscript table')")
        checks.equal("tables without JavaScript", text_of(browser, "noscript h2"), ["Summary", "Comparison with baselines", "Windows (UTC)", "Rounds (UTC)"])
        browser.call("Emulation.setScriptExecutionDisabled", value=False)


def keep_pictures(browser, kind, folder, keep):
    url = "file://" + os.path.join(folder, "report.html")
    for name, pixels, query in (("light", 1400, "?theme=light"), ("dark", 1400, "?theme=dark"), ("narrow", 420, "?theme=light")):
        browser.width(pixels)
        browser.open(url + query)
        browser.screenshot(os.path.join(keep, f"{kind}-{name}.png"))


def change_metrics(folder, change):
    for path in glob.glob(os.path.join(folder, "sites/*/metrics.jsonl")):
        with open(path, encoding="utf-8") as f: rows = [json.loads(line) for line in f]
        with open(path, "w", encoding="utf-8") as f: f.writelines(json.dumps(row) + "\n" for row in change(rows))


def make_report(build, kind, folder):
    """Runs curtail-report for a synthetic run, or for the reference experiment; answers the finished process."""
    program = [os.path.join(build, "bin/curtail-report"), "--quiet"]
    if kind == "reference":
        return subprocess.run(program + ["--reference", "--out", os.path.join(folder, "report.html")], capture_output=True, text=True)
    subprocess.run([os.path.join(build, "tests/make_run"), "demo" if kind in AS_DEMO else kind, folder], check=True)
    if kind == "blind": os.remove(os.path.join(folder, "evaluation.json"))
    if kind == "silent": change_metrics(folder, lambda rows: [])
    if kind == "worse": change_metrics(folder, lambda rows: [row | {"step_s": row["step_s"] * .15} for row in rows])
    trace = [] if kind == "blind" else ["--trace", os.path.join(folder, "trace.csv")]
    return subprocess.run(program + [os.path.join(folder, "run.json")] + trace, capture_output=True, text=True)


def main():
    build = os.path.abspath(sys.argv[1])
    keep = os.path.abspath(sys.argv[sys.argv.index("--keep") + 1]) if "--keep" in sys.argv else None
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if not program:
        print("skipped: there is no Chromium on this machine (apt-get install chromium)"); return 77
    work = tempfile.mkdtemp(prefix="curtail-page-")
    if keep: os.makedirs(keep, exist_ok=True)
    failures = []
    browser = None
    try:
        browser = Browser(program, os.path.join(work, "profile"))
        for kind in KINDS:
            folder = os.path.join(work, kind)
            os.mkdir(folder)
            made = make_report(build, kind, folder)
            if made.returncode != 0:
                failures.append(f"{kind}: curtail-report: {made.stderr}"); continue
            checks = Checks()
            check_kind(browser, kind, folder, checks)
            failures += [f"{kind}: {f}" for f in checks.failures]
            if keep: keep_pictures(browser, kind, folder, keep)
    finally:
        if browser: browser.close()
        shutil.rmtree(work, ignore_errors=True)
    for failure in failures: print(failure)
    print(f"{len(failures)} failures in {len(KINDS)} kinds of run")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
