# SPDX-License-Identifier: Apache-2.0
"""Private Slurm clusters for a test, and Slurm's commands."""
import contextlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from harness import SHORT_FOLDER, SOURCE, Failure, execute, expect, shared, wait_for

SCRIPT = SOURCE / "slurm/private_clusters.sh"
SITE = "A"


class HardCluster:
    """The cluster of site A, started by `private_clusters.sh up --hard`: the one that shared.py has
    started in `folder`, or an own one. Settings are named as the script's environment variables:
    kill_wait=4 sets CURTAIL_CLUSTER_KILL_WAIT."""

    def __init__(self, folder=None, **settings):
        self.own = folder is None
        # The path of munge's socket must be short.
        self.folder = folder or Path(tempfile.mkdtemp(prefix="curtail-c-", dir=SHORT_FOLDER))
        kept = {n: v for n, v in os.environ.items() if not n.startswith(("SLURM_", "SBATCH_"))}
        named = {f"CURTAIL_CLUSTER_{n.upper()}": str(v) for n, v in settings.items()}
        self.environment = {**kept, **named, "CURTAIL_CLUSTERS": str(self.folder),
                            "SLURM_CONF": str(self.folder / SITE / "slurm.conf")}

    def run(self, *command, code=0, **environment):
        """Runs a command with this cluster selected; returns its output. Its exit code must be
        `code` (None: any)."""
        command = [str(part) for part in command]
        done = subprocess.run(command, env={**self.environment, **environment}, timeout=60,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if code is not None and done.returncode != code:
            raise Failure(f"{' '.join(command)}: exit code {done.returncode}, expected {code}\n"
                          f"{done.stdout}\n{done.stderr}")
        return done.stdout

    def clusters(self, *arguments, code=0):
        return self.run(SCRIPT, *arguments, code=code)

    def submit(self, *arguments, **environment):
        """Submits a job and returns its number."""
        return self.run("sbatch", "--parsable", *arguments, **environment).strip()

    def state(self, job):
        """Slurm's word for the job's state; empty once the controller has forgotten the job."""
        shown = self.run("squeue", "--noheader", "--states=all", "--format=%i %T")
        return dict(line.split() for line in shown.splitlines()).get(job, "")

    def wait_for_state(self, job, *states, timeout=30):
        """Waits until the job is in one of the states, of which an empty one is that of a job that
        the controller has forgotten."""
        wait_for(lambda: self.state(job) in states,
                 f"job {job} in state {' or '.join(states)}", timeout, pause=0.1)

    def hold_epilog(self):
        """Keeps ending jobs in the state COMPLETING until release_epilog()."""
        (self.folder / SITE / "hooks/epilog_s").write_text("hold\n")

    def release_epilog(self):
        (self.folder / SITE / "hooks/epilog_s").write_text("0\n")

    @contextlib.contextmanager
    def closed_partition(self):
        """A partition in which jobs wait. Yields its name."""
        name = f"closed{os.getpid()}"
        self.run("scontrol", "create", f"partition={name}", "nodes=ALL", "state=down",
                 "maxtime=infinite")
        try:
            yield name
        finally:
            self.run("scontrol", "update", f"partition={name}", "state=up")

    def up(self):
        self.clusters("up", "--hard", SITE)

    def down(self):
        self.clusters("down")
        expect(not self.folder.exists() or not any(self.folder.iterdir()), "`down` left files")
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        if self.own:
            self.up()
        return self

    def __exit__(self, *_):
        if self.own:
            self.down()


# Jobs of many cases run side by side, most of them waiting. Slurm starts no job on a node on which
# another one ends, so there are many nodes.
SHARED_SETTINGS = {"cpus": 8, "nodes": 12, "kill_wait": 60, "epilog": 0}
LONE_SETTINGS = {"kill_wait": 10, "epilog": 0, "grace": 4}


@contextlib.contextmanager
def shared_cluster():
    """A cluster for several cases at a time. Each changes only its own jobs and partitions."""
    with HardCluster(shared("cluster"), **SHARED_SETTINGS) as found:
        yield found


@contextlib.contextmanager
def lone_cluster():
    """A cluster for one case at a time, which may stop its controller or fill its nodes."""
    with HardCluster(shared("lone_cluster"), **LONE_SETTINGS) as found:
        yield found


class Clusters:
    """A cluster per site: those that private_clusters.sh has started in `folder`, or own ones."""

    def __init__(self, sites, folder=None):
        self.own = folder is None
        # The path of munge's socket must be short.
        self.folder = folder or Path(tempfile.mkdtemp(prefix="curtail-c-", dir=SHORT_FOLDER))
        kept = {n: v for n, v in os.environ.items() if not n.startswith(("SLURM_", "SBATCH_"))}
        self.environment = {**kept, "CURTAIL_CLUSTERS": str(self.folder)}
        if self.own:
            self.script("up", *sites)

    def script(self, *arguments):
        execute(SCRIPT, *arguments, environment=self.environment)

    def configuration(self, site):
        return self.folder / site / "slurm.conf"

    def run(self, site, *command, code=0):
        environment = {**self.environment, "SLURM_CONF": str(self.configuration(site))}
        return execute(*command, code=code, environment=environment)

    def close(self):
        if self.own:
            self.script("down")
            shutil.rmtree(self.folder, ignore_errors=True)
