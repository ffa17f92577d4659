# SPDX-License-Identifier: Apache-2.0
"""Shared by the end-to-end tests: a small run in a temporary folder, the programs under test, and
helpers that find and end processes by pid."""
import atexit
import contextlib
import hashlib
import inspect
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
# Where shared.py records what this run of ctest, the parent, has started for several cases; None
# without ctest. Another process passes it on with both variables.
CTEST = int(os.environ.get("CURTAIL_CTEST", os.getppid()))
SHARED = Path(os.environ["CURTAIL_SHARED"], str(CTEST)) if "CURTAIL_SHARED" in os.environ else None
SHARED_ENVIRONMENT = {"CURTAIL_SHARED": str(SHARED.parent), "CURTAIL_CTEST": str(CTEST)} \
    if SHARED else {}
# Longer than in `make test`, as scripts/soak.sh asks for.
LONG = "--long" in sys.argv
if LONG:
    sys.argv.remove("--long")
# Programs also read options from the environment; the caller's must not change the tests.
for name in [n for n in os.environ if n.startswith("CURTAIL_")]:
    del os.environ[name]
os.environ["CURTAIL_CACHE"] = "none"  # tests leave nothing in the cache of the user
os.environ["CURTAIL_ALLOW_ROOT"] = "1"
# Files of a test lie in memory if there is enough: a shared disk may stand still for seconds.
MEMORY = "/dev/shm"
if "TMPDIR" not in os.environ and os.access(MEMORY, os.W_OK) and \
        shutil.disk_usage(MEMORY).free > 4 << 30:
    tempfile.tempdir = MEMORY
SHORT_FOLDER = tempfile.tempdir or "/tmp"  # for paths of sockets, whatever TMPDIR is
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

# Enough English for a tokenizer of 300 tokens and some hundred blocks.
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
    "drop_after_s": 8,  # a machine under load may stop a process for seconds
    "skew_s": 1,
    "status_interval_s": 0.5,
}

# A trainer rests between its steps, so that a test that waits leaves the processors to others.
PACED = {"step_at_least_s": 0.2}

POWER = {"idle_kw": 0.468, "training_kw": 2.024, "pue": 1, "between_jobs": "released"}
SMALL_MODEL = {"name": "small", "depth": 1, "sequence": 32, "vocabulary": 300}


CASES = []


class Failure(AssertionError):
    pass


def case(seconds=1, fifths=1):
    """Declares a case of a test file. Each case is a test of ctest, so cases run side by side. It
    takes `seconds` on an idle machine and needs `fifths` of a core. Its parameters name fixtures,
    which main() receives."""
    def declare(function):
        CASES.append(function)
        return function
    return declare


def shared(name):
    """The folder of what shared.py has started under this name; None if a case has to start its
    own."""
    return Path((SHARED / name).read_text()) if SHARED else None


def expect(condition, message):
    if not condition:
        raise Failure(message)


def program(name):
    return str(BUILD / "bin" / name)


def execute(*command, code=0, timeout=60, environment=os.environ, **options):
    """Runs one program to its end; its exit code must be `code` (None: any)."""
    command = [str(part) for part in command]
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout,
                          stdin=subprocess.DEVNULL, env={**environment, **MPI_ENVIRONMENT},
                          **options)
    if code is not None and done.returncode != code:
        raise Failure(f"{' '.join(command)}: exit code {done.returncode}, expected {code}\n"
                      f"{done.stdout}\n{done.stderr}")
    return done


def mpirun(ranks, *command):
    return ("mpirun", "--bind-to", "none", "--oversubscribe", "-n", ranks, *command)


def read_json_lines(path):
    """The complete lines of a JSON Lines file. A line without its newline is not yet complete."""
    lines = path.read_text().splitlines(keepends=True) if path.exists() else []
    return [json.loads(line) for line in lines if line.endswith("\n")]


STREAMS = {"poller": "poller/sites/{}/events.jsonl", "signals": "poller/sites/{}/signals.jsonl",
           "trainer": "sites/{}/events.jsonl", "metrics": "sites/{}/metrics.jsonl",
           "evaluation": "sites/{}/evaluation/evaluation.jsonl"}


def published(pieces):
    """The content of the pieces of one stream, given in order. Each must follow from the last."""
    text, previous, at, continuation = b"", None, 0, 1
    for number, piece in enumerate(pieces, 1):
        line, _, content = piece.partition(b"\n")
        header = json.loads(line)
        expect(header["number"] == number and header["previous"] == previous, f"{header}")
        if header["continuation"] != continuation:
            continuation, at = continuation + 1, header["from"]
        expect((header["continuation"], header["from"]) == (continuation, at), f"{header}")
        expect(header["to"] - at == len(content) <= 1 << 20, f"{header}")
        text, at = text + content, header["to"]
        previous = hashlib.sha256(piece).hexdigest()
    return text


