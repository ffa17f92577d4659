#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that every relative link of every page leads to a file, and to a heading if it names one;
that every path of the project in a page exists; and that docs/architecture.md has every library."""
import re
import sys
from pathlib import Path

FOLDERS = ("docs", "results", "signals", "src")
GROUPS = sorted(folder.name for folder in Path("src").iterdir() if folder.is_dir())
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


def missing_paths(page):
    """Paths of the project that a page names. Those of sources may leave out `src/`."""
    text = page.read_text().partition("## Where the old folders went")[0]
    for path in re.findall(r"(?<![\w./-])(?:bench|cmake|scripts|slurm|src|tests)/[\w./*-]+", text):
        if not re.search(r"[A-Z]{2}", path) and not any(Path(".").glob(path.rstrip("/."))):
            yield f"{page}: {path}: no such file or folder"
    for path in re.findall(rf"(?<![\w./-])(?:{'|'.join(GROUPS)})/[\w/-]+\.(?:[ch]pp|cu|inl)", text):
        if not Path("src", path).exists():
            yield f"{page}: {path}: no such file in src/"


def missing_libraries():
    text = Path("docs/architecture.md").read_text()
    tree = text[text.index("src/\n"):text.index("```\n\n`tests/`")]
    for file in sorted(Path("src").glob("**/CMakeLists.txt")):
        if f" {file.parent.name}/ " not in tree and file.parent != Path("src"):
            yield f"docs/architecture.md: {file.parent} is not in the tree"
    for name in re.findall(r"^ +(\w+)/ ", tree, re.MULTILINE):
        if not any(Path("src").glob(f"**/{name}")):
            yield f"docs/architecture.md: the tree has {name}/, which is no folder"


errors = [error for page in pages() for error in broken_links(page)]
errors += [error for page in pages() if page.parts[0] not in ("CHANGELOG.md", "results")
           for error in missing_paths(page)]
errors += missing_libraries()
for error in errors:
    print(error)
sys.exit(1 if errors else 0)
