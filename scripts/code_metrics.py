#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the sources of src/: sizes of files, functions and libraries, complexity of functions,
width of lines, the fields and methods of each class, and names that several libraries give to
types. With --check it exits with 1 if a limit is exceeded. Needs Universal Ctags (apt-get install
universal-ctags), and lizard, which set-up unpacks into .deps/site."""
import argparse
import json
import math
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent
sys.path.append(str(SOURCE / ".deps/site"))
try:
    import lizard
except ImportError:
    lizard = None

CODE = (".cpp", ".hpp")
PAGE = (".js",)

MAX_COLUMNS = 100
MAX_COMPLEXITY = 12
MAX_FUNCTION_LINES = 60
MAX_FILE_LINES = 500
MAX_LIBRARY_SHARE = 0.16
MAX_SHARED_NAMES = 20  # of types that two libraries declare
MAX_FIELDS = 25
MAX_METHODS = 40
TRIVIAL_METHOD_LINES = 3


@dataclass
class Class:
    name: str
    kind: str  # class or struct
    path: str
    line: int
    end: int
    fields: set = field(default_factory=set)
    methods: set = field(default_factory=set)  # (name, signature)
    plain: bool = True  # so far: no private section, only data and trivial methods

    def add(self, tag):
        if tag["kind"] == "member":
            self.fields.add(tag["name"])
        else:
            self.methods.add((tag["name"], tag.get("signature", "")))
        if tag.get("access", "public") != "public" or not is_trivial(tag):
            self.plain = False

    def is_too_large(self):
        return not self.plain and (len(self.fields) > MAX_FIELDS or len(self.methods) > MAX_METHODS)


def is_trivial(tag):
    """Whether a member is data, an operator, or a method defined in a few lines of its class."""
    if tag["kind"] == "member" or tag["name"].startswith("operator"):
        return True
    lines = tag.get("end", tag["line"]) - tag["line"] + 1
    return tag["kind"] == "function" and lines <= TRIVIAL_METHOD_LINES


def percentile(values, share):
    """The smallest value that at least this share of the values do not exceed (nearest rank)."""
    ranked = sorted(values)
    return ranked[max(0, math.ceil(share * len(ranked)) - 1)] if ranked else 0


def source_files(suffixes):
    return sorted(p for p in (SOURCE / "src").rglob("*") if p.suffix in suffixes and p.is_file())


def read_lines(files):
    return {path: path.read_text(encoding="utf-8").splitlines() for path in files}


def library_of(path):
    """The folder of a group, or the group if it has no folders."""
    parts = path.relative_to(SOURCE / "src").parts
    return "/".join(parts[:min(2, len(parts) - 1)])


def library_sizes(lines):
    sizes = Counter()
    for path, content in lines.items():
        sizes[library_of(path)] += len(content)
    return sizes


def wide_lines(lines):
    """The numbers of the lines that are too wide, for each file that has any."""
    wide = {path: [number for number, line in enumerate(content, 1) if len(line) > MAX_COLUMNS]
            for path, content in lines.items()}
    return {path.relative_to(SOURCE): numbers for path, numbers in wide.items() if numbers}


def functions_of(files):
    """lizard's view of every function: name, length, cyclomatic_complexity, ..."""
    results = lizard.analyze_files([str(path) for path in files])
    return [function for result in results for function in result.function_list]


