# SPDX-License-Identifier: Apache-2.0
"""What measure.py measures with: a file of results in which every line is complete as soon as it is
known, and child processes with time limits."""
import fcntl
import json
import math
import os
import queue
import shutil
import signal
import subprocess
import sys
import threading
import time
from datetime import datetime, timezone


class OutOfTime(Exception):
    """The time for the whole measurement is over, or too short for a part."""


class Stopped(Exception):
    """This process has received SIGTERM or SIGINT."""


MOST_LINES = 10_000  # of one child: a child that floods its output must not fill the disk
LONGEST_LINE = 1 << 16  # bytes; the rest counts as another line


def without_nan(value):
    """The value as JSON can hold it: a number that is not finite is null."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {key: without_nan(each) for key, each in value.items()}
    return [without_nan(each) for each in value] if isinstance(value, list) else value


class Results:
    """The files of a measurement. `folder` must exist. Raises BlockingIOError if another
    measurement writes to it."""

    def __init__(self, folder, seconds):
        self.folder = folder
        self.deadline = time.monotonic() + seconds
        self._results = open(folder / "results.jsonl", "a", encoding="utf-8")
        fcntl.flock(self._results, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self._results.truncate(0)
        self._log = open(folder / "log.txt", "w", encoding="utf-8")
        self._metrics = open(folder / "metrics.jsonl", "w", encoding="utf-8")
        self.stderr_path = folder / "stderr.txt"
        self.stderr_path.write_bytes(b"")
        self.failed = []
        self.skipped = []
        self.worst = 0

    def remaining(self):
        return self.deadline - time.monotonic()

    def note(self, text):
        line = f"{datetime.now(timezone.utc):%H:%M:%S} {text}"
        self._write(self._log, line)
        self._write(sys.stdout, line)

    @staticmethod
    def _write(file, line):
        """A closed pipe or a full disk must not cost the figures to come."""
        try:
            file.write(line + "\n")
            file.flush()
        except (OSError, ValueError):
            pass

    def figure(self, part, name, /, **values):
        """Adds a line. Units are in the names of the values."""
        line = {**values, "part": part, "figure": name}
        line = {"part": part, "figure": name, **line}
        self._write(self._results, json.dumps(without_nan(line), allow_nan=False))
        shown = " ".join(f"{key}={f'{value:.6g}' if isinstance(value, float) else value}"
                         for key, value in values.items())
        self.note(f"{part}: {name} {shown}")

    def metrics(self, run, lines):
        for line in lines:
            self._write(self._metrics, json.dumps(without_nan({"run": run, **line})))

    def fail(self, part, name, why, code=70):
        """Adds the line of a part that has failed."""
        self.failed.append(f"{part} {name}")
        self.worst = max(self.worst, code)
        self.figure(part, name, died=why)

    def skip(self, part, why):
        self.skipped.append(part)
        self.figure(part, "skipped", why=why)


# The child ends with this process, even if this process is killed.
WITH_PARENT = ["setpriv", "--pdeathsig", "KILL", "--"] if shutil.which("setpriv") else []


class Child:
    """A process with a session of its own, so that it can be ended with all its children. Its
    standard error goes to `stderr_path`."""

    def __init__(self, command, stderr_path, title, environment=None):
        self._stderr_path = stderr_path
        if shutil.which(str(command[0])) is None:
            raise FileNotFoundError(2, "no such program", str(command[0]))
        with open(stderr_path, "ab") as stderr:
            stderr.write(f"== {title}\n".encode())
            stderr.flush()
            self._begin = stderr.tell()
            self.process = subprocess.Popen(
                [*WITH_PARENT, *(str(part) for part in command)], stdin=subprocess.PIPE,
                stdout=subprocess.PIPE, stderr=stderr, start_new_session=True,
                env={**os.environ, **(environment or {})})
        self._lines = queue.Queue(maxsize=100)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in iter(lambda: self.process.stdout.readline(LONGEST_LINE), b""):
            self._lines.put(line.decode(errors="replace"))
        self._lines.put(None)

    def line(self, limit_s):
        """The next line of its output; None at its end, or soon after that of the process, since
        its children may keep the output open. Raises TimeoutError."""
        end = time.monotonic() + limit_s
        while (left := end - time.monotonic()) > 0:
            ended = self.process.poll() is not None
            try:
                return self._lines.get(timeout=min(left, 0.5))
            except queue.Empty:
                if ended:
                    return None
        raise TimeoutError(f"no answer within {limit_s:.0f} s")

    def say(self, text):
        try:
            self.process.stdin.write(text.encode())
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # line() then reports the end

    def kill(self):
        """Ends the process and its children."""
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()

    def why_it_ended(self):
        """Its exit code or signal, and the last line of its standard error."""
        code = self.process.returncode
        names = {each.value: f" ({each.name})" for each in signal.Signals}
        how = f"signal {-code}{names.get(-code, '')}" if code < 0 else f"exit code {code}"
        with open(self._stderr_path, "rb") as stderr:
            stderr.seek(self._begin)
            lines = stderr.read().decode(errors="replace").split()
        text = " ".join(lines)
        return f"{how}: {text[-300:]}" if text else how


def run(results, part, name, command, limit_s, on_line=None, **options):
    """Runs a command. Calls on_line for each line of its output, as soon as it is there. Returns
    whether it ended with 0. If not, or if it outlasts its limit, adds a line to the results. Raises
    OutOfTime if the time for everything ends before its limit."""
    cut_short = limit_s > results.remaining()
    limit_s = min(limit_s, results.remaining())
    if limit_s <= 0:
        raise OutOfTime
    try:
        child = Child(command, results.stderr_path, f"{part} {name}", **options)
    except FileNotFoundError:
        results.fail(part, name, f"{command[0]} is missing", 69)
        return False
    end = time.monotonic() + limit_s
    lines = 0
    try:
        while (line := child.line(end - time.monotonic())) is not None:
            lines += 1
            if lines > MOST_LINES:
                results.fail(part, name, f"it printed more than {MOST_LINES} lines")
                return False
            if on_line:
                on_line(line)
        child.process.wait(max(0.0, end - time.monotonic()))
    except (TimeoutError, subprocess.TimeoutExpired):
        if cut_short:
            results.figure(part, name, why="the time for everything ended meanwhile")
            raise OutOfTime from None
        results.fail(part, name, f"it outlasted its limit of {limit_s:.0f} s")
        return False
    finally:
        child.kill()
    if child.process.returncode == 0:
        return True
    results.fail(part, name, child.why_it_ended(),
                 69 if child.process.returncode == 69 else 70)
    return False
