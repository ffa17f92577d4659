# SPDX-License-Identifier: Apache-2.0
"""What the end-to-end tests share: a small run in a folder of its own, the programs under test, and processes that are ended by pid."""
import atexit
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SOURCE = Path(os.environ.get("CURTAIL_SOURCE_DIR", Path(__file__).resolve().parents[2]))
BUILD = Path(os.environ.get("CURTAIL_BUILD", SOURCE / "build/release"))
# Programs take options from the environment too; those of whoever runs the tests are not the tests'.
for name in [n for n in os.environ if n.startswith("CURTAIL_")]:
    del os.environ[name]
MPI_ENVIRONMENT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "OMPI_MCA_btl": "self,vader,tcp",
    "OMPI_MCA_btl_tcp_if_include": "lo",
    "OMPI_MCA_oob_tcp_if_include": "lo",
    "OMP_NUM_THREADS": "1",
    "CURTAIL_BUILD": str(BUILD),
}

# Enough English for a tokenizer of 300 tokens and some hundred blocks; the golden corpus is part of the source.
CORPUS = SOURCE / "tests/golden/corpus"

ROUNDS = {
    "block_tokens": 128,
    "grant_quantum_blocks": 4,
    "round_time_s": 0.6,
    "checkpoint_interval_s": 0.6,
    "poll_run_s": 0.1,
    "poll_run_lone_s": 0.1,
    "poll_run_starved_s": 0.1,
    "poll_wait_s": 0.1,
    "gather_time_s": 1,
    "lease_s": 1.5,
    "first_base_wait_s": 1,
    "skew_s": 1,
}


class Failure(AssertionError):
    pass


def expect(condition, message):
    if not condition:
        raise Failure(message)


def program(name):
    return str(BUILD / "bin" / name)


def execute(*words, code=0, timeout=60, **options):
    """Runs one program to its end; its exit code must be `code` (None: any)."""
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, timeout=timeout, stdin=subprocess.DEVNULL,
                          env={**os.environ, **MPI_ENVIRONMENT}, **options)
    if code is not None and done.returncode != code:
        raise Failure(f"{' '.join(map(str, words))}: exit code {done.returncode}, expected {code}\n{done.stdout}\n{done.stderr}")
    return done


def wait_for(condition, what, timeout=30.0, pause=0.02):
    """Polls until `condition()` is true; answers its value. Waiting for a state, never for time to pass."""
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        value = condition()
        if value:
            return value
        time.sleep(pause)
    raise Failure(f"gave up waiting for {what} after {timeout:g} s")


