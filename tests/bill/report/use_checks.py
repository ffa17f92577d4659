# SPDX-License-Identifier: Apache-2.0
"""What a reader does with the report page: saves tables and figures, shares a zoom, uses a phone,
prints. And colours that can be read."""
import csv
import io
import json
import re

from shown import number, percent, significant

# Keeps what the page saves instead of a download: name and content.
CATCH_SAVED = """
window.saved = [];
const objectUrl = URL.createObjectURL;
URL.createObjectURL = blob => {
    if (blob.type.startsWith('text/csv'))
        blob.text().then(text => { saved[saved.length - 1].text = text; });
    return objectUrl(blob);
};
HTMLAnchorElement.prototype.click = function() {
    saved.push({name: this.download, text: this.href.startsWith('blob:') ? null : this.href});
};
"""


def save(browser, selector):
    """Clicks a button that saves, and returns the file's name and content."""
    count = browser.evaluate("window.saved ? saved.length : 0")
    browser.run(f"document.querySelector({json.dumps(selector)}).click()")
    browser.wait(f"saved.length > {count} && saved[{count}].text != null", "nothing was saved")
    return browser.evaluate(f"[saved[{count}].name, saved[{count}].text]")


def check_saving(browser, doc, checks):
    browser.run(CATCH_SAVED)
    count = browser.evaluate("[...document.querySelectorAll('table.t')].length")
    checks.equal("CSV buttons", browser.evaluate("document.querySelectorAll('.csv').length"), count)
    name, text = save(browser, "#rounds .csv")
    rows = list(csv.reader(io.StringIO(text, newline="")))
    checks.equal("name of the CSV file", name, doc["run"]["name"] + "-rounds-sortable.csv")
    checks.equal("rounds in the CSV file", len(rows), len(doc["rounds"]) + 1)
    checks.true(f"headings of the CSV file: {rows[0]}",
                any(re.fullmatch(r"Energy \(kWh\)", x) for x in rows[0]))
    checks.true(f"times of the CSV file: {rows[1]}",
                re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:.]+Z", rows[1][1]))
    energy = next(i for i, x in enumerate(rows[0]) if x.startswith("Energy"))
    checks.equal("energy in the CSV file", [r[energy] for r in rows[1:]],
                 [significant(k["kwh"]).replace(",", "") for k in doc["rounds"]])
    charts = browser.evaluate("document.querySelectorAll('.plot').length")
    buttons = browser.evaluate("document.querySelectorAll('.svg').length")
    checks.equal("SVG buttons", buttons, charts)
    name, text = save(browser, "#loss .svg")
    checks.equal("name of the figure", name, doc["run"]["name"] + "-loss.svg")
    checks.true(f"the figure is no SVG: {text[:60]!r}",
                text.startswith("data:image/svg+xml,%3Csvg"))
    name, text = save(browser, "#energy .png")
    checks.equal("name of the image", name, doc["run"]["name"] + "-energy-1.png")
    checks.true(f"the image is no PNG: {text[:60]!r}", text.startswith("data:image/png;base64,"))


BROKEN_ZOOM = "#t=yesterday/today"
RANGE = "JSON.stringify(document.querySelector('#timeline .plot')._fullLayout.xaxis.range)"


def check_time_axis(browser, doc, checks):
    """The time axis begins and ends with the record, in any time zone of the reader, also if the
    zoom in the address is broken."""
    checks.equal("address", browser.evaluate("location.hash"), BROKEN_ZOOM)
    run = doc["run"]
    end = max(run["trace_end_s"] or 0, run["end_s"])
    edges = browser.evaluate(
        "(({_fullLayout: {xaxis}}) => { const zero = Date.parse('" + run["time_zero"] + "');"
        f"return [xaxis.l2p(zero), xaxis.l2p(zero + {1000 * end}) - xaxis._length, "
        "xaxis.p2l(0) - zero] })(document.querySelector('#timeline .plot'))")
    checks.true(f"the time axis is off by {edges} px or ms", all(abs(x) < 2 for x in edges))


