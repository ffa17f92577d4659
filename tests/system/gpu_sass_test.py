# SPDX-License-Identifier: Apache-2.0
"""Runs scripts/gpu/sass.py on gpu_kernels.txt, the disassembly of two kernels, and on short ones
that this file makes up. No compiler is needed. The figures of gpu_kernels.txt are counted by hand:

    square_relu_kernel  0000 to 0350: 54 instructions for 8 elements
    losses_kernel       a pack without padding: 01e0 to 0220, 07d0 to 0be0, and 0bf0 to 0c40,
                        77 instructions for 8 elements. The shortest path has 38: it skips all."""
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from harness import SOURCE, case, expect, main

SASS = SOURCE / "scripts/gpu/sass.py"
RECORDED = Path(__file__).resolve().parent / "gpu_kernels.txt"
RELU, LOSSES = "square_relu_kernel<Bf16>", "losses_kernel<Bf16>"
CUOBJDUMP = """#!/bin/sh
case "$*" in
    --version) echo "Cuda compilation tools, release 13.2, V13.2.51" ;;
    --list-elf*) echo "ELF file    1: norm.1.{architecture}.cubin" ;;
    *) cat "{recorded}" ;;
esac
"""
MADE_UP = """ Function made_up:
  REG:20 STACK:8 SHARED:0 LOCAL:0 CONSTANT[0]:528 TEXTURE:0 SURFACE:0 SAMPLER:0
        Function : made_up
"""
# A lane without packs skips both accesses. A lane that has left its warp goes to 00c0 and back.
LOOP = ("S2R R0, SR_TID.X", "STL [R1], R4", "@!P0 BRA 0x50", "LDG.E.128 R4, desc[UR6][R2.64]",
        "LDG.E.128 R8, desc[UR6][R2.64+0x10]", "BRA.DIV UR5, 0xc0", "FADD R4, R4, R8",
        "@!P0 BRA 0x90", "STG.E.128 desc[UR6][R2.64], R4", "LDL.LU R4, [R1]", "@P1 BRA 0x10",
        "EXIT", "FADD R4, R4, R9", "FADD R4, R4, R9", "BRA 0x60", "BRA 0xf0")


class Rig:
    """A file of limits for the two recorded kernels, in a temporary folder."""

    def __init__(self, folder):
        self.folder = folder
        self.limits = {"nvcc": "13.0", "common": {}, "groups": []}
        for figure, bound, word in (("registers", 32, "most"), ("stack", 0, "most"),
                                    ("spills", 0, "most"), ("load", 16, "least"),
                                    ("store", 4, "least"), ("per_element", 10, "most")):
            self.limits["common"][figure] = {word: bound, "reason": f"why {figure}"}
        self.group(RELU, 1, 1)
        self.group(LOSSES, 1, 0)

    def group(self, kernel, loads, stores, elements=8, **limits):
        one = {"name": "a pass", "loads": loads, "stores": stores, "elements": elements}
        self.limits["groups"].append({"kernels": [kernel], "passes": [one], "limits": limits})

    def limit(self, kernel, figure, **bound):
        group = next(group for group in self.limits["groups"] if kernel in group["kernels"])
        group["limits"][figure] = {**bound, "reason": f"why {kernel}"}

    def run(self, *arguments, code=0, text=None, environment=None):
        """Runs sass.py on a disassembly; returns its standard output and standard error."""
        limits = self.folder / "limits.json"
        limits.write_text(json.dumps(self.limits))
        disassembly = RECORDED
        if text is not None:
            disassembly = self.folder / "disassembly.txt"
            disassembly.write_text(text)
        return start("--limits", limits, "--disassembly", disassembly, *arguments, code=code,
                     environment=environment)

    def run_on_object(self, release, architecture, code):
        """Runs sass.py on an object of a compiler; a stub disassembles it. Returns the errors."""
        limits = self.folder / "limits.json"
        limits.write_text(json.dumps(self.limits))
        (self.folder / "bin").mkdir()
        for name in ("cuobjdump", "nvdisasm"):
            tool = self.folder / "bin" / name
            tool.write_text(CUOBJDUMP.format(architecture=architecture, recorded=RECORDED))
            tool.chmod(0o755)
        of_compiler = self.folder / "kernels.o"
        of_compiler.write_bytes(b"\x7fELF\0Cuda compilation tools, release " + release + b", V\0")
        return start("--limits", limits, "--quiet", of_compiler, code=code,
                     environment={"CUDA_HOME": str(self.folder)})[1]


