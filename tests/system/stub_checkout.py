# SPDX-License-Identifier: Apache-2.0
"""A checkout made of the real scripts and of stub programs, in a folder whose name has a space. Stubs write one line per event to a log."""
import os
import pty
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

from harness import SOURCE, alive, descendants, kill, wait_for

# Logs its name and words, the descriptors and dispositions it was born with, then each signal. Ends at once, or as HOLD says:
# the file hold/NAME keeps it until a signal comes (as many as the file says) or the file goes.
STUB = r"""#!/usr/bin/python3 -S
import os, signal, sys, time
root, name = {root!r}, {name!r}
def log(*words):
    with open(root + "/log", "a") as f: f.write(" ".join((name,) + words) + "\n")
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
    data = root + "/data-folder"
    print("folder  " + root + "/results/demo\ndata    " + (open(data).read() if os.path.exists(data) else root + "/results/demo/data"))
code = root + "/code/" + name
code = int(open(code).read()) if os.path.exists(code) else 0
if name == "curtail-poll" and code == 0: open(root + "/results/demo/clock.json", "w").write("new")
while wanted and len(seen) < wanted and os.path.exists(hold): time.sleep(0.01)
log("ends")
sys.exit(130 if seen else code)
"""


class Checkout:
    def __init__(self, programs=()):
        self.folder = Path(tempfile.mkdtemp(prefix="curtail-door-"))
        self.root = self.folder / "check out"
        for part in ("scripts", "inputs", "signals", "slurm"):
            shutil.copytree(SOURCE / part, self.root / part)
        shutil.copy(SOURCE / "Makefile", self.root)
        self.path = self.folder / "path"
        for folder in (self.root / "hold", self.root / "code", self.path):
            folder.mkdir()
        for program in programs:
            self.stub(self.root / "build/release/bin" / program)
        self.processes = []

    def stub(self, path, text=None):
        """A stub program at `path`, or one of these words."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        path.write_text(text if text is not None else STUB.format(root=str(self.root), name=path.name))
        path.chmod(0o755)

    def command(self, name, text=None):
        """A stub that stands before the machine's program of that name on the PATH."""
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
        wait_for(lambda: any(entry.startswith(line) for entry in self.log()), f'"{line}" in {self.log()}')

    def environment(self, **more):
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("CURTAIL_", "MAKE", "MFLAGS")) and k not in ("PRESET", "TEXT")}
        return {**kept, "PATH": f"{self.path}:{os.environ['PATH']}", **{k: str(v) for k, v in more.items()}}

    def run(self, *words, code=0, cwd=None, **environment):
        done = subprocess.run([str(w) for w in words], cwd=cwd or self.root, env=self.environment(**environment), stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=30)
        assert done.returncode == code, f"{words}: exit code {done.returncode}, expected {code}\n{done.stdout}\n{done.stderr}"
        return done.stdout + done.stderr

    def start(self, *words, **environment):
        process = subprocess.Popen([str(w) for w in words], cwd=self.root, env=self.environment(**environment), stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)
        self.processes.append(process.pid)
        return process

    def in_terminal(self, *words):
        """Starts it as the leader of a terminal's session; answers its pid and the terminal's other end."""
        pid, terminal = pty.fork()
        if pid == 0:
            os.chdir(self.root)
            os.execvpe(str(words[0]), [str(w) for w in words], self.environment())
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


def exit_code(pid, timeout=15):
    """Waits for a child that `pty.fork` made: its exit code, 128 + n after signal n."""
    found = wait_for(lambda: os.waitpid(pid, os.WNOHANG)[0:2] if alive(pid) is False else None, f"the end of {pid}", timeout)
    status = found[1]
    return os.waitstatus_to_exitcode(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status)