def check_shared_zoom(browser, url, checks):
    """The address keeps the zoom, also when a panel is selected; opening it restores the zoom.
    Before, the page is open with BROKEN_ZOOM."""
    before = browser.evaluate(RANGE)
    browser.run("document.querySelectorAll('#timeline .ctl button')[2].click()")
    browser.wait(f"{RANGE} !== {json.dumps(before)}", "zooming changed no range")
    browser.run("document.querySelector('nav a[href=\"#loss\"]').click()")
    browser.wait("/^#loss&t=/.test(location.hash)", "a link to a panel loses the zoom")
    shown, shared = browser.evaluate(RANGE), browser.evaluate("location.hash")
    browser.open(url + shared)
    checks.equal("range of a shared link", [t[:19] for t in json.loads(browser.evaluate(RANGE))],
                 [t[:19] for t in json.loads(shown)])
    browser.run("document.getElementById('zoomout').click()")
    checks.true("the address keeps a zoom that was reset",
                "t=" not in browser.evaluate("location.hash"))
    checks.equal("range of a broken link", before, browser.evaluate(RANGE))


def check_width(browser, pixels, checks):
    excess = browser.evaluate("document.documentElement.scrollWidth - innerWidth")
    checks.true(f"scrolls sideways by {excess} px at a width of {pixels}", excess <= 0)


def check_now(browser, doc, checks):
    """The box of a run that is not complete."""
    now = doc.get("now")
    checks.equal("boxes with progress", len(browser.text("#now")), 1 if now else 0)
    if not now:
        return
    shown = " ".join(browser.text("#now dd")).replace("\u00a0", " ")
    parts = [percent(now["share"]), significant(now["kwh"]) + " kWh", now["training_left"] or "–",
             number(now["tokens_per_s"]) + " tokens/"]
    for part in parts:
        checks.true(f"the box shows {shown!r} and not {part!r}", part in shown)
    date = re.search(r"\d{4}-\d\d|Jan|Feb|Nov|Dec", shown)
    checks.true(f"the box names a date: {date}", not date)


def check_loss_chart(browser, doc, checks):
    """Shading where several sites trained, and the held-out loss at its commit."""
    chart = "document.querySelector('#loss .plot')"
    scale = browser.evaluate(chart + "._fullLayout.xaxis.range[1]") / 1.01 / max(
        k["last_step"] for k in doc["rounds"])
    bands = browser.evaluate(chart + ".layout.shapes.filter(s => s.type === 'rect')"
                             ".map(s => [s.x0, s.x1])")
    inside = lambda x: any(low < x < high for low, high in bands)
    before = 0
    for k in doc["rounds"]:
        middle = (before + k["last_step"]) / 2 * scale
        if k["last_step"] - before > 1:
            checks.true(f"round {k['number']} ({k['mode']}) has the wrong shading",
                        inside(middle) == (k["mode"] == "joint"))
        before = k["last_step"]
    held = doc["headline"].get("held_out")
    points = browser.evaluate(chart + ".data.filter(q => q.name === 'held-out loss')"
                              ".map(q => [q.x[0], q.y[0]])")
    expected = [] if held is None else [held["loss"]]
    checks.equal("held-out losses on the chart", [y for _, y in points], expected)


def check_touch(browser, url, checks):
    """The page fits a phone. A swipe over a chart scrolls the page; a tap moves the cursor."""
    browser.command("Emulation.setTouchEmulationEnabled", enabled=True, maxTouchPoints=1)
    browser.open(url, width=400)
    check_width(browser, 400, checks)
    checks.no_problems(browser, url)
    browser.run("document.querySelector('#timeline .plot').scrollIntoView({block: 'center'})")
    box = browser.evaluate("(r => [r.x, r.y, r.width, r.height])"
                           "(document.querySelector('#timeline .plot').getBoundingClientRect())")
    x, y = box[0] + box[2] / 2, box[1] + box[3] / 2
    before = browser.evaluate("scrollY")
    browser.swipe(x, y, up=200)
    browser.wait(f"scrollY > {before + 100}", "a swipe over a chart does not scroll the page")
    browser.run("document.querySelector('#timeline .plot').scrollIntoView({block: 'center'})")
    browser.swipe(x, y, up=0)
    browser.wait("document.querySelector('#timeline .cross').style.display === 'block'",
                 "a tap does not move the cursor")
    browser.command("Emulation.setTouchEmulationEnabled", enabled=False)


