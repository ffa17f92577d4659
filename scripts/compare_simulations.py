#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the round protocol of two builds in the simulator, seed by seed.

Runs one run of each seed (1 to 200, or those of --seeds) with the `curtail-sim` of both builds. The
log of a seed holds every input and output of every site. Reports how many logs are identical; exits
with 1 if one differs.

A build is a build folder, or a commit, which is then built in a temporary worktree. A folder of
logs that --keep wrote earlier can stand for a build.

example:
  scripts/compare_simulations.py build/release HEAD~1
  scripts/compare_simulations.py --keep /tmp/before build/release build/release
  scripts/compare_simulations.py /tmp/before build/release
"""
import argparse
import itertools
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent
PROGRAM = "curtail-sim"


def main():
    options = parse_options()
    first, last = options.seeds
    with tempfile.TemporaryDirectory(prefix="simulations-") as temporary:
        folder = Path(temporary)
        before = logs_of(options.before, folder / "before", first, last)
        after = logs_of(options.after, folder / "after", first, last)
        if options.keep:
            shutil.copytree(before, options.keep, dirs_exist_ok=True)
        different = [s for s in range(first, last + 1) if not same(before, after, s)]
        for seed in different:
            print(f"seed {seed} differs: {first_difference(before, after, seed)}")
    total = last - first + 1
    print(f"{total - len(different)} of {total} logs are identical")
    return 1 if different else 0


def parse_options():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("before", help="build folder, folder of logs, or commit")
    parser.add_argument("after", help="the same for the other build")
    parser.add_argument(
        "--seeds", type=seed_range, default=(1, 200), metavar="A..B", help="default: 1..200"
    )
    parser.add_argument("--keep", type=Path, metavar="FOLDER",
                        help="also store the logs of BEFORE in FOLDER")
    return parser.parse_args()


def seed_range(text):
    first, _, last = text.partition("..")
    seeds = (int(first), int(last or first))
    if seeds[0] < 0 or seeds[1] < seeds[0]:
        raise argparse.ArgumentTypeError("must be A..B with 0 <= A <= B")
    return seeds


def logs_of(build, folder, first, last):
    """Folder with the logs of all seeds, made by running `build` unless it holds them."""
    if (Path(build) / f"{first}.log").exists():
        return Path(build)
    program = program_in(Path(build)) or built_commit(build, folder.with_suffix(".source"))
    folder.mkdir()
    seeds = f"{first}-{last}"
    run([program, "rounds", "--seeds", seeds, "--steps", "1", "--log", str(folder)])
    return folder


def program_in(build):
    program = build / "bin" / PROGRAM
    return str(program) if program.exists() else None


def built_commit(commit, folder):
    """Builds `commit` in a temporary worktree; its simulation program, copied out of it."""
    git = ["git", "-C", str(SOURCE)]
    check = [*git, "rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}"]
    known = subprocess.run(check, stdout=subprocess.DEVNULL)
    if known.returncode != 0:
        fail(f"{commit} is neither a commit nor a built folder with bin/{PROGRAM}")
    run([*git, "worktree", "add", "--detach", str(folder), commit])
    try:
        if (SOURCE / ".deps").exists():
            (folder / ".deps").symlink_to((SOURCE / ".deps").resolve())
        run(["cmake", "--preset", "release"], cwd=folder)
        run(["cmake", "--build", "build/release", "--target", PROGRAM], cwd=folder)
        program = folder.with_suffix(".program")
        shutil.copy2(folder / "build/release/bin" / PROGRAM, program)
    finally:
        run([*git, "worktree", "remove", "--force", str(folder)])
    return str(program)


def run(command, cwd=None):
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True)
    if done.returncode != 0:
        fail(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")


def same(before, after, seed):
    a, b = before / f"{seed}.log", after / f"{seed}.log"
    return a.exists() and b.exists() and a.read_bytes() == b.read_bytes()


def first_difference(before, after, seed):
    paths = [folder / f"{seed}.log" for folder in (before, after)]
    missing = [str(path) for path in paths if not path.exists()]
    if missing:
        return f"{missing[0]} is missing"
    lines = [path.read_text().splitlines() for path in paths]
    for number, (a, b) in enumerate(itertools.zip_longest(*lines, fillvalue=""), start=1):
        if a != b:
            return f"line {number}\n  before: {a[:300]}\n  after:  {b[:300]}"
    return "line endings"


def fail(message):
    print(f"compare_simulations.py: {message}", file=sys.stderr)
    sys.exit(69)


if __name__ == "__main__":
    sys.exit(main())
