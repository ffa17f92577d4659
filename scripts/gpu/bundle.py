#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Packs the programs of build/gpu and the libraries that they need into a folder that can be moved,
and into a tarball of it: build/curtail-gpu-VERSION-x86_64 and .tar.gz. The libraries of PyTorch, of
NVIDIA and of glibc are not among them; scripts/gpu/env.sh finds those of the machine.
Exit codes: 0; 69 a tool or a library is missing; 70 the tarball is larger than LIMIT_MB.
"""

import os
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
BUILD = CHECKOUT / "build/gpu"
LIMIT_MB = 35

# What the machine has: glibc, PyTorch (with libgomp), and NVIDIA's libraries and driver. A machine
# whose glibc is new enough also has a libstdc++ that is, and a process must load only one.
FROM_THE_MACHINE = re.compile(
    r"(ld-linux-x86-64|libc|libm|libdl|librt|libpthread|libresolv|libutil|libanl|libmvec"
    r"|libstdc\+\+|libgcc_s|libgomp"
    r"|libtorch(_\w+)?|libc10(_\w+)?|libcuda|libcudart|libcupti|libnccl|libcu(blas|dnn)\w*)\.so"
)
# Open MPI's plugins for fabrics, whose libraries belong to a machine's drivers, and for OpenSHMEM.
# UCX stays for connections between sites over TCP.
LEFT_OUT_PLUGINS = re.compile(
    r"mca_(\w+_(ofi|psm|psm2|openib|flux|monitoring)|osc_ucx"
    r"|(atomic|memheap|scoll|spml|sshmem)_\w+)\.so"
)


def fail(code, *words):
    print("bundle.py:", *words, file=sys.stderr)
    sys.exit(code)


def output(*command):
    try:
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    except FileNotFoundError:
        fail(69, f"{command[0]} is missing")
    if done.returncode != 0:
        fail(69, f"{' '.join(map(str, command))} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def is_elf(path):
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"


def needed_by(file):
    return re.findall(r"\(NEEDED\).*\[(.*)\]", output("readelf", "-d", file))


def paths_of_libraries(file):
    """Name -> path of every library that the loader finds for a file of this machine."""
    found = re.findall(r"^\s*(\S+) => (/\S+)", output("ldd", file), re.MULTILINE)
    return {name: Path(path) for name, path in found}


class Bundle:
    def __init__(self, folder):
        self.folder = folder
        self.libraries = folder / "lib/curtail"
        self.licensed = set()

    def add_programs(self):
        output("cmake", "--install", BUILD, "--prefix", self.folder, "--strip")
        for name in ("env.sh", "run.sh", "measure.sh", "measure.py", "measure_children.py",
                     "measure_training.py"):
            shutil.copy(CHECKOUT / "scripts/gpu" / name, self.folder)
        for folder, files in (("bench/peers", ["gpt_step.py"]),
                              ("tests/golden", ["gpt_mha.h5", "gpt_gqa.h5"])):
            target = self.folder / "share/curtail" / Path(folder).name
            target.mkdir(parents=True, exist_ok=True)
            for name in files:
                shutil.copy(CHECKOUT / folder / name, target)
        for program in (BUILD / "bin").iterdir():
            self.add_libraries(program)

    def add_libraries(self, file):
        """Copies the libraries that `file`, a file of this machine, needs, and what they need."""
        paths = paths_of_libraries(file)
        wanted = needed_by(file)
        while wanted:
            name = wanted.pop()
            target = self.libraries / name
            if FROM_THE_MACHINE.match(name) or target.exists():
                continue
            if name not in paths:
                fail(69, f"{file} needs {name}, which is missing")
            self.copy(paths[name], target)
            wanted += needed_by(paths[name])

    def copy(self, source, target):
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source.resolve(), target)
        target.chmod(0o755)
        if is_elf(target):
            output("strip", "--strip-unneeded", target)
            self.set_run_path(target)
        self.add_license(source.resolve())

    def set_run_path(self, target):
        """Replaces an absolute DT_RUNPATH, which would find libraries of the machine, by a shorter
        one that is relative to the file."""
        found = re.search(r"\((?:RUNPATH|RPATH)\).*\[(/.*)\]", output("readelf", "-d", target))
        if not found:
            return
        old = found[1].encode() + b"\0"
        new = b"$ORIGIN/" + os.path.relpath(self.libraries, target.parent).encode()
        content = target.read_bytes()
        if len(new) >= len(old) or content.count(b"\0" + old) != 1:
            fail(69, f"cannot change the run path {found[1]} of {target}")
        target.write_bytes(content.replace(b"\0" + old, b"\0" + new.ljust(len(old), b"\0")))

    def add_license(self, file):
        """Copies the license of the Debian package that contains a file."""
        if shutil.which("dpkg-query") is None:
            return
        # A merged /usr: dpkg may know the file without it.
        for path in (str(file), str(file).removeprefix("/usr")):
            done = subprocess.run(["dpkg-query", "-S", path], capture_output=True, text=True)
            if done.returncode == 0:
                break
        package = done.stdout.split(":")[0]
        text = Path("/usr/share/doc") / package / "copyright"
        if package and package not in self.licensed and text.exists():
            self.licensed.add(package)
            target = self.folder / "share/doc/curtail/licenses" / package
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(text, target)

    def add_open_mpi(self):
        paths = dict(re.findall(r"(\w+): (/\S+)", output("ompi_info", "--path", "all")))
        prefix = Path(paths["Prefix"])
        programs = Path(os.path.realpath(shutil.which("mpirun"))).parent
        for name, program in (("mpirun", "orterun"), ("orted", "orted"),
                              ("ompi-server", "orte-server")):
            self.copy(programs / program, self.folder / "libexec/curtail" / name)
            self.add_libraries(programs / program)
            shutil.copy(CHECKOUT / "scripts/gpu/open_mpi.sh", self.folder / "bin" / name)
        plugins = Path(paths["Pkglibdir"])
        self.add_plugins(plugins, self.folder / plugins.relative_to(prefix))
        pmix = paths_of_libraries(plugins / "mca_pmix_ext3x.so")["libpmix.so.2"].resolve().parent
        self.add_plugins(pmix / "pmix", self.libraries / "pmix")
        shutil.copytree(pmix.parent / "share/pmix", self.folder / "share/pmix")
        shutil.copytree(paths["Pkgdatadir"], self.folder / "share/openmpi",
                        ignore=shutil.ignore_patterns("*wrapper-data.txt", "amca-param-sets"))
        settings = Path(paths["Sysconfdir"]) / "openmpi-mca-params.conf"
        if settings.exists():
            (self.folder / "etc").mkdir()
            shutil.copy(settings, self.folder / "etc")

    def add_plugins(self, folder, target):
        for plugin in sorted(folder.glob("*mca_*.so")):
            if not LEFT_OUT_PLUGINS.fullmatch(plugin.name):
                self.copy(plugin, target / plugin.name)
                self.add_libraries(plugin)

    def add_glibc_version(self):
        """Writes the newest version of glibc of which a file of the bundle uses a symbol."""
        versions = set()
        for path in self.folder.rglob("*"):
            if path.is_file() and not path.is_symlink() and is_elf(path):
                symbols = output("readelf", "--version-info", path)
                versions |= set(re.findall(r"GLIBC_(\d+\.\d+)", symbols))
        newest = max(versions, key=lambda text: [int(part) for part in text.split(".")])
        (self.folder / "share/curtail/glibc").write_text(newest + "\n")
        return newest


def main():
    cache = (BUILD / "CMakeCache.txt").read_text()
    version = re.search(r"^CMAKE_PROJECT_VERSION:\w+=(.*)$", cache, re.MULTILINE)[1]
    target = CHECKOUT / f"build/curtail-gpu-{version}-x86_64"
    new = target.with_name(target.name + ".new")
    shutil.rmtree(new, ignore_errors=True)
    bundle = Bundle(new)
    bundle.add_programs()
    bundle.add_open_mpi()
    glibc = bundle.add_glibc_version()
    shutil.rmtree(target, ignore_errors=True)
    new.rename(target)
    tarball = target.with_name(target.name + ".tar.gz")
    with tarfile.open(str(tarball) + ".new", "w:gz") as tar:
        tar.add(target, target.name)
    os.replace(str(tarball) + ".new", tarball)
    size = tarball.stat().st_size / 1e6
    print(f"{tarball.relative_to(CHECKOUT)}: {size:.0f} MB, for glibc {glibc} and newer")
    if size > LIMIT_MB:
        fail(70, f"the tarball is larger than {LIMIT_MB} MB")


if __name__ == "__main__":
    main()