def tags_of(files, kinds):
    command = ["ctags", "--output-format=json", "--fields=+neaKS", "--language-force=C++",
               f"--kinds-C++={kinds}", "-u", "-f", "-", *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def classes_of(files):
    """Every class with the members declared inside its body."""
    tags = tags_of(files, "cstmpf")
    classes = {}
    for tag in tags:
        if tag["kind"] in ("class", "struct") and "end" in tag:
            scope = tag.get("scope")
            name = f"{scope}::{tag['name']}" if scope else tag["name"]
            classes[tag["path"], name] = Class(name, tag["kind"], tag["path"], tag["line"],
                                               tag["end"])
    for tag in tags:
        owner = classes.get((tag["path"], tag.get("scope")))
        is_member = tag["kind"] in ("member", "prototype", "function")
        if owner is not None and is_member and owner.line <= tag["line"] <= owner.end:
            owner.add(tag)
    for item in classes.values():
        item.plain = item.plain and item.kind == "struct"
    return list(classes.values())


def shared_names(files):
    """The libraries of each type name that headers of several libraries declare in a namespace."""
    libraries = {}
    for tag in tags_of([path for path in files if path.suffix == ".hpp"], "csget"):
        is_type = tag["kind"] in ("class", "struct", "enum", "typedef")
        if is_type and tag.get("scopeKind") == "namespace" and not tag["name"].startswith("__"):
            libraries.setdefault(tag["name"], set()).add(library_of(Path(tag["path"])))
    return {name: sorted(found) for name, found in libraries.items() if len(found) > 1}


def measure():
    code = read_lines(source_files(CODE))
    everything = {**code, **read_lines(source_files(PAGE))}
    sizes = library_sizes(everything)
    name, largest = sizes.most_common(1)[0]
    total = sum(sizes.values())
    return {
        "files": {path: len(content) for path, content in code.items()},
        "functions": functions_of(code),
        "wide": wide_lines(everything),
        "classes": classes_of(code),
        "shared_names": shared_names(code),
        "lines": total,
        "largest": name,
        "largest_lines": largest,
        "largest_share": largest / total,
    }


def spread(values, shares=(0.5, 0.9)):
    return "/".join(str(v) for v in [*(percentile(values, s) for s in shares), max(values)])


def print_summary(found):
    lengths = [f.length for f in found["functions"]]
    complexity = [f.cyclomatic_complexity for f in found["functions"]]
    rows = (
        ("files", len(found["files"])),
        ("lines per file, p50/p90/max", spread(found["files"].values())),
        ("functions", len(lengths)),
        ("lines per function, p50/p90/max", spread(lengths)),
        ("complexity per function, p90/max", spread(complexity, (0.9,))),
        (f"lines over {MAX_COLUMNS} columns", sum(len(n) for n in found["wide"].values())),
        ("type names of several libraries", len(found["shared_names"])),
        ("lines in src, with page scripts", found["lines"]),
        (f"largest library: {found['largest']}",
         f"{found['largest_lines']} lines, {100 * found['largest_share']:.1f} %"),
    )
    for label, value in rows:
        print(f"{label:36} {value}")


def print_classes(classes, count):
    ranked = sorted(classes, key=lambda c: (c.plain, -len(c.fields) - len(c.methods)))
    print(f"\n{'fields':>6} {'methods':>7}  class")
    for item in ranked[:count]:
        note = " (plain struct)" if item.plain else ""
        print(f"{len(item.fields):6} {len(item.methods):7}  {item.name}{note}")


def where(function):
    path = Path(function.filename).relative_to(SOURCE)
    return f"{path}:{function.start_line} {function.name}"


def broken_limits(found):
    for function in found["functions"]:
        if function.cyclomatic_complexity > MAX_COMPLEXITY:
            yield (f"{where(function)}: complexity {function.cyclomatic_complexity},"
                   f" limit {MAX_COMPLEXITY}")
        if function.length > MAX_FUNCTION_LINES:
            yield f"{where(function)}: {function.length} lines, limit {MAX_FUNCTION_LINES}"
    for path, lines in found["files"].items():
        if lines > MAX_FILE_LINES:
            yield f"{path.relative_to(SOURCE)}: {lines} lines, limit {MAX_FILE_LINES}"
    if len(found["shared_names"]) > MAX_SHARED_NAMES:
        names = "; ".join(f"{name}: {', '.join(libraries)}"
                          for name, libraries in sorted(found["shared_names"].items()))
        yield (f"{len(found['shared_names'])} type names of several libraries, limit"
               f" {MAX_SHARED_NAMES}: {names}")
    for path, numbers in found["wide"].items():
        yield f"{path}:{numbers[0]}: {len(numbers)} lines over {MAX_COLUMNS} columns"
    if found["largest_share"] >= MAX_LIBRARY_SHARE:
        yield (f"library {found['largest']} has {100 * found['largest_share']:.1f} % of the lines,"
               f" limit {100 * MAX_LIBRARY_SHARE:.0f} %")
    for item in found["classes"]:
        if item.is_too_large():
            yield (f"class {item.name}: {len(item.fields)} fields (limit {MAX_FIELDS}),"
                   f" {len(item.methods)} methods (limit {MAX_METHODS})")


def missing_tool():
    if lizard is None:
        return "lizard is missing in .deps/site; run make setup"
    if shutil.which("ctags") is None:
        return "Universal Ctags is not installed; apt-get install universal-ctags"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="exit with 1 if a limit is exceeded")
    parser.add_argument("--classes", type=int, default=10, metavar="N",
                        help="list the N largest classes [10]")
    options = parser.parse_args()
    error = missing_tool()
    if error:
        print(f"code_metrics.py: {error}", file=sys.stderr)
        return 69
    found = measure()
    print_summary(found)
    print_classes(found["classes"], options.classes)
    broken = list(broken_limits(found)) if options.check else []
    for line in broken:
        print(f"limit exceeded: {line}", file=sys.stderr)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
