# SPDX-License-Identifier: Apache-2.0
"""Installs the programs into a prefix, moves it and runs them. Builds and installs the poller."""
import json
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path

from harness import BUILD, SOURCE, SmallRun, case, execute, expect, main, mpirun

# Libraries that a login node need not have.
TRAINING_LIBRARIES = ("libmpi", "libtorch", "libc10", "libhdf5", "libcuda")


@contextmanager
def temporary_folder():
    folder = Path(tempfile.mkdtemp(prefix="curtail-install-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


@contextmanager
def moved_prefix():
    """A prefix that was installed in one place and then moved to another."""
    with temporary_folder() as folder:
        execute("cmake", "--install", BUILD, "--prefix", folder / "installed")
        (folder / "moved").mkdir()
        yield (folder / "installed").rename(folder / "moved/here")


@case()
def moved_programs_find_their_files():
    with moved_prefix() as prefix:
        page = prefix.parent / "report.html"
        execute(prefix / "bin/curtail-report", "--reference", "--out", page, cwd=prefix.parent)
        expect("<title>Curtail run report</title>" in page.read_text(), "no page")
        help_text = execute(prefix / "bin/curtail-report", "--help", cwd=prefix.parent).stdout
        for file in ("results/reference", ".deps/site/plotly/package_data/plotly.min.js"):
            path = prefix / "share/curtail" / file
            expect(f"[{path}]" in help_text and path.exists(), f"{file}: {help_text}")
        expect(str(SOURCE) not in help_text, help_text)


@case()
def help_shows_examples():
    for name in ("poll", "train", "data", "model", "status", "store", "report"):
        help_text = execute(BUILD / f"bin/curtail-{name}", "--help").stdout
        expect("\nExample" in help_text, help_text)


@case(seconds=2)
def installed_trainer_runs_under_mpirun():
    with moved_prefix() as prefix, SmallRun(training={"steps": 2}) as run:
        execute(*mpirun(2, prefix / "bin/curtail-train", run.run_file, "--site", "A", "--alone"))
        expect(len(run.metrics("A")) == 2, run.metrics("A"))


@case(seconds=9)
def poller_needs_no_training_library():
    # This folder stays, so that the next test run builds only what changed. It is as deep as BUILD:
    # paths relative to it are equal, so ccache has most of the files.
    build = BUILD.parent / f"{BUILD.name}-poller"
    execute("cmake", "-S", SOURCE, "-B", build, "-G", "Ninja", "-DCURTAIL_COMPONENTS=poller",
            "-DCURTAIL_TORCH_ROOT=/nonexistent", "-DCMAKE_DISABLE_FIND_PACKAGE_MPI=TRUE",
            "-DCMAKE_DISABLE_FIND_PACKAGE_HDF5=TRUE")
    commands = json.loads((build / "compile_commands.json").read_text())
    named = [c["file"] for c in commands if "openmpi" in c["command"] or "hdf5" in c["command"]]
    expect(commands and not named, f"MPI or HDF5 on the command line of {named}")
    execute("cmake", "--build", build, "-j", "2", timeout=360)
    with temporary_folder() as folder:
        execute("cmake", "--install", build, "--prefix", folder)
        installed = sorted(program.name for program in (folder / "bin").iterdir())
        expect(installed == ["curtail-poll", "curtail-status", "curtail-store"], installed)
        for name in installed:
            program = folder / "bin" / name
            expect(name in execute(program, "--version", cwd=folder).stdout, f"version of {name}")
            for built in (program, BUILD / "bin" / name):
                loaded = execute("ldd", built).stdout
                found = [library for library in TRAINING_LIBRARIES if library in loaded]
                expect(not found, f"{built} loads {found}")


if __name__ == "__main__":
    main()