def alive(pid):
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def started_at(pid):
    """Start time of a process in clock ticks since boot, as in field 22 of /proc/PID/stat; nothing if it is gone."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[19])
    except OSError:
        return None


def descendants(pid):
    """All living processes below `pid`, the parents first."""
    children = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if fields[0] not in "ZX":
            children.setdefault(int(fields[1]), []).append(int(entry.name))
    found, queue = [], [pid]
    while queue:
        below = children.get(queue.pop(0), [])
        found += below
        queue += below
    return found


def command_of(pid):
    try:
        return [w.decode() for w in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0") if w]
    except OSError:
        return []


def is_rank(pid):
    words = command_of(pid)
    return bool(words) and Path(words[0]).name == "curtail-train"


def is_mpirun(pid):
    words = command_of(pid)
    return bool(words) and Path(words[0]).name in ("mpirun", "orterun")


def kill(pid, number=signal.SIGKILL):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


class SmallRun:
    """A run of small sites A and B in a temporary folder, with data prepared once per test process."""

    prepared = None

    def __init__(self, sites=("A", "B"), ranks=2, model=None, rounds=None, training=None, optimizer=None, epochs=2000, launcher=None):
        self.folder = Path(tempfile.mkdtemp(prefix="curtail-system-"))
        self.processes = []
        shutil.copytree(self.data(), self.folder / "data")
        self.write("model.json", model or {"name": "small", "depth": 1, "sequence": 32, "vocabulary": 300})
        for site in sites:
            self.write(f"site_{site}.json", {
                "site": site, "ranks": ranks, "region": site,
                "launcher": launcher or {"kind": "local", "script": str(SOURCE / "slurm/site_train.sh"), "grace_s": 10},
            })
        self.config = {
            "run": "small", "folder": "out", "store": "file:out/store", "seed": 1, "model": "model.json",
            "data": {"folder": "data", "epochs": epochs},
            "training": {"batch_tokens": 512, "device_batch_rows": 4, **(training or {})},
            "optimizer": {"schedule_tokens": 1_000_000, "lr_scale": 0.1, **(optimizer or {})},
            "rounds": {**ROUNDS, **(rounds or {})},
            "sites": [f"site_{site}.json" for site in sites],
        }
        self.save()
        self.out = self.folder / "out"
        self.store_folder = self.out / "store"
        self.store_folder.mkdir(parents=True)
        self.store = self.store_folder / "runs/small"

    @classmethod
    def data(cls):
        if cls.prepared is None:
            cls.prepared = Path(tempfile.mkdtemp(prefix="curtail-system-data-"))
            atexit.register(cls.forget_data)
            execute(program("curtail-data"), "prepare", CORPUS, "--out", cls.prepared / "data", "--vocabulary", 300, "--held-out", 0.2, "--seed", 1)
        return cls.prepared / "data"

    @classmethod
    def forget_data(cls):
        if cls.prepared is not None:
            shutil.rmtree(cls.prepared, ignore_errors=True)
            cls.prepared = None

    @property
    def run_file(self):
        return self.folder / "run.json"

    def write(self, name, value):
        (self.folder / name).write_text(json.dumps(value, indent=1))

    def save(self):
        self.write("run.json", self.config)

    def train(self, site, *options, ranks=2, code=0, timeout=60):
        """Trains in the foreground until it ends by itself."""
        return execute("mpirun", "--bind-to", "none", "--oversubscribe", "-n", ranks, program("curtail-train"), self.run_file, "--site", site, *options,
                       code=code, timeout=timeout)

    def start_training(self, site, *options, ranks=2):
        return self.start("mpirun", "--bind-to", "none", "--oversubscribe", "-n", ranks, program("curtail-train"), self.run_file, "--site", site, *options)

    def start(self, *words):
        log = open(self.folder / "processes.log", "ab")
        process = subprocess.Popen([str(w) for w in words], stdin=subprocess.DEVNULL, stdout=log, stderr=log, env={**os.environ, **MPI_ENVIRONMENT},
                                   start_new_session=True)
        log.close()
        self.processes.append(process)
        return process

    def metrics(self, site):
        path = self.out / "sites" / site / "metrics.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def events(self, site, kind=None):
        path = self.out / "sites" / site / "events.jsonl"
        lines = [json.loads(line) for line in path.read_text().splitlines() if line.endswith("}")] if path.exists() else []
        return [e for e in lines if kind is None or e["type"] == kind]

    def commits(self):
        """The chain as it is in the store now, in order."""
        folder = self.store / "commits"
        return [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))] if folder.exists() else []

    def verify(self):
        return execute(program("curtail-status"), self.run_file, "--verify", timeout=120)

    def log(self):
        path = self.folder / "processes.log"
        return path.read_text(errors="replace") if path.exists() else ""

    def close(self):
        for process in self.processes:
            if process.poll() is None:
                for pid in [process.pid, *descendants(process.pid)]:
                    kill(pid)
                process.wait()
        self.end_jobs()
        shutil.rmtree(self.folder, ignore_errors=True)

    def end_jobs(self):
        """Local jobs outlive a killed poller by design: end those of this run that are left."""
        for record in self.out.glob("sites/*/jobs/*.json"):
            script = json.loads(record.read_text())["script"]
            if not record.with_suffix(".exit").exists() and started_at(script["pid"]) == script["started"]:
                for pid in [*reversed(descendants(script["pid"])), script["pid"]]:
                    kill(pid)

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind is not None:
            print(self.log()[-6000:], file=sys.stderr)
        self.close()


def main(tests):
    """Runs the functions given, or those named on the command line; prints one line each."""
    # A test that is ended from outside cleans up too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    chosen = [t for t in tests if not sys.argv[1:] or t.__name__ in sys.argv[1:]]
    failed = 0
    for test in chosen:
        started = time.monotonic()
        try:
            test()
            print(f"ok    {test.__name__} ({time.monotonic() - started:.1f} s)", flush=True)
        except Exception as error:  # every failure is printed, also one of the test's own
            failed += 1
            print(f"FAIL  {test.__name__}: {type(error).__name__}: {error}", flush=True)
    print(f"{len(chosen) - failed} passed, {failed} failed")
    sys.exit(1 if failed or not chosen else 0)
