#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints figures of the machine code (SASS, sm_90) of the kernels in build/gpu, and checks their
limits.

registers    of a thread
stack        bytes of a thread
spills       instructions that store or load spilled registers
load, store  bytes of the widest access of global memory
per element  instructions of a lane for one element, for each pass over a row, and their sum

The file of limits says how many loads and stores of 16 bytes an iteration of each pass has, and for
how many elements. A loop belongs to the pass that has its accesses, or of whose accesses it has a
multiple (unrolled). If several loops belong to a pass, the most expensive one counts. The code of a
kernel without loops counts as one iteration.

Only the fast path of an iteration counts. It is the path with the most accesses of 16 bytes. Of
several, it has the most exponentials, reciprocals and roots, and then the fewest instructions.

The limits hold for one release of nvcc. If another one has compiled a kernel that exceeds a limit,
sass.py only warns.

Exit codes: 0; 64 usage error; 65 the disassembly or the file of limits is not understood; 66 a file
is missing; 69 cuobjdump, nvdisasm or c++filt is missing or fails; 70 a figure exceeds its limit, or
the build and the limits name different kernels."""
import argparse
import json
import os
import re
import subprocess
import sys
from pathlib import Path

from sass_paths import Unreadable, kernels_of

CHECKOUT = Path(__file__).resolve().parents[2]
LIMITS = CHECKOUT / "scripts/gpu/sass-limits.json"
OBJECT = CHECKOUT / "build/gpu/src/trainer/model/libcurtail_model_cuda.a"
ARCHITECTURE = "sm_90"
FIGURES = ("registers", "stack", "spills", "load", "store", "per_element")


class Parser(argparse.ArgumentParser):
    def error(self, message):
        self.print_usage(sys.stderr)
        self.exit(64, f"{self.prog}: {message}; see --help\n")


def fail(code, message):
    print(f"sass.py: {message}", file=sys.stderr)
    sys.exit(code)


def read(path):
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError) as broken:
        fail(66, f"cannot read {path}: {broken}")


def output(command, text=None):
    try:
        done = subprocess.run(command, input=text, capture_output=True, text=True)
    except OSError as broken:
        fail(69, f"cannot start {command[0]}: {broken}")
    if done.returncode != 0:
        fail(69, f"{' '.join(map(str, command))} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def disassembly(path):
    """The disassembly of an object or a static library; None if it has no code for sm_90."""
    if not path.exists():
        fail(66, f"{path} does not exist; run make gpu-build")
    found = subprocess.run([CHECKOUT / "scripts/setup/find_cuda_tool.sh", "cuobjdump"],
                           capture_output=True, text=True)
    if found.returncode != 0:
        fail(69, "there is no cuobjdump 13 with nvdisasm; run scripts/setup.sh --gpu")
    cuobjdump = found.stdout.strip()
    os.environ["PATH"] = f"{Path(cuobjdump).parent}:{os.environ['PATH']}"
    if f".{ARCHITECTURE}." not in output([cuobjdump, "--list-elf", path]):
        return None
    return output([cuobjdump, "-sass", "-res-usage", "-arch", ARCHITECTURE, path])


def release_of(path):
    """The release of nvcc that compiled an object. The assembler writes it into a note."""
    releases = re.findall(rb"Cuda compilation tools, release (\d+\.\d+)", path.read_bytes())
    return releases[0].decode() if releases else None


def names_of(kernels):
    """The names of kernels without namespaces and parameters: rotate_kernel<8, Bf16>."""
    demangled = output(["c++filt"], "".join(f"{kernel.symbol}\n" for kernel in kernels))
    short = re.sub(r"\(anonymous namespace\)::|\b\w+::|\bvoid ", "", demangled)
    return [line.split("(")[0] for line in short.splitlines()]


def in_words(name):
    """A key to sort names by, with numbers in the order of their values."""
    return [(len(word) if word.isdigit() else 0, word) for word in re.findall(r"\d+|\D+", name)]


class Limits:
    def __init__(self, path):
        try:
            content = json.loads(read(path))
            self.nvcc = content["nvcc"]
            self.of_kernel = {}
            for group in content["groups"]:
                limits = {**content["common"], **group["limits"]}
                for figure in FIGURES:
                    bound = limits[figure]
                    float(bound.get("most", bound.get("least")))
                    str(bound["reason"])
                for one in group["passes"]:
                    (one["name"], one["loads"] + one["stores"] + 1 / one["elements"])
                self.of_kernel |= {name: (group["passes"], limits) for name in group["kernels"]}
        except (ValueError, TypeError, KeyError, AttributeError, ZeroDivisionError) as broken:
            fail(65, f"{path} is not a file of limits: {type(broken).__name__}: {broken}")


def times(path, one):
    """How often a path has the accesses of a pass; 0 if never, or not a whole number of times."""
    count = path.loads // max(one["loads"], 1)
    return count if (path.loads, path.stores) == (count * one["loads"],
                                                  count * one["stores"]) else 0


def measured_passes(kernel, passes):
    """The passes with their loops, and what is wrong with them."""
    wrong = []
    loops = [[] for _ in passes]
    for path in kernel.paths():
        fitting = [i for i, one in enumerate(passes) if times(path, one)]
        if len(fitting) != 1:
            wrong.append(f"the loop at {path.address:#x} has {path.loads} loads and {path.stores} "
                         f"stores of 16 bytes, like {len(fitting)} passes in the limits")
            continue
        elements = times(path, passes[fitting[0]]) * passes[fitting[0]]["elements"]
        loops[fitting[0]].append({
            "address": path.address, "instructions": path.instructions, "elements": elements,
            "per_element": path.instructions / elements})
    found = []
    for one, of_pass in zip(passes, loops):
        if not of_pass:
            wrong.append(f"no loop has the accesses of the pass \"{one['name']}\"")
        worst = max((loop["per_element"] for loop in of_pass), default=None)
        found.append({"name": one["name"], "per_element": worst, "loops": of_pass})
    return found, wrong


def measure(kernel, name, passes):
    found, wrong = measured_passes(kernel, passes)
    known = [one["per_element"] for one in found if one["per_element"] is not None]
    figures = {"kernel": name, "registers": kernel.registers, "stack": kernel.stack + kernel.local,
               "spills": kernel.spills, "load": kernel.load, "store": kernel.store,
               "per_element": sum(known) if known else None, "passes": found}
    return figures, [f"{name}: {text}" for text in wrong]


def exceeded(figures, limits):
    for figure in FIGURES:
        value = figures[figure]
        bound = limits[figure]
        over = value is not None and value > bound.get("most", value)
        if over or (value is not None and value < bound.get("least", value)):
            word = "most" if over else "least"
            yield (f"{figures['kernel']}: {figure.replace('_', ' ')} {value:.4g}, limit: at {word} "
                   f"{bound[word]}. Reason: {bound['reason']}")


def examine(kernels, limits):
    """The figures of all kernels, what is wrong with them, and which names differ."""
    names = names_of(kernels)
    known = limits.of_kernel
    every, wrong, names_differ = [], [], []
    for name, kernel in sorted(zip(names, kernels), key=lambda pair: in_words(pair[0])):
        passes, bounds = known.get(name, ([], None))
        figures, of_passes = measure(kernel, name, passes)
        every.append(figures)
        if bounds is None:
            names_differ.append(f"{name} has no limits")
        else:
            wrong += [*of_passes, *exceeded(figures, bounds)]
    names_differ += [f"{name} has limits, but the build lacks it" for name in known
                     if name not in names]
    return every, wrong, names_differ


def print_table(every):
    row = "{:<35}{:>9}{:>6}{:>7}{:>5}{:>6}  {}"
    print(row.format("kernel", "registers", "stack", "spills", "load", "store", "per element"))
    for figures in every:
        parts = ["-" if one["per_element"] is None else f"{one['per_element']:.1f}"
                 for one in figures["passes"]]
        total = figures["per_element"]
        text = " + ".join(parts) + (f" = {total:.1f}" if total and len(parts) > 1 else "")
        print(row.format(*[figures[key] for key in ("kernel", *FIGURES[:-1])], text or "-"))


def parse():
    parser = Parser(prog="sass.py", description=__doc__,
                    formatter_class=argparse.RawDescriptionHelpFormatter)
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print one object for each kernel")
    form.add_argument("--quiet", action="store_true", help="print only what is wrong")
    parser.add_argument("--limits", type=Path, default=LIMITS, metavar="FILE")
    parser.add_argument("--disassembly", type=Path, metavar="FILE",
                        help="what cuobjdump -sass -res-usage has printed, instead of an object")
    parser.add_argument("object", type=Path, nargs="?", help="an object or a static library")
    options = parser.parse_args()
    if options.disassembly and options.object:
        parser.error("--disassembly and an object exclude each other")
    options.object = options.object or OBJECT
    return options


def main():
    options = parse()
    limits = Limits(options.limits)
    text = read(options.disassembly) if options.disassembly else disassembly(options.object)
    if text is None:
        print(f"sass.py: {options.object} has no code for {ARCHITECTURE}; nothing was checked",
              file=sys.stderr)
        return
    try:
        every, wrong, names_differ = examine(kernels_of(text), limits)
    except Unreadable as broken:
        fail(65, f"cannot understand the disassembly: {broken}")
    if options.json:
        print("".join(json.dumps(figures) + "\n" for figures in every), end="")
    elif not options.quiet:
        print_table(every)
    release = None if options.disassembly else release_of(options.object)
    other = release not in (None, limits.nvcc)
    for line in wrong:
        print(f"sass.py: {'warning: ' if other else ''}{line}", file=sys.stderr)
    if wrong and other:
        print(f"sass.py: the limits hold for nvcc {limits.nvcc}, and nvcc {release} has compiled "
              "this build", file=sys.stderr)
    for line in names_differ:
        print(f"sass.py: {line}", file=sys.stderr)
    if names_differ or (wrong and not other):
        fail(70, f"change the kernel, or the limit and its reason in {options.limits}")


if __name__ == "__main__":
    main()
