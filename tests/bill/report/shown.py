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
    return number(round(value, digits), max(0, digits))


# Before a figure that is no exact one.
SIGN = {"exact": "", "at least": "≥ ", "at most": "≤ ", "uncertain": "~ "}


def lower_bound(value, kwh, unknown, digits=None):
    """A figure is a lower bound if part of the energy has no known intensity."""
    is_bound = value is not None and unknown > 0.005 * kwh
    shown = significant(value) if digits is None else number(value, digits)
    return ("≥ " if is_bound else "") + shown


def bound_of(part):
    """The carbon of a window or a round."""
    return lower_bound(part["gco2"], part["kwh"], part["kwh_unknown"], 1)


def carbon_of(scenario):
    if "kg_range" in scenario:
        return "–".join(number(kg, 2) for kg in scenario["kg_range"])
    digits = 3 if scenario["id"] == "run" else 2
    return lower_bound(scenario["kg"], scenario["kwh"], scenario["unknown_kwh"], digits)


def hours(seconds):
    return "–" if seconds is None else number(seconds / 3600, 2)


def percent(share):
    return "–" if share is None else number(share * 100, 1)


def with_unit(share):
    return share if share == "–" else share + " %"


def shown_mode(mode):
    return "lone" if mode == "solo" else mode


def joint_mark(scenario):
    return " †" if (scenario["rate"] or {}).get("from") == "joint" else ""
