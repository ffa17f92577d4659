#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every header of the libraries compiles alone: a source that includes nothing else needs no other
include.

If the source of the same name includes a header first, `make compilers`, which does without
precompiled headers, compiles that header alone. This test compiles the other headers.

Takes the build folder. Uses the flags of a source of the same folder, without precompiled headers.
If ccache is installed, unchanged headers cost nothing.
"""

import concurrent.futures
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
FOLDERS = [CHECKOUT / name for name in ("src", "tests/gpu", "tests/simulator")]


def included_as(file: Path) -> Path | None:
    """The path by which #include names a header; None for files of other folders."""
    for folder in FOLDERS:
        if file.is_relative_to(folder) and file.parent != folder / "tests":
            return file.relative_to(CHECKOUT / folder.relative_to(CHECKOUT).parts[0])
    return None


def flags_by_folder(build: Path) -> dict[Path, tuple[str, list[str]]]:
    """Folder -> working folder and compiler command, up to the options of one source."""
    flags = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        file = Path(entry["file"])
        name = included_as(file)
        if name is None:
            continue
        words = shlex.split(entry["command"])
        kept = []
        skip = 0
        for word in words:
            if skip:
                skip -= 1
            elif word in ("-o", "-MF", "-MT", "-include"):
                skip = 1
            elif word not in (
                "-c",
                "-MD",
                "-Winvalid-pch",
                "-fpch-preprocess",
                "-g1",
                "-O2",
            ) and word != str(file):
                kept.append(word)
        for folder in name.parents:
            flags.setdefault(folder, (entry["directory"], kept))
    return flags


def check(header: Path, directory: str, command: list[str], out: Path) -> str:
    name = included_as(header)
    source = out / (str(name).replace("/", "-") + ".cpp")
    content = f'#include "{name}"\n'
    if not source.exists() or source.read_text() != content:
        source.write_text(content)
    ccache = shutil.which("ccache")
    done = subprocess.run(
        [
            *([ccache] if ccache else []),
            *command,
            "-O0",
            "-w",
            "-c",
            str(source),
            "-o",
            str(source) + ".o",
        ],
        cwd=directory,
        capture_output=True,
        text=True,
        env={**os.environ, "CCACHE_BASEDIR": str(CHECKOUT)},
    )
    return f"{name} does not compile alone:\n{done.stderr}" if done.returncode != 0 else ""


def is_first_include(header: Path) -> bool:
    """Whether the source of the same name includes `header` first."""
    source = header.with_suffix(".cpp")
    if not source.exists():
        return False
    first = re.search(r"^#include .*", source.read_text(), re.MULTILINE)
    return first is not None and first[0] == f'#include "{included_as(header)}"'


def main() -> int:
    build = Path(sys.argv[1]).resolve()
    out = build / "generated/headers"
    out.mkdir(parents=True, exist_ok=True)
    flags = flags_by_folder(build)
    headers = sorted(
        header
        for folder in FOLDERS
        for header in folder.rglob("*.hpp")
        if included_as(header) is not None
    )
    others = [header for header in headers if not is_first_include(header)]
    jobs = []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for header in others:
            folder = next(folder for folder in included_as(header).parents if folder in flags)
            directory, command = flags[folder]
            jobs.append(pool.submit(check, header, directory, command, out))
    failures = [job.result() for job in jobs if job.result()]
    print("\n".join(failures))
    print(f"{len(headers)} headers, {len(others)} of them compiled here; {len(failures)} failed")
    return 1 if failures or not others else 0


if __name__ == "__main__":
    sys.exit(main())