def wait_for(condition, what, timeout=30.0, pause=0.05):
    """Polls until `condition()` is true and returns its value; fails after `timeout` seconds."""
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        value = condition()
        if value:
            return value
        time.sleep(pause)
    raise Failure(f"{what}: not seen within {timeout:g} s")


def stat_fields(pid):
    """The fields of /proc/PID/stat after the command's name; None if the process does not exist."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return None


def alive(pid):
    fields = stat_fields(pid)
    return fields is not None and fields[0] not in "ZX"


def started_at(pid):
    """Start time in clock ticks since boot (field 22 of /proc/PID/stat); None if it has ended."""
    fields = stat_fields(pid)
    return None if fields is None or fields[0] in "ZX" else int(fields[19])


def descendants(pid):
    """All live descendants of `pid`, parents before children."""
    children = {}
    for entry in Path("/proc").iterdir():
        fields = stat_fields(entry.name) if entry.name.isdigit() else None
        if fields is not None and fields[0] not in "ZX":
            children.setdefault(int(fields[1]), []).append(int(entry.name))
    found, queue = [], [pid]
    while queue:
        below = children.get(queue.pop(0), [])
        found += below
        queue += below
    return found


def program_of(pid):
    """Name of the program that a process runs; empty if the process does not exist."""
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return ""
    return Path(command[0].decode()).name


def is_rank(pid):
    return program_of(pid) == "curtail-train"


def rank_of(pid):
    variables = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    own = next(v for v in variables if v.startswith(b"OMPI_COMM_WORLD_RANK="))
    return int(own.split(b"=")[1])


def is_mpirun(pid):
    return program_of(pid) in ("mpirun", "orterun")


def kill(pid, number=signal.SIGKILL):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def use_docs_as_corpus():
    """The golden corpus is so short that a run would learn it by heart."""
    folder = Path(tempfile.mkdtemp(prefix="curtail-system-corpus-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    for page in (SOURCE / "docs").glob("*.md"):
        shutil.copy(page, folder / f"{page.stem}.txt")
    SmallRun.corpus = folder


def held_out_loss(run):
    done = execute(program("curtail-model"), "evaluate", run.run_file, "--json", timeout=60)
    return json.loads(done.stdout)["held_out_loss_nats"]


def prepare_data(corpus, folder):
    execute(program("curtail-data"), "prepare", corpus, "--out", folder, "--vocabulary", 300,
            "--held-out", 0.2, "--seed", 1)


class SmallRun:
    """A small run with sites A and B in a temporary folder; all share data prepared once."""

    corpus = CORPUS  # the text to train on
    prepared = None

    def __init__(self, sites=("A", "B"), ranks=2, model=None, rounds=None, training=None,
                 optimizer=None, epochs=2000, launcher=None, seed=1):
        self.folder = Path(tempfile.mkdtemp(prefix="curtail-system-"))
        self.ranks = ranks
        self.processes = []
        shutil.copytree(self.data(), self.folder / "data")
        self.write("model.json", model or SMALL_MODEL)
        launcher = launcher or {"kind": "local", "script": str(SOURCE / "slurm/site_train.sh"),
                                "grace_s": 10}
        for site in sites:
            self.write(f"site_{site}.json",
                       {"site": site, "ranks": ranks, "region": site, "power": POWER,
                        "launcher": launcher})
        self.config = {
            "run": "small", "folder": "out", "store": "file:out/store", "seed": seed,
            "model": "model.json",
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
        if cls.corpus == CORPUS and SHARED:
            return shared("data")
        if cls.prepared is None:
            cls.prepared = Path(tempfile.mkdtemp(prefix="curtail-system-data-"))
            atexit.register(shutil.rmtree, cls.prepared, ignore_errors=True)
            prepare_data(cls.corpus, cls.prepared / "data")
        return cls.prepared / "data"

    @property
    def run_file(self):
        return self.folder / "run.json"

    def write(self, name, value):
        (self.folder / name).write_text(json.dumps(value, indent=1))

    def save(self):
        self.write("run.json", self.config)

    def change_site(self, site, **changes):
        """Replaces keys of the site's file."""
        path = self.folder / f"site_{site}.json"
        self.write(path.name, {**json.loads(path.read_text()), **changes})

    def training(self, site, ranks, options):
        train = (program("curtail-train"), self.run_file, "--site", site, *options)
        return mpirun(ranks or self.ranks, *train)

    def train(self, site, *options, ranks=None, code=0, timeout=60):
        """Trains in the foreground until the trainer exits."""
        return execute(*self.training(site, ranks, options), code=code, timeout=timeout)

    def start_training(self, site, *options, ranks=None):
        return self.start(*self.training(site, ranks, options))

    def start(self, *command):
        with open(self.folder / "processes.log", "ab") as log:
            process = subprocess.Popen([str(part) for part in command], stdin=subprocess.DEVNULL,
                                       stdout=log, stderr=log, start_new_session=True,
                                       env={**os.environ, **MPI_ENVIRONMENT})
        self.processes.append(process)
        return process

    def kept_copy(self, site, part):
        """The path of the site's own copy of the weights `part`."""
        round_number = part["name"].split("/")[1]
        return self.out / f"sites/{site}/kept/{round_number}-w0-{part['sha256']}.h5"

    def metrics(self, site):
        return read_json_lines(self.out / "sites" / site / "metrics.jsonl")

    def events(self, site, kind=None):
        events = read_json_lines(self.out / "sites" / site / "events.jsonl")
        return [event for event in events if kind is None or event["type"] == kind]

    def poller_events(self, kind):
        files = self.out.glob("poller/sites/*/events.jsonl")
        events = [event for file in files for event in read_json_lines(file)]
        events.sort(key=lambda event: event["number"])
        return [event for event in events if event["type"] == kind]

    def commits(self):
        """The records of the chain in the store, in order."""
        folder = self.store / "commits"
        return [json.loads(path.read_text()) for path in sorted(folder.glob("?" * 8 + ".json"))]

    def pieces(self, site, stream):
        """The pieces of one stream of a site's journal, in order."""
        return [path.read_bytes()
                for path in sorted((self.store / "journal" / site / stream).glob("*.jsonl"))]

    def check_journal(self, site, streams=tuple(STREAMS), out=None):
        """The journal must have each byte of the complete lines of the local files, once."""
        for stream in streams:
            path = (out or self.out) / STREAMS[stream].format(site)
            local = path.read_bytes() if path.exists() else b""
            local = local[:local.rfind(b"\n") + 1]
            found = published(self.pieces(site, stream))
            expect(found == local, f"journal/{site}/{stream} has {len(found)} bytes, and {path} "
                                   f"{len(local)}")

    def verify(self):
        return execute(program("curtail-status"), self.run_file, "--verify", timeout=120)

    def log(self):
        path = self.folder / "processes.log"
        return path.read_text(errors="replace") if path.exists() else ""

    def end_processes(self):
        for process in self.processes:
            if process.poll() is None:
                for pid in [process.pid, *descendants(process.pid)]:
                    kill(pid)
                process.wait()
        self.end_jobs()

    def close(self):
        self.end_processes()
        shutil.rmtree(self.folder, ignore_errors=True)

    def end_jobs(self):
        """Ends this run's local jobs: by design they outlive a killed poller."""
        for record in self.folder.glob("*/sites/*/jobs/*.json"):
            script = json.loads(record.read_text())["script"]
            ended = record.with_suffix(".exit").exists()
            if not ended and started_at(script["pid"]) == script["started"]:
                for pid in [*reversed(descendants(script["pid"])), script["pid"]]:
                    kill(pid)

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind is not None:
            print(self.log()[-6000:], file=sys.stderr)
        self.close()


def main(**fixtures):
    """Runs all cases of the file, or those named on the command line; prints one line for each.
    `fixtures` has the context manager of each parameter's name."""
    # Exit normally on TERM, so that the running case cleans up.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    known = [c.__name__ for c in CASES]
    unknown = [name for name in sys.argv[1:] if name not in known]
    if unknown:
        sys.exit(f"no case {unknown[0]}; the cases are {', '.join(known)}")
    chosen = [c for c in CASES if not sys.argv[1:] or c.__name__ in sys.argv[1:]]
    failed = 0
    with contextlib.ExitStack() as stack:
        names = {name for c in chosen for name in inspect.signature(c).parameters}
        values = {name: stack.enter_context(fixtures[name]()) for name in sorted(names)}
        for function in chosen:
            failed += not passes(function, values)
    print(f"{len(chosen) - failed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


def passes(function, values):
    started = time.monotonic()
    try:
        function(*(values[name] for name in inspect.signature(function).parameters))
    except Exception as error:  # also an error in the case itself
        print(f"FAIL  {function.__name__}: {type(error).__name__}: {error}", flush=True)
        return False
    print(f"ok    {function.__name__} ({time.monotonic() - started:.1f} s)", flush=True)
    return True
