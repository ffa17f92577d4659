# SPDX-License-Identifier: Apache-2.0
"""Chaos runs whose sites are jobs of private Slurm clusters, one cluster per site."""
import os
import shutil
import tempfile
from pathlib import Path

from chaos_lives import GRACE_S
from chaos_run import SITES, Federation
from harness import SHORT_FOLDER, SOURCE, execute

SCRIPT = SOURCE / "slurm/private_clusters.sh"


class Clusters:
    """The clusters A, B and C: those that private_clusters.sh has started in `folder`, or own ones."""

    def __init__(self, folder=None):
        self.own = folder is None
        # The path of munge's socket must be short.
        self.folder = folder or Path(tempfile.mkdtemp(prefix="curtail-c-", dir=SHORT_FOLDER))
        kept = {n: v for n, v in os.environ.items() if not n.startswith(("SLURM_", "SBATCH_"))}
        self.environment = {**kept, "CURTAIL_CLUSTERS": str(self.folder)}
        if self.own:
            self.script("up", *SITES)

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


class SlurmFederation(Federation):
    """Sites that the poller starts with sbatch."""

    def __init__(self, run, clusters):
        self.clusters = clusters
        for site in SITES:
            run.change_site(site, launcher={
                "script": str(SOURCE / "slurm/site_train.sh"), "grace_s": GRACE_S,
                "slurm_conf": str(clusters.configuration(site))})
        super().__init__(run)

    def signal(self, job, name):
        # The job may be over by now.
        self.clusters.run(job.site, "scancel", "--batch", f"--signal={name}", job.id, code=None)

    def end_jobs(self):
        for site in SITES:
            self.clusters.run(site, "scancel", f"--user={os.geteuid()}", code=None)
