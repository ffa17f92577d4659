# SPDX-License-Identifier: Apache-2.0
"""Runs scripts/gpu/run.sh in a folder that looks like a bundle, with folders that look like
PyTorch. The programs of a real bundle need a build for GPUs."""
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from harness import SOURCE, case, expect, main

VERSION = "__version__ = '{version}'\ncuda: Optional[str] = {cuda}\n"
# Prints what run.sh has set.
SHOW = """#!/bin/sh
for name in CURTAIL_BUILD LD_LIBRARY_PATH OPAL_PREFIX; do eval "echo $name=\\$$name"; done
echo "arguments=$*"
exit 7
"""


class Bundle:
    """A bundle with one program and a PyTorch, in a folder whose name contains a space."""

    def __init__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="curtail gpu-"))
        self.root = self.folder / "bundle"
        (self.root / "bin").mkdir(parents=True)
        for name in ("env.sh", "run.sh"):
            shutil.copy(SOURCE / "scripts/gpu" / name, self.root)
        self.program("curtail-gpu-check")
        self.torch = self.folder / "site/torch"
        self.make_torch("2.11.0+cu130", "'13.0'")
        (self.folder / "site/nvidia/nccl/lib").mkdir(parents=True)

    def program(self, name):
        path = self.root / "bin" / name
        path.write_text(SHOW)
        path.chmod(0o755)

    def make_torch(self, version, cuda, library="libtorch_cuda.so"):
        shutil.rmtree(self.torch, ignore_errors=True)
        (self.torch / "lib").mkdir(parents=True)
        (self.torch / "lib" / library).touch()
        (self.torch / "version.py").write_text(VERSION.format(version=version, cuda=cuda))
        (self.torch / "__init__.py").write_text("raise SystemExit('torch was imported')\n")

    def run(self, *command, code=0, **environment):
        """Runs a script of the bundle; returns its output."""
        kept = {name: value for name, value in os.environ.items()
                if not name.startswith(("CURTAIL_", "OPAL_", "OMPI_", "LD_", "PYTHON"))}
        done = subprocess.run([self.root / command[0], *command[1:]], timeout=20,
                              capture_output=True, text=True, stdin=subprocess.DEVNULL,
                              env={**kept, **{k: str(v) for k, v in environment.items()}})
        output = done.stdout + done.stderr
        expect(code in (None, done.returncode),
               f"exit code {done.returncode}, expected {code}: {output}")
        return output

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder)


@case()
def programs_get_the_libraries_of_the_named_pytorch():
    with Bundle() as bundle:
        output = bundle.run("run.sh", "curtail-gpu-check", "--seconds", "1 2", code=7,
                            CURTAIL_TORCH_ROOT=bundle.torch, LD_LIBRARY_PATH="/mine")
        libraries = (f"LD_LIBRARY_PATH={bundle.torch}/lib:"
                     f"{bundle.torch}/../nvidia/nccl/lib:/mine\n")
        expect(libraries in output, output)
        expect(f"CURTAIL_BUILD={bundle.root}\n" in output, output)
        expect("arguments=--seconds 1 2\n" in output, output)
        expect("OPAL_PREFIX=\n" in output, f"Open MPI is not in this bundle: {output}")


@case()
def pytorch_is_that_of_python3_and_is_not_imported():
    with Bundle() as bundle:
        output = bundle.run("run.sh", "curtail-gpu-check", code=7, PYTHONPATH=bundle.torch.parent)
        expect(f"LD_LIBRARY_PATH={bundle.torch}/lib:" in output, output)


@case()
def open_mpi_of_the_bundle_finds_its_files():
    with Bundle() as bundle:
        bundle.program("orted")
        output = bundle.run("run.sh", "orted", code=7, CURTAIL_TORCH_ROOT=bundle.torch)
        expect(f"OPAL_PREFIX={bundle.root}\n" in output, output)


