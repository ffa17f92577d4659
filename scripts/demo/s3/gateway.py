# SPDX-License-Identifier: Apache-2.0
"""The private S3 server of the demo: one user per site, and one bucket with a policy."""
import json
import os
import subprocess
import sys
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(SCRIPTS), str(SCRIPTS / "rgw")]
import bucket_policy  # noqa: E402
import s3  # noqa: E402


class Gateway:
    def __init__(self, folder):
        self.folder = folder

    def _call(self, *arguments):
        subprocess.run([str(part) for part in (SCRIPTS / "rgw.sh", *arguments)], check=True,
                       stdin=subprocess.DEVNULL, start_new_session=True)

    def up(self, users):
        """Starts the server. It stops when this process ends, however it ends."""
        self._call("up", "--disk", "--while", os.getpid(), self.folder)
        for user in users:
            self._call("user", user, self.folder)

    def down(self):
        self._call("down", self.folder)

    @property
    def endpoint(self):
        return (self.folder / "endpoint").read_text().strip()

    def credentials(self, user):
        return self.folder / f"{user}.credentials"

    def secrets(self):
        """The secret keys of all users."""
        return [s3.read_keys(file)[1] for file in self.folder.glob("*.credentials")]

    def create_bucket(self, run, sites):
        """Creates the bucket of a run file's store, with the policy for these sites."""
        arn = "arn:aws:iam:::user/{}".format
        policy = bucket_policy.policy(run["store"], run["run"], arn("owner"),
                                      {site: arn(site) for site in sites})
        bucket = "/" + run["store"].removeprefix("s3://").split("/")[0]
        keys = s3.read_keys(self.credentials("owner"))
        s3.request(self.endpoint, keys, "PUT", bucket)
        s3.request(self.endpoint, keys, "PUT", bucket, {"policy": ""}, json.dumps(policy).encode())
