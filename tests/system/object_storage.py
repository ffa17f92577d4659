# SPDX-License-Identifier: Apache-2.0
"""A private S3 server, and small runs that keep their objects in it."""
import contextlib
import json
import os
import shutil
import sys
import tempfile
import urllib.error
import xml.etree.ElementTree
from pathlib import Path

from harness import PACED, SOURCE, SmallRun, execute, shared

sys.path.insert(0, str(SOURCE / "scripts/rgw"))
import s3  # noqa: E402

SCRIPT = SOURCE / "scripts/rgw.sh"


class ObjectStorage:
    """The RADOS Gateway, with the bucket `runs` and one user for each site: the one that was
    started in `folder`, or an own one."""

    def __init__(self, sites=("A", "B"), folder=None):
        self.sites, self.folder, self.parent = sites, folder, None
        if folder is None:
            self.parent = Path(tempfile.mkdtemp(prefix="curtail-rgw-"))
            self.folder = self.parent / "rgw"
            self.start(self.folder, sites)
        self.endpoint = (self.folder / "endpoint").read_text().strip()

    @staticmethod
    def start(folder, sites=("A", "B"), pid=os.getpid()):
        """Starts it in `folder`. It ends with the process `pid`."""
        execute(SCRIPT, "up", "--while", pid, folder)
        for site in sites:
            execute(SCRIPT, "user", site, folder)
        execute(SCRIPT, "bucket", "runs", folder, *sites)

    def add_bucket(self, name, users=None):
        execute(SCRIPT, "bucket", name, self.folder, *(users or self.sites))

    def add_user(self, name):
        execute(SCRIPT, "user", name, self.folder)

    def remove_bucket(self, name):
        for key in self.list("", name):
            self.request("DELETE", f"/{name}/{key}")
        # To delete a bucket, the gateway needs a lock of its lifecycle thread. A killed gateway
        # leaves this lock locked for up to 90 s.
        self.request("DELETE", "/" + name, timeout_s=120)

    def credentials(self, user="owner"):
        return self.folder / f"{user}.credentials"

    def rotate_key(self, user):
        """Replaces a user's key. Returns the path of the new credentials, which no one uses yet."""
        execute(SCRIPT, "rotate", user, self.folder)
        return self.folder / f"{user}.rotated"

    def gateway(self, action):
        execute(SCRIPT, "gateway", action, self.folder)

    def request(self, method, path, query=None, body=b"", timeout_s=20):
        return s3.request(self.endpoint, s3.read_keys(self.credentials()), method, path, query,
                          body, timeout_s)

    def list(self, prefix, bucket="runs"):
        """All keys that begin with `prefix`, in order."""
        return list(self.list_with_times(prefix, bucket))

    def list_with_times(self, prefix, bucket="runs"):
        """The time of last modification of each key that begins with `prefix`, by key, in order."""
        keys, token = {}, None
        while True:
            query = {"list-type": "2", "prefix": prefix}
            if token:
                query["continuation-token"] = token
            page = xml.etree.ElementTree.fromstring(self.request("GET", "/" + bucket, query))
            space = page.tag.partition("}")[0] + "}"
            keys |= {item.findtext(space + "Key"): item.findtext(space + "LastModified")
                     for item in page.iter(space + "Contents")}
            token = page.findtext(space + "NextContinuationToken")
            if not token:
                return keys

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.parent is not None:
            execute(SCRIPT, "down", self.folder)
            shutil.rmtree(self.parent, ignore_errors=True)


@contextlib.contextmanager
def shared_storage():
    """An S3 server for several cases at a time. Each changes nothing but its own objects, or users
    and buckets that it has added."""
    with ObjectStorage(folder=shared("storage")) as found:
        yield found


class StoredRun(SmallRun):
    """A small run in a bucket of an ObjectStorage. Each site has a key of its own: that of the user
    with its name, or of `users[site]`. Only one rank uses the store, so a site has no other."""

    number = 0

    def __init__(self, storage, bucket="runs", users=None, training=PACED, **options):
        super().__init__(ranks=1, training=training, **options)
        StoredRun.number += 1
        self.storage, self.bucket = storage, bucket
        self.prefix = f"test-{os.getpid()}-{StoredRun.number}"
        self.store_folder.rmdir()
        self.config["store"] = f"s3://{bucket}/{self.prefix}"
        self.config["s3"] = {"endpoint": storage.endpoint,
                             "credentials": str(storage.credentials())}
        self.save()
        for name in self.config["sites"]:
            site = json.loads((self.folder / name).read_text())
            user = (users or {}).get(site["site"], site["site"])
            site["s3"] = {"credentials": str(storage.credentials(user))}
            self.write(name, site)

    def objects(self, below):
        """The keys below runs/small/, for example those of `commits/`."""
        return self.storage.list(f"{self.prefix}/runs/small/{below}", self.bucket)

    def read(self, key):
        return self.storage.request("GET", f"/{self.bucket}/{key}")

    def pieces(self, site, stream):
        return [self.read(key) for key in self.objects(f"journal/{site}/{stream}/")]

    def commits(self):
        try:
            return [json.loads(self.read(key)) for key in self.objects("commits/")]
        except (OSError, urllib.error.URLError):  # the gateway is down
            return []
