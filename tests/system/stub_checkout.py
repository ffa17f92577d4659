# SPDX-License-Identifier: Apache-2.0
"""A checkout with the real scripts and stub programs, in a folder whose name contains a space.
Stubs write one line per event to a log."""
import os
import pty
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

from harness import SOURCE, alive, descendants, kill, wait_for

# Logs its name and arguments, what it inherited that it should not have, and then each signal.
# Exits at once unless the file hold/NAME exists: then it waits for as many signals as that file
# says, or until the file is removed.
STUB = r"""#!/usr/bin/python3 -S
import os, signal, sys, time
root, name = {root!r}, {name!r}
def log(*parts):
    with open(root + "/log", "a") as f: f.write(" ".join((name,) + parts) + "\n")
seen = []
def caught(number, frame):
    log(signal.Signals(number).name)
    seen.append(number)
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, caught)
hold = root + "/hold/" + name
wanted = int(open(hold).read()) if os.path.exists(hold) else 0
log(*sys.argv[1:])
if os.path.exists("/proc/self/fd/9"): log("has descriptor 9")
if "CURTAIL_JSON" in os.environ: log("has CURTAIL_JSON")
if name == "curtail-status" and "--paths" in sys.argv:
    out, data = root + "/results/demo", root + "/data-folder"
    data = open(data).read() if os.path.exists(data) else out + "/data"
    print("folder  " + out + "\ndata    " + data)
code = root + "/code/" + name
code = int(open(code).read()) if os.path.exists(code) else 0
if name == "curtail-poll" and code == 0: open(root + "/results/demo/clock.json", "w").write("new")
while wanted and len(seen) < wanted and os.path.exists(hold): time.sleep(0.01)
log("ends")
sys.exit(130 if seen else code)
"""

PRIVATE_PREFIXES = ("CURTAIL_", "MAKE", "MFLAGS")


class Checkout:
    def __init__(self, programs=()):
        self.folder = Path(tempfile.mkdtemp(prefix="curtail-door-"))
        self.root = self.folder / "check out"
        for part in ("bench", "scripts", "inputs", "signals", "slurm"):
            shutil.copytree(SOURCE / part, self.root / part)
        shutil.copy(SOURCE / "Makefile", self.root)
        self.path = self.folder / "path"
        for folder in (self.root / "hold", self.root / "code", self.path):
            folder.mkdir()
        for program in programs:
            self.stub(self.root / "build/release/bin" / program)
        self.processes = []

    def stub(self, path, text=None):
        """Writes a stub program, or the given program text, to `path`."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        if text is None:
            text = STUB.format(root=str(self.root), name=path.name)
        path.write_text(text)
        path.chmod(0o755)

    def command(self, name, text=None):
        """Adds a stub that precedes the machine's program of that name on the PATH."""
        self.stub(self.path / name, text)

    def hold(self, name, signals=1):
        (self.root / "hold" / name).write_text(str(signals))

    def release(self, name):
        (self.root / "hold" / name).unlink(missing_ok=True)

    def fail(self, name, code):
        (self.root / "code" / name).write_text(str(code))

    def log(self):
        path = self.root / "log"
        return path.read_text().splitlines() if path.exists() else []

    def wait_for_line(self, line):
        found = lambda: any(entry.startswith(line) for entry in self.log())
        wait_for(found, f'"{line}" in {self.log()}')

    def environment(self, **more):
        kept = {name: value for name, value in os.environ.items()
                if not name.startswith(PRIVATE_PREFIXES)
                and name not in ("PRESET", "STORE", "TEXT")}
        kept["PATH"] = f"{self.path}:{os.environ['PATH']}"
        return {**kept, **{name: str(value) for name, value in more.items()}}

    def run(self, *command, code=0, cwd=None, **environment):
        """Runs a command, checks its exit code and returns its output (stdout, then stderr)."""
        done = subprocess.run([str(part) for part in command], cwd=cwd or self.root,
                              env=self.environment(**environment), stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=120)
        output = done.stdout + done.stderr
        assert done.returncode == code, \
            f"{command}: exit code {done.returncode}, expected {code}\n{output}"
        return output

    def start(self, *command, **environment):
        process = subprocess.Popen([str(part) for part in command], cwd=self.root,
                                   env=self.environment(**environment), stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                   start_new_session=True)
        self.processes.append(process.pid)
        return process

    def in_terminal(self, *command):
        """Starts a command as session leader of a terminal; returns its pid and the other end."""
        pid, terminal = pty.fork()
        if pid == 0:
            os.chdir(self.root)
            os.execvpe(str(command[0]), [str(part) for part in command], self.environment())
        self.processes.append(pid)
        return pid, terminal

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for pid in self.processes:
            if alive(pid):
                for process in [pid, *descendants(pid)]:
                    kill(process, signal.SIGKILL)
        shutil.rmtree(self.folder, ignore_errors=True)


def exit_code(pid, timeout=60):
    """Waits for a child started by `pty.fork`; returns its exit code, or 128 + n after signal n."""
    ended = lambda: os.waitpid(pid, os.WNOHANG)[0:2] if alive(pid) is False else None
    status = wait_for(ended, f"the end of {pid}", timeout)[1]
    if os.WIFEXITED(status):
        return os.waitstatus_to_exitcode(status)
    return 128 + os.WTERMSIG(status)
