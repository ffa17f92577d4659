# SPDX-License-Identifier: Apache-2.0
"""The files of each site in the demo over S3, made from one run file of the checkout."""
import copy
import json
import re
from pathlib import Path

COMMENT_OR_TEXT = re.compile(r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
COMMA_OR_TEXT = re.compile(r'("(?:\\.|[^"\\])*")|,(?=\s*[}\]])')


def read_json(path):
    """A JSON file with comments and trailing commas."""
    text = Path(path).read_text(encoding="utf-8")
    for pattern in (COMMENT_OR_TEXT, COMMA_OR_TEXT):
        text = pattern.sub(lambda match: match[1] or "", text)
    return json.loads(text)


class RunFiles:
    """A run file, and the model and site files that it names."""

    def __init__(self, path):
        self.path = Path(path).resolve()
        self.run = read_json(self.path)
        self.model = read_json(self._beside(self.run["model"]))
        self.sites = {}
        for name in self.run["sites"]:
            file = self._beside(name)
            site = read_json(file)
            if "prologue" in site["launcher"]:
                prologue = file.parent / site["launcher"]["prologue"]
                site["launcher"]["prologue"] = str(prologue)
            self.sites[site["site"]] = site

    def _beside(self, name):
        return (self.path.parent / name).resolve()

    @property
    def folder(self):
        return self._beside(self.run["folder"])

    @property
    def data(self):
        return self._beside(self.run["data"]["folder"])

    def write(self, folder, endpoint, script, own=None, data="data"):
        """Writes run.json and what it names into `folder`. `own` is the site to which the folder
        belongs: only its file has a launcher. The key is in the file `s3` of the folder."""
        access = {"endpoint": endpoint, "credentials": "s3"}
        names = {site: f"{site}.json" for site in self.sites}
        self._save(folder / "model.json", self.model)
        self._save(folder / "run.json", {
            **self.run, "folder": "out", "s3": access, "model": "model.json",
            "data": {**self.run["data"], "folder": str(data)}, "sites": [*names.values()]})
        for site, file in names.items():
            written = {**copy.deepcopy(self.sites[site]), "launcher": {}}
            if site == own:
                conf = f"c/{site}/slurm.conf"
                written["launcher"] = {**self.sites[site]["launcher"], "slurm_conf": conf,
                                       "script": str(script)}
                written["s3"] = access
            self._save(folder / file, written)

    @staticmethod
    def _save(path, value):
        path.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")
