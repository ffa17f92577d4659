# SPDX-License-Identifier: Apache-2.0
"""Somebody edits what a finished run's bill is computed from. The bill stays the same, or says where
it cannot be trusted. An auditor computes it with Python alone."""
import hashlib
import json
import shutil

from harness import case, execute, expect, main, program
from journal_test import Owners


def canonical(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def forge(folder, change):
    """Changes the lines of a stream, and computes all digests of its pieces again. Needs no key."""
    previous, begin = None, 0
    for path in sorted(folder.iterdir()):
        header, content = path.read_bytes().split(b"\n", 1)
        header, content = json.loads(header), change(content)
        end = begin + len(content)
        header.update({"previous": previous, "from": begin, "to": end,
                       "sha256": hashlib.sha256(content).hexdigest()})
        del header["self"]
        header["self"] = hashlib.sha256(canonical(header).encode()).hexdigest()
        piece = canonical(header).encode() + b"\n" + content
        path.chmod(0o644)
        path.write_bytes(piece)
        previous, begin = hashlib.sha256(piece).hexdigest(), end


def notes(report, title):
    return [text for found, text in report["notes"] if found == title]


class FinishedRun(Owners):
    """The run of two owners after its end. Nobody has local files any more."""

    def __enter__(self):
        self.replay()
        for owner in "AB":
            shutil.rmtree(self.out(owner))
        return self

    def report(self, *options):
        shutil.rmtree(self.out("nobody"), ignore_errors=True)
        return super().report("nobody", *options)

    def edit_site(self, **changes):
        path = self.run.folder / "site_A.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))

    def other_trace(self):
        """The trace of the run with a tenth of all values."""
        lines = (self.run.folder / "trace.csv").read_text().splitlines()
        rows = [line.split(",") for line in lines[1:]]
        path = self.run.folder / "tenth.csv"
        path.write_text("\n".join([lines[0]] + [
            ",".join([row[0], *(str(float(value) / 10) for value in row[1:])]) for row in rows]))
        return path


def check_settings(run, before):
    """Finding 4: the site files of today do not change the past."""
    site = (run.run.folder / "site_A.json").read_text()
    power = {"idle_kw": 0.2, "training_kw": 1, "pue": 1, "between_jobs": "released"}
    for changes in ({"power": power}, {"region": "B"}, {"signal_max_age_s": 100000},
                    {"window": {"open_below_gco2_per_kwh": 900, "close_above_gco2_per_kwh": 900}}):
        run.edit_site(**changes)
        report = run.report()
        expect(report["headline"] == before["headline"], f"{changes}: {report['headline']}")
        expect(len(notes(report, "Settings differ")) == 1, f"{changes}: {report['notes']}")
        second = run.report("--recalculate", "today")
        expect(second["headline"] == before["headline"], f"{changes}: {second['headline']}")
        expect(second["audit"]["recalculated"]["name"] == "today", f"{second['audit']}")
        (run.run.folder / "site_A.json").write_text(site)


def check_trace(run, before):
    """Finding 3: another trace makes a second bill, not another one."""
    own = run.report("--trace", run.run.folder / "trace.csv")
    expect(own["audit"]["recalculated"] is None, f"{own['audit']}")
    expect(own["headline"]["co2_kg"] == before["headline"]["co2_kg"], f"{own['headline']}")
    report = run.report("--trace", run.other_trace())
    expect(report["headline"]["co2_kg"] == before["headline"]["co2_kg"], f"{report['headline']}")
    second = report["audit"]["recalculated"]
    tenth = before["headline"]["co2_kg"] / 10
    expect(abs(second["headline"]["co2_kg"] - tenth) < 1e-10, f"{second}")
    expect(second["differing_samples"] == second["samples"] > 20, f"{second}")
    line = next(line["text"] for line in report["audit"]["lines"] if line["key"] == "recalculated")
    expect('"tenth.csv" is no record of the run' in line, line)


def check_forgery(run, before):
    """Finding 2: a forged journal contradicts the commits."""
    digest = before["audit"]["run_digest"]
    report = program("curtail-report"), run.run_file("nobody"), "--out", run.run.folder / "x.html"
    execute(*report, "--expect", digest, "--plotly", run.run.folder / "plotly.js")
    for site in "AB":
        forge(run.run.store / f"journal/{site}/trainer",
              lambda content: content.replace(b'"state":"training"', b'"state":"idle"'))
    forged = run.report()
    found = notes(forged, "Damaged journal")
    expect(len(found) == 2 and all("journal/" in text and "with lines from" in text
                                   for text in found), f"{found}")
    headline = forged["headline"]
    expect(headline["co2_kg"] is None and not headline["energy_is_whole"], f"{headline}")
    done = execute(program("curtail-status"), run.run_file("nobody"), "--verify", code=76)
    expect("names another piece" in done.stderr, done.stderr)
    shutil.rmtree(run.out("nobody"))
    done = execute(*report, "--expect", digest, code=76)
    expect("the run is not the expected one" in done.stderr, done.stderr)


def check_evidence(run, before):
    folder = run.run.folder / "evidence"
    report = run.report("--evidence", folder)
    expect(report["headline"] == before["headline"], f"{report['headline']}")
    done = execute("/usr/bin/python3", "-I", folder / "recompute.py")
    expect("/co2_kg" in done.stdout and "differs" not in done.stderr, done.stdout)
    execute("sha256sum", "--check", "--quiet", "digests.txt", cwd=folder)


@case(seconds=30, fifths=2)
def edits_of_a_finished_run_leave_a_mark():
    with FinishedRun() as run:
        before = run.report()
        expect(before["headline"]["co2_kg"] > 0 and before["headline"]["energy_is_whole"],
               f"{before['headline']}")
        tail = before["audit"]["tail"]
        fixed = tail["fixed"]["energy_kwh"]
        expect(0 < fixed < before["headline"]["energy_kwh"], f"{tail}")
        difference = before["headline"]["energy_kwh"] - fixed
        expect(difference <= sum(site["kwh"] for site in tail["sites"].values()) + 1e-9, f"{tail}")
        check_evidence(run, before)
        check_settings(run, before)
        check_trace(run, before)
        check_forgery(run, before)


if __name__ == "__main__":
    main()
