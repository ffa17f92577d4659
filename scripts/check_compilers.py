#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks every source with several compilers (-fsyntax-only), without precompiled headers.

Configures a build folder in build/compilers/ for each compiler, to get the flags of every source.
Builds no program. It runs only the build steps that generate sources.
Exit codes: 0 every source compiles; 1 a source does not; 64 usage error; 69 a compiler is missing.
"""

import argparse
import concurrent.futures
import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]
COMPILERS = ["g++-11", "g++-12", "clang++-14"]
MOST_LINES = 30  # of a source's errors
DEBIAN_PACKAGES = {"clang++-14": "clang-14"}


def configure(compiler: str) -> Path:
    build = CHECKOUT / "build/compilers" / compiler
    build.mkdir(parents=True, exist_ok=True)
    c_compiler = compiler.replace("clang++", "clang").replace("g++", "gcc")
    command = [
        "cmake",
        "-S",
        CHECKOUT,
        "-B",
        build,
        "-G",
        "Ninja",
        f"-DCMAKE_CXX_COMPILER={compiler}",
        f"-DCMAKE_C_COMPILER={c_compiler}",
        "-DCURTAIL_PRECOMPILED_HEADERS=OFF",
    ]
    if os.environ.get("CURTAIL_TORCH_ROOT"):
        command.append(f"-DCURTAIL_TORCH_ROOT={os.environ['CURTAIL_TORCH_ROOT']}")
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(
            f"check_compilers.py: cannot configure for {compiler}:\n{done.stdout}{done.stderr}"
        )
    # The sources that the build generates.
    generated = ["generated/build_info.cpp", "generated/report_page.cpp"]
    subprocess.run(["ninja", "-C", build, "-k", "0", *generated], capture_output=True)
    return build


def syntax_only(entry: dict) -> list[str]:
    """The entry's command without its output, dependency and debug options."""
    words = shlex.split(entry["command"])
    while words[0] == "env" or "=" in words[0] or "ccache" in Path(words[0]).name:
        words.pop(0)
    kept = []
    skip = 0
    for word in words:
        if skip:
            skip -= 1
        elif word in ("-o", "-MF", "-MT"):
            skip = 1
        elif word not in ("-c", "-MD", "-g", "-g1"):
            kept.append(word)
    return [*kept, "-fsyntax-only"]


def check(entry: dict) -> str:
    done = subprocess.run(
        syntax_only(entry), cwd=entry["directory"], capture_output=True, text=True
    )
    return "" if done.returncode == 0 else "".join(done.stderr.splitlines(True)[:MOST_LINES])


def check_all(compiler: str, jobs: int) -> int:
    """Prints each failure; returns their number."""
    entries = json.loads((configure(compiler) / "compile_commands.json").read_text())
    entries = [
        e for e in entries if e["file"].startswith(
            (f"{CHECKOUT}/src/", f"{CHECKOUT}/tests/", f"{CHECKOUT}/bench/"))
    ]
    failures = 0
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for number, (entry, errors) in enumerate(zip(entries, pool.map(check, entries)), 1):
            if sys.stderr.isatty():
                print(f"\r{compiler}: {number} of {len(entries)}", end="", file=sys.stderr)
            if errors:
                failures += 1
                print(f"{compiler}: {Path(entry['file']).relative_to(CHECKOUT)}\n{errors}")
    if sys.stderr.isatty():
        print(file=sys.stderr)
    print(f"{compiler}: {len(entries) - failures} of {len(entries)} sources compile", flush=True)
    return failures


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "compilers",
        nargs="*",
        metavar="COMPILER",
        default=COMPILERS,
        help=f"[{' '.join(COMPILERS)}]",
    )
    parser.add_argument(
        "-j",
        "--jobs",
        type=int,
        default=os.cpu_count(),
        help="sources to check at once [number of CPUs]",
    )
    arguments = parser.parse_args()
    missing = [c for c in arguments.compilers if shutil.which(c) is None]
    if missing:
        packages = " ".join(DEBIAN_PACKAGES.get(c, c) for c in missing)
        print(
            f"check_compilers.py: {' '.join(missing)} not found; run apt-get install {packages}",
            file=sys.stderr,
        )
        return 69
    return 1 if sum(check_all(compiler, arguments.jobs) for compiler in arguments.compilers) else 0


if __name__ == "__main__":
    sys.exit(main())
