# SPDX-License-Identifier: Apache-2.0
"""How the report page shows the values of its document."""

import math


def number(value, digits=0):
    return "–" if value is None else f"{value:,.{digits}f}".replace("-", "−")


def significant(value):
    """A modelled amount has three significant digits."""
    if not value:
        return number(value)
    digits = 2 - math.floor(math.log10(abs(value)))
    rounded = round(value, digits)
    if rounded and 2 - math.floor(math.log10(abs(rounded))) < digits:
        digits -= 1
    return number(rounded, max(0, digits))


# Before a figure that is no exact one.
SIGN = {"exact": "", "at least": "≥ ", "at most": "≤ ", "uncertain": "~ "}


def lower_bound(value, kwh, unknown):
    """A figure is a lower bound if part of the energy has no known intensity."""
    is_bound = value is not None and unknown > 0.005 * kwh
    return ("≥ " if is_bound else "") + significant(value)


def bound_of(part, whole):
    """The carbon of a window or a round. What is in doubt in a bill may lie in this part."""
    if part["gco2"] is None:
        return "–"
    bounds = {part.get("co2_bound", "exact"), whole.get("energy_bound", "exact")} - {"exact"}
    bound = "uncertain" if len(bounds) > 1 else (bounds or {"exact"}).pop()
    return SIGN[bound] + significant(part["gco2"])


def carbon_of(scenario):
    if "kg_range" in scenario:
        return "–".join(significant(kg) for kg in scenario["kg_range"])
    return lower_bound(scenario["kg"], scenario["kwh"], scenario["unknown_kwh"])


def hours(seconds):
    return "–" if seconds is None else number(seconds / 3600, 2)


def percent(share):
    return "–" if share is None else significant(share * 100)


def with_unit(share):
    return share if share == "–" else share + " %"


def shown_mode(mode):
    return "lone" if mode == "solo" else mode


def joint_mark(scenario):
    return " †" if (scenario["rate"] or {}).get("from") == "joint" else ""