def check_keys_on_loss(browser, checks):
    browser.press("#loss .plot", "ARROW_RIGHT", times=20)
    browser.wait("document.querySelector('#loss .hoverlayer *')",
                 "arrow keys show no values on the loss chart")


HIDDEN_COLUMNS = ("[...document.querySelectorAll('table.t')].filter(t => {"
                  "const b = t.closest('.scroll'), r = t.getBoundingClientRect();"
                  "return r.width && t.scrollWidth > b.clientWidth + 2 && "
                  "b.previousElementSibling.querySelector('.more').hidden; })"
                  ".map(t => t.caption.textContent)")


def check_hints(browser, checks):
    """A table that is too wide scrolls in its box and says so."""
    browser.run("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    for pixels in (820, 500, 400):
        browser.set_size(pixels)
        browser.wait("document.documentElement.scrollWidth <= innerWidth",
                     f"the page scrolls sideways at a width of {pixels}")
        browser.evaluate("new Promise(r => requestAnimationFrame(() => setTimeout(r, 0)))")
        checks.equal(f"tables cut off without a hint at {pixels} px",
                     browser.evaluate(HIDDEN_COLUMNS), [])
        if pixels == 400:
            shown = browser.evaluate("document.querySelectorAll('.more:not([hidden])').length")
            checks.true("no table has a hint at 400 px", shown > 0)


def luminance(color):
    def linear(v):
        v /= 255
        return v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4
    r, g, b = (linear(channel) for channel in color)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def contrast(a, b):
    """WCAG 2.1, contrast ratio."""
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


def check_contrast(browser, checks):
    for theme in ("light", "dark"):
        browser.run(f"document.documentElement.dataset.theme = '{theme}'")
        names = ["--bg", "--muted"] + [f"--s{i}" for i in range(8)]
        value = browser.evaluate(
            "(names => Object.fromEntries(names.map(name => { const {style} = document.body; "
            "style.color = `var(${name})`; const {color} = getComputedStyle(document.body); "
            "style.color = ''; return [name, color.match(/\\d+/g).map(Number)]; })))"
            f"({json.dumps(names)})")
        checks.equal(f"colours without a value on {theme}", browser.evaluate(
            "(names => names.filter(name => !getComputedStyle(document.body).getPropertyValue(name)))"
            f"({json.dumps(names)})"), [])
        least = {"--muted": 4.5, "--s4": 4.5, "--s5": 4.5}
        for name in names[1:]:
            ratio = contrast(value[name], value["--bg"])
            checks.true(f"{name} has a contrast of {ratio:.2f} on {theme}",
                        ratio >= least.get(name, 3))


def check_picture_and_print(browser, url, checks):
    """A picture or a print of the page when it has loaded has all charts, also those far below. A
    print has all lists open, and leaves the page as it was."""
    undo = browser.run_before_page(
        "addEventListener('load', () => { window.undrawnAtLoad = [...document.querySelectorAll("
        "'.plot')].filter(p => !p.querySelector('.main-svg')).length; });")
    browser.open(url + BROKEN_ZOOM)
    checks.equal("charts not drawn at load", browser.evaluate("undrawnAtLoad"), 0)
    undo()
    browser.run("window.openAtPrint = null; addEventListener('beforeprint', () => { openAtPrint = "
                "document.querySelectorAll('details:not([open])').length; });")
    checks.true("printing gives no PDF", browser.pdf().startswith(b"%PDF"))
    checks.equal("lists closed in print", browser.evaluate("openAtPrint"), 0)
    checks.equal("theme after printing", browser.text("#theme"), ["Theme: auto"])
    checks.no_problems(browser, url)


def check_use(browser, doc, url, checks):
    """All of the above, on a page of the demo's run."""
    check_picture_and_print(browser, url, checks)
    check_loss_chart(browser, doc, checks)
    check_keys_on_loss(browser, checks)
    check_time_axis(browser, doc, checks)
    check_shared_zoom(browser, url, checks)
    check_saving(browser, doc, checks)  # replaces click() of the page's links
    check_touch(browser, url, checks)
    check_hints(browser, checks)
    check_contrast(browser, checks)
