#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the cases of all end-to-end tests of a folder, one a line, for CMake: file, name, seconds,
fifths of a core, and fixtures. It reads the files without running them. A file that makes small
runs needs the fixture `data`."""
import ast
import sys
from pathlib import Path


def declaration_of(function):
    """The arguments of the decorator @case; None if the function is no case."""
    for decorator in function.decorator_list:
        if isinstance(decorator, ast.Call) and getattr(decorator.func, "id", "") == "case":
            return {word.arg: ast.literal_eval(word.value) for word in decorator.keywords}
    return None


def makes_small_runs(text):
    return any(word in text for word in ("SmallRun", "StoredRun", "TwoSites", "from rig import",
                                         "from journal_test import", "chaos_run"))


for path in sorted(Path(sys.argv[1]).glob("*_test.py")):
    common = ["data"] if makes_small_runs(path.read_text()) else []
    for function in ast.parse(path.read_text()).body:
        if isinstance(function, ast.FunctionDef):
            declared = declaration_of(function)
            if declared is not None:
                fixtures = common + [argument.arg for argument in function.args.args]
                print(path.stem.removesuffix("_test"), function.name, declared.get("seconds", 1),
                      declared.get("fifths", 1), *fixtures)
