# SPDX-License-Identifier: Apache-2.0
"""Chaos runs whose sites are jobs of private Slurm clusters, one cluster per site."""
import os

from chaos_lives import GRACE_S
from chaos_run import SITES, Federation
from harness import SOURCE


class SlurmFederation(Federation):
    """Sites that the poller starts with sbatch."""

    def __init__(self, run, clusters, *arguments):
        self.clusters = clusters
        for site in SITES:
            run.change_site(site, launcher={
                "script": str(SOURCE / "slurm/site_train.sh"), "grace_s": GRACE_S,
                "slurm_conf": str(clusters.configuration(site)), "failures_before_hold": 1000})
        super().__init__(run, *arguments)

    def signal(self, job, name):
        # The job may be over by now.
        self.clusters.run(job.site, "scancel", "--batch", f"--signal={name}", job.id, code=None)

    def end_jobs(self):
        for site in SITES:
            self.clusters.run(site, "scancel", f"--user={os.geteuid()}", code=None)
