#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts the assertions of each test: EXPECT_* and ASSERT_* of a C++ case, expect() and wait_for()
of a function of a Python test. With a commit, it compares: it lists the tests that the working tree
lacks, and those that have fewer assertions. Helpers outside of tests count for their file.

example:
  scripts/assertions.py
  scripts/assertions.py HEAD~20
"""
import argparse
import ast
import re
import subprocess
import tempfile
from collections import Counter
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent
CASE = re.compile(r"^(?:TYPED_)?TEST(?:_F|_P)?\((\w+),\s*(\w+)\)", re.MULTILINE)
ASSERTION = re.compile(r"\b(?:EXPECT|ASSERT)_[A-Z]|\bADD_FAILURE\(|\bFAIL\(")
CALLS = ("expect", "wait_for")


def count_cpp(path, text, counts):
    rest = text
    for match in CASE.finditer(text):
        body = text[match.start():text.find("\n}", match.start())]
        counts[f"{match[1]}.{match[2]}"] += len(ASSERTION.findall(body))
        rest = rest.replace(body, "", 1)
    helpers = len(ASSERTION.findall(rest))
    if helpers:
        counts[f"helpers of {path.stem}"] += helpers


def count_python(path, text, counts):
    for function in ast.parse(text).body:
        if not isinstance(function, (ast.FunctionDef, ast.ClassDef)):
            continue
        calls = [node for node in ast.walk(function) if isinstance(node, ast.Call)]
        names = [getattr(call.func, "id", getattr(call.func, "attr", "")) for call in calls]
        found = sum(name.startswith(CALLS) for name in names)
        if found:
            counts[f"{path.stem}.{function.name}"] += found


def count(folder):
    counts = Counter()
    for path in sorted(folder.rglob("*")):
        if path.suffix in (".cpp", ".hpp"):
            count_cpp(path, path.read_text(encoding="utf-8"), counts)
        elif path.suffix == ".py":
            count_python(path, path.read_text(encoding="utf-8"), counts)
    return counts


def count_commit(commit):
    with tempfile.TemporaryDirectory() as folder:
        archive = subprocess.run(["git", "-C", SOURCE, "archive", commit, "tests"], check=True,
                                 capture_output=True).stdout
        subprocess.run(["tar", "-x", "-C", folder], input=archive, check=True)
        return count(Path(folder) / "tests")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("commit", nargs="?", help="compare with this commit")
    options = parser.parse_args()
    now = count(SOURCE / "tests")
    if options.commit is None:
        for name, number in sorted(now.items()):
            print(f"{number:5} {name}")
        print(f"{sum(now.values()):5} in {len(now)} tests")
    else:
        before = count_commit(options.commit)
        for name in sorted(before):
            if now[name] < before[name]:
                print(f"{before[name]:5} -> {now[name]:3} {name}")
        for name in sorted(set(now) - set(before)):
            print(f"    0 -> {now[name]:3} {name}")
        print(f"{sum(before.values()):5} -> {sum(now.values())} in {len(before)} -> {len(now)}"
              " tests")


if __name__ == "__main__":
    main()