def start(*arguments, code=0, environment=None):
    done = subprocess.run([SASS, *map(str, arguments)], capture_output=True, text=True, timeout=30,
                          stdin=subprocess.DEVNULL, env={**os.environ, **(environment or {})})
    expect(done.returncode == code,
           f"exit code {done.returncode}, expected {code}: {done.stdout}{done.stderr}")
    return done.stdout, done.stderr


@contextlib.contextmanager
def rig():
    folder = Path(tempfile.mkdtemp(prefix="curtail-sass-test-"))
    try:
        yield Rig(folder)
    finally:
        shutil.rmtree(folder)


def made_up(lines):
    return MADE_UP + "".join(f"        /*{16 * i:04x}*/  {line} ;\n"
                             for i, line in enumerate(lines))


@case()
def figures_are_those_counted_by_hand():
    with rig() as it:
        output, errors = it.run("--json")
        expect(errors == "", errors)
        found = {figures["kernel"]: figures for figures in map(json.loads, output.splitlines())}
        for kernel, registers, store, address, instructions in ((RELU, 16, 16, 0, 54),
                                                                (LOSSES, 30, 4, 0x1e0, 77)):
            figures = found.pop(kernel)
            loop = {"address": address, "instructions": instructions, "elements": 8,
                    "per_element": instructions / 8}
            expected = {"kernel": kernel, "registers": registers, "stack": 0, "spills": 0,
                        "load": 16, "store": store, "per_element": instructions / 8, "passes": [
                            {"name": "a pass", "per_element": instructions / 8, "loops": [loop]}]}
            expect(figures == expected, figures)
        expect(not found, found)


@case()
def table_has_at_most_100_columns():
    with rig() as it:
        output, _ = it.run()
        lines = output.splitlines()
        expect(len(lines) == 3 and max(map(len, lines)) <= 100, output)
        expect(lines[1].split() == ["losses_kernel<Bf16>", "30", "0", "0", "16", "4", "9.6"],
               output)
        expect(it.run("--quiet") == ("", ""), "--quiet prints something")


@case()
def lane_without_packs_and_code_moved_away_do_not_count():
    for elements, loads, stores, per_element in ((8, 2, 1, 10 / 8), (4, 1, 1, None)):
        with rig() as it:
            it.limits["groups"] = []
            it.group("made_up", loads, stores, elements, stack={"most": 8, "reason": "x"},
                     spills={"most": 2, "reason": "x"})
            output, errors = it.run("--json", text=made_up(LOOP), code=70 * (per_element is None))
            figures = json.loads(output)
            expect(figures["per_element"] == per_element, figures)
            expect((figures["spills"], figures["stack"]) == (2, 8), figures)
            expect(("has 2 loads and 1 stores of 16 bytes, like 0 passes" in errors) ==
                   (per_element is None), errors)


@case()
def unrolled_loop_belongs_to_the_pass_that_it_repeats():
    loop = ("LDC R1, c[0x0][0x28]", *["LDG.E.128 R4, desc[UR6][R2.64]"] * 4, "@P1 BRA 0x10",
            "LDG.E.128 R4, desc[UR6][R2.64]", "@P1 BRA 0x60", "EXIT")
    with rig() as it:
        it.limits["groups"] = []
        it.group("made_up", 1, 0, 4, stack={"most": 8, "reason": "x"},
                 store={"least": 0, "reason": "x"})
        of_pass = json.loads(it.run("--json", text=made_up(loop))[0])["passes"][0]
        counted = [(one["instructions"], one["elements"]) for one in of_pass["loops"]]
        expect(counted == [(5, 16), (2, 4)] and of_pass["per_element"] == 0.5, of_pass)


