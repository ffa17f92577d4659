#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that every relative link of every page leads to a file, and to a heading if it names one;
and that docs/architecture.md describes every library."""
import re
import sys
from pathlib import Path

FOLDERS = ("docs", "results", "signals")
LINK = re.compile(r"\]\(([^)\s]+)\)")


def pages():
    found = list(Path(".").glob("*.md"))
    for folder in FOLDERS:
        found += Path(folder).rglob("*.md")
    return found


def anchors(page):
    """The anchors of a page's headings, as GitHub derives them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken_links(page):
    for target in LINK.findall(page.read_text()):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = page.parent / path if path else page
        if not file.exists():
            yield f"{page}: {target}: no such file"
        elif anchor and anchor not in anchors(file):
            yield f"{page}: {target}: no such heading"


def missing_libraries():
    text = Path("docs/architecture.md").read_text()
    names = [file.parent.name for file in sorted(Path("src").glob("*/CMakeLists.txt"))]
    for name in names + ["gpu", "simulator"]:
        if f"| `{name}` |" not in text:
            yield f"docs/architecture.md: library {name} is missing"


errors = [error for page in pages() for error in broken_links(page)]
errors += missing_libraries()
for error in errors:
    print(error)
sys.exit(1 if errors else 0)
