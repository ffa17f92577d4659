# SPDX-License-Identifier: Apache-2.0
"""What the report page says about the bill: whose power it counts, by which rule, compared with
what."""
from shown import joint_mark, number, percent, with_unit


def check_bill(browser, doc, checks):
    """The statements of a page that has a headline."""
    check_always_on_names(browser, doc, checks)
    check_power(browser, doc, checks)
    check_claims(browser, doc, checks)


def check_always_on_names(browser, doc, checks):
    """A region without a site names its reference site; a rate of joint rounds has a mark."""
    rows = browser.rows("#headline .bars")[1:]
    checks.equal("names of always-on", [r[0] for r in rows],
                 ["Always on, " + a["region"] + (f", as {a['as_site']}" if a["elsewhere"] else "")
                  + joint_mark(a) for a in doc["headline"]["always_on"]])
    has_joint = any(joint_mark(a) for a in doc["headline"]["always_on"])
    checks.equal("note on joint rates", "† The rate is" in browser.text("#headline")[0], has_joint)


def check_claims(browser, doc, checks):
    """The page claims no more than was measured."""
    text = browser.text("main")[0].replace("\u00a0", " ")
    for claim in ("was being curtailed", "beyond noise", "best smoothed"):
        checks.true(f"the page claims {claim!r}", claim not in text)
    own = {s["region"] for s in doc["sites"]}
    known = [a["ratio"] for a in doc["headline"]["always_on"]
             if a["region"] in own and not a["elsewhere"] and a["ratio"] is not None]
    if known:
        low, high = percent(min(known)), percent(max(known))
        shown = low if low == high else f"{low}–{high}"
        checks.true(f"the summary does not say {shown} % of always-on in its own regions",
                    f", {shown} % of one site always on in the run's regions" in text)
    if doc["headline"]["share"] is not None:
        checks.true("the summary does not name the threshold",
                    "drawn at a marginal intensity below 100 g/kWh" in text)
    check_perplexity(browser, doc, checks)


def check_perplexity(browser, doc, checks):
    """The comparison shows held-out perplexity if it is known."""
    column, run = browser.rows("#compare")[0][-2], doc["comparison"][0]
    key = "ppl" if run["held_out_ppl"] is None else "held_out_ppl"
    checks.equal("perplexity in the comparison", column, number(run[key], 2))
    name = "Training perplexity" if key == "ppl" else "Held-out perplexity"
    checks.true(f"the comparison has no column {name!r}",
                any(name in text for text in browser.text("#compare th")))


def check_power(browser, doc, checks):
    """The summary says under its headline figure whose power it bills."""
    head = browser.text("#headline .head > div:first-child")[0].replace("\u00a0", " ")
    for line in doc["audit"]["lines"]:
        if line["key"] == "power":
            checks.true(f"the summary does not say {line['text']!r}", line["text"] in head)


def check_audit(browser, doc, checks):
    shown = [text.replace("\u00a0", " ") for text in browser.text("#audit dd")]
    checks.equal("statements for auditors", shown,
                 [line["text"] for line in doc["audit"]["lines"]])
    text = " ".join(shown)
    for part in (doc["audit"]["rule"] + ":", "PUE", "inventory", "rule "):
        checks.true(f"the auditor's box has no {part!r}", part in text)


def check_hours(browser, doc, checks):
    rows = browser.rows("#time .scroll:has(tfoot) table")
    checks.equal("goodput by site", [row[-1] for row in rows],
                 [with_unit(percent(doc["goodput"]["sites"][s["id"]])) for s in doc["sites"]])


def intensity_at(series, s):
    """What the accounting rule says: a sample holds until `u`, or the line between two samples."""
    i = max((i for i, t in enumerate(series["t"]) if t <= s), default=None)
    if i is None:
        return None
    if "u" in series:
        return series["v"][i] if s <= series["u"][i] else None
    (t0, t1), (v0, v1) = series["t"][i:i + 2], series["v"][i:i + 2]
    return v0 + (v1 - v0) * (s - t0) / (t1 - t0)


def check_cursor(browser, doc, checks):
    """The cursor reads the intensities with which the run is billed. 23 steps lead to a place where
    the intensities of all sites of the demo change fast."""
    browser.press("#timeline .plot", "ARROW_RIGHT", times=23)
    cursor = browser.find("#timeline .plot")
    s, text = int(cursor.get_attribute("aria-valuenow")), cursor.get_attribute("aria-valuetext")
    checks.true(f"the keyboard cursor reads {text!r}", "UTC" in text and "kWh" in text)
    for site in doc["sites"]:
        grams = intensity_at(doc["signals"]["series"][site["region"]], s)
        shown = "no signal" if grams is None else number(grams) + " g"
        checks.true(f"at {s} s the cursor shows {text!r}, not {shown} for {site['label']}",
                    f"{site['label']} {shown}" in text)
