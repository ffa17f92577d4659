# SPDX-License-Identifier: Apache-2.0
"""A WattTime server on a loopback port for a live poller: tests/support/watttime_server.py."""
import json
import subprocess
import sys
import tempfile
import urllib.parse
import urllib.request
from pathlib import Path

from harness import SOURCE


class WattTimeDouble:
    """The server knows one account, and the region CAISO_NORTH."""

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="curtail-watttime-")
        password = Path(self.folder.name) / "password"
        password.write_text("tr0ub4dor-and-3")
        self.credentials = Path(self.folder.name) / "account.json"
        self.credentials.touch(0o600)
        self.credentials.write_text(
            json.dumps({"username": "alice", "password": password.read_text()}))
        self.server = subprocess.Popen(
            [sys.executable, SOURCE / "tests/support/watttime_server.py", "--password-file",
             password], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.url = f"http://127.0.0.1:{int(self.server.stdout.readline())}"
        return self

    def __exit__(self, *_):
        self.server.stdin.close()  # ends the server
        self.server.wait(timeout=30)
        self.server.stdout.close()
        self.folder.cleanup()

    @property
    def poller_options(self):
        """Options that make curtail-poll query this server."""
        return ["--watttime", "--watttime-url", self.url, "--credentials", self.credentials]

    def control(self, **settings):
        """Sets the server's behaviour, e.g. fault="slow", times=1."""
        self._get("/_control?" + urllib.parse.urlencode(settings))

    def queries(self):
        """The number of requests for values so far."""
        return sum(r["path"].startswith("/v3/") for r in json.loads(self._get("/_requests")))

    def _get(self, path):
        with urllib.request.urlopen(self.url + path, timeout=10) as answer:
            return answer.read()