@case()
def call_is_on_no_fast_path():
    loop = ("LDG.E.128 R4, desc[UR6][R2.64]", "@P0 BRA 0x40", "CALL.REL.NOINC 0x80", "BRA 0x70",
            "FADD R4, R4, R4", "FADD R4, R4, R4", "FADD R4, R4, R4", "@P1 BRA 0x0", "EXIT")
    with rig() as it:
        it.limits["groups"] = []
        it.group("made_up", 1, 0, 4, stack={"most": 8, "reason": "x"},
                 store={"least": 0, "reason": "x"})
        figures = json.loads(it.run("--json", text=made_up(loop))[0])
        expect(figures["per_element"] == 6 / 4, figures)


@case()
def exceeded_limit_names_kernel_figure_limit_and_reason():
    for figure, bound, message in (
            ("registers", {"most": 29}, "registers 30, limit: at most 29."),
            ("per_element", {"most": 9.6}, "per element 9.625, limit: at most 9.6."),
            ("store", {"least": 16}, "store 4, limit: at least 16.")):
        with rig() as it:
            it.limit(LOSSES, figure, **bound)
            _, errors = it.run("--quiet", code=70)
            expect(f"sass.py: {LOSSES}: {message} Reason: why {LOSSES}\n" in errors, errors)
            expect(errors.count("\n") == 2 and "limits.json" in errors, errors)


@case()
def limits_hold_for_one_compiler():
    for release, code, prefix in ((b"13.0", 70, "sass.py: "), (b"13.2", 0, "sass.py: warning: ")):
        with rig() as it:
            it.limit(LOSSES, "registers", most=29)
            errors = it.run_on_object(release, "sm_90", code)
            expect(errors.startswith(f"{prefix}{LOSSES}: registers 30"), errors)
            expect(("nvcc 13.2 has compiled" in errors) == (code == 0), errors)
    with rig() as it:
        it.group("mix_kernel<float>", 1, 1)
        expect("the build lacks it" in it.run_on_object(b"13.2", "sm_90", 70), "names")
    with rig() as it:
        expect("nothing was checked" in it.run_on_object(b"13.0", "sm_80", 0), "sm_80")


@case()
def missing_kernels_are_named_on_both_sides():
    with rig() as it:
        it.group("mix_kernel<float>", 1, 1)
        _, errors = it.run(code=70)
        expect("mix_kernel<float> has limits, but the build lacks it" in errors, errors)
    with rig() as it:
        del it.limits["groups"][0]
        output, errors = it.run(code=70)
        expect(f"{RELU} has no limits" in errors and RELU in output, errors)


@case()
def limits_of_the_project_fit_the_recorded_kernels():
    _, errors = start("--disassembly", RECORDED, "--quiet", code=70)
    others = [line for line in errors.splitlines()[:-1] if "the build lacks it" not in line]
    expect(not others and f"{RELU} has" not in errors and f"{LOSSES} has" not in errors, errors)


@case()
def what_cannot_be_read_has_its_own_exit_code():
    with rig() as it:
        for text in ("", "ELF", MADE_UP, made_up(["BRX R2 -0x70"]), made_up(["BRA `(.L_x_1)"])):
            expect("cannot understand" in it.run(text=text, code=65)[1], text)
        missing = it.folder / "missing"
        start("--disassembly", missing, code=66)
        start("--limits", missing, "--disassembly", RECORDED, code=66)
        _, errors = start(missing, code=66)
        expect("run make gpu-build" in errors, errors)
        (it.folder / "bin").mkdir()
        for name in ("bash", "dirname", "env"):
            (it.folder / "bin" / name).symlink_to(shutil.which(name))
        (it.folder / "bin/python3").symlink_to(sys.executable)
        _, errors = it.run(code=69, environment={"PATH": str(it.folder / "bin")})
        expect("c++filt" in errors, errors)
        del it.limits["common"]["spills"]
        expect("is not a file of limits: KeyError: 'spills'" in it.run(code=65)[1], "limits")


@case()
def usage_errors_are_64():
    for arguments in (("--what",), ("--json", "--quiet"), ("a", "b"),
                      ("--disassembly", RECORDED, "object")):
        start(*arguments, code=64)
    output, _ = start("--help")
    expect("Exit codes" in output, output)


if __name__ == "__main__":
    main()