@case()
def open_mpi_works_as_root_without_ssh_outside_a_job():
    show = """#!/bin/sh
env | grep '^OMPI_'
"""
    for variables, plm in (({}, "isolated"), ({"SLURM_JOB_ID": "7"}, None),
                           ({"OMPI_MCA_plm": "rsh"}, "rsh")):
        with Bundle() as bundle:
            (bundle.root / "bin/curtail-gpu-check").write_text(show)
            lines = bundle.run("run.sh", "curtail-gpu-check", CURTAIL_TORCH_ROOT=bundle.torch,
                               code=None, **variables).split()
            found = dict(line.split("=") for line in lines if line.startswith("OMPI_"))
            expect(found.get("OMPI_MCA_plm") == plm, found)
            allowed = found.get("OMPI_ALLOW_RUN_AS_ROOT") == "1"
            expect(allowed == (os.geteuid() == 0), found)


@case()
def measuring_needs_pytorch_and_its_own_arguments():
    with Bundle() as bundle:
        for name in ("measure.sh", "measure.py", "measure_children.py", "measure_training.py"):
            shutil.copy(SOURCE / "scripts/gpu" / name, bundle.root)
        bundle.make_torch("2.10.0", "'13.0'")
        output = bundle.run("measure.sh", bundle.folder / "out", "9", code=69,
                            CURTAIL_TORCH_ROOT=bundle.torch)
        expect("is PyTorch 2.10.0" in output and not (bundle.folder / "out").exists(), output)
        expect("--repetitions" in bundle.run("measure.sh", "--help"), "no help")
        for arguments in ((), ("out",), ("out", "soon"), ("out", "9", "--what")):
            bundle.make_torch("2.11.0", "'13.0'")
            bundle.run("measure.sh", *arguments, code=64, CURTAIL_TORCH_ROOT=bundle.torch)


@case()
def other_versions_of_pytorch_are_refused():
    for version, cuda, library, message in (
            ("2.10.0+cu130", "'13.0'", "libtorch_cuda.so", "is PyTorch 2.10.0+cu130"),
            ("2.110.0", "'13.0'", "libtorch_cuda.so", "is PyTorch 2.110.0"),
            ("2.11.0+cu126", "'12.6'", "libtorch_cuda.so", "PyTorch 2.11.0+cu126 for CUDA 12.6"),
            ("2.11.0+cpu", "None", "libtorch_cpu.so", "PyTorch 2.11.0+cpu for CPUs")):
        with Bundle() as bundle:
            bundle.make_torch(version, cuda, library)
            output = bundle.run("run.sh", "curtail-gpu-check", code=69,
                                CURTAIL_TORCH_ROOT=bundle.torch)
            expect(message in output and "arguments" not in output, output)


@case()
def missing_pytorch_is_named_with_its_remedy():
    with Bundle() as bundle:
        shutil.rmtree(bundle.torch)
        path = bundle.folder / "path"
        path.mkdir()
        (path / "python3").symlink_to("/bin/false")
        for variables, message in (({"CURTAIL_TORCH_ROOT": bundle.torch}, "is not the folder of"),
                                   ({"PATH": f"{path}:/usr/bin:/bin"}, "python3 has no PyTorch")):
            output = bundle.run("run.sh", "curtail-gpu-check", code=69, **variables)
            expect(message in output and "set CURTAIL_TORCH_ROOT" in output, output)


@case()
def older_glibc_is_refused():
    with Bundle() as bundle:
        (bundle.root / "share/curtail").mkdir(parents=True)
        for needed, code in (("99.1", 69), ("2.4", 7)):
            (bundle.root / "share/curtail/glibc").write_text(needed + "\n")
            output = bundle.run("run.sh", "curtail-gpu-check", code=code,
                                CURTAIL_TORCH_ROOT=bundle.torch)
            expect(("need glibc 99.1 and this machine has 2." in output) == (code == 69), output)


@case()
def usage_errors_are_64():
    with Bundle() as bundle:
        for arguments in ((), ("--what",)):
            expect("usage: run.sh PROGRAM" in bundle.run("run.sh", *arguments, code=64), arguments)
        expect("Exit codes" in bundle.run("run.sh", "--help"), "no help")


if __name__ == "__main__":
    main()
