# SPDX-License-Identifier: Apache-2.0
"""Rows of bench/bench_rounds.py about real sites: two or three processes of one rank each
and a tiny model, on this machine. The times come from the events and steps that the sites log."""
import datetime
import re
import sys
from collections import Counter

from common import SOURCE  # before harness, which clears variables that common reads

sys.path.insert(0, str(SOURCE / "tests/system"))
from harness import SmallRun, wait_for  # noqa: E402
from object_storage import ObjectStorage, StoredRun  # noqa: E402

SITES = ("A", "B", "C")


def moment(line):
    return datetime.datetime.fromisoformat(line["time"].replace("Z", "+00:00")).timestamp()


# Join: from the second site's request to join until both train from the same model.

JOIN_ROUNDS = {"poll_run_lone_s": 1, "round_time_s": 20, "checkpoint_interval_s": 20,
               "first_base_wait_s": 10}


def first_step_after(run, site, time):
    """When the site's first step that begins at `time` or later has begun."""
    begins = [moment(line) - line["step_s"] for line in run.metrics(site)]
    # `time` is logged in milliseconds.
    return min((begin for begin in begins if begin >= time - 0.002), default=None)


def asked_to_join(run, commit):
    """When the site began to create the commit that admits it. A store in a folder writes a
    temporary file, then links it. So the file's time is that of the request, not of its success."""
    return (run.store / f"commits/{commit:08}.json").stat().st_mtime


def time_to_join():
    with SmallRun(ranks=1, rounds=JOIN_ROUNDS) as run:
        run.start_training("A", ranks=1)
        wait_for(lambda: len(run.metrics("A")) > 20, "site A trains")
        run.start_training("B", ranks=1)
        event = wait_for(lambda: run.events("B", "joined"), "B joins")[0]
        joined, asked = moment(event), asked_to_join(run, event["commit"])
        base = wait_for(lambda: run.metrics("B"), "B trains", 60)[0]["round"]

        def both():
            own = [e for e in run.events("A", "adopted") if e["round"] == base]
            begins = own and (first_step_after(run, "A", moment(own[0])),
                              first_step_after(run, "B", joined))
            return begins if begins and None not in begins else None
        begins = wait_for(both, "both train from the model of B", 60)
        step = max(line["step_s"] for line in run.metrics("A"))
        return max(begins) - asked, JOIN_ROUNDS["poll_run_lone_s"] + step + 1


def join():
    """From a second site's request to join until the first steps of both sites from the same model
    begin, for a small model and a store in a folder: (poll_run_lone + one step + 1 s) / this time.
    The request is the one that succeeds: the creation of the commit that admits the site. The
    transfers count too, although the limit leaves them out."""
    found = [time_to_join() for _ in range(3)]
    return {"what": "second site joins: (poll_run_lone + step + 1 s) / Curtail", "unit": "s",
            "a": [limit for _, limit in found], "b": [taken for taken, _ in found], "at_least": 1}


# Requests: what each site asks the S3 server in a round.

REQUEST_ROUNDS = {"round_time_s": 20, "checkpoint_interval_s": 20, "poll_run_s": 1,
                  "poll_run_lone_s": 1, "poll_run_starved_s": 1, "poll_wait_s": 0.0667,
                  "gather_time_s": 1, "lease_s": 4, "first_base_wait_s": 6, "status_interval_s": 2,
                  "repair_wait_s": 4, "skew_s": 2}
# For a site and round, with three sites: reads of the next commit, 20 while it trains and 20 while
# it waits; a header, a lease, a delta and a model; the next amendment; 10 looks for requests to
# repair; 10 writes of its status. The merging site also reads 10 headers and 2 deltas, and writes a
# model and a commit, and deletes 6 objects.
COUNTED = 20 + 20 + 4 + 1 + 10 + 10 + (10 + 2 + 2 + 6) / len(SITES)
ACCESS = re.compile(r"beast: \S+: \S+ - (\S+) \[(\S+) \S+\] \"(\S+) \S*?/runs/small/([^/ ?]+)")


def accesses(storage):
    """The requests in the log of the gateway: (user, time, method and kind of object)."""
    for line in (storage.folder / "log/client.rgw.log").read_text(errors="replace").splitlines():
        found = ACCESS.search(line)
        if found:
            user, time, method, kind = found.groups()
            parsed = datetime.datetime.strptime(time, "%d/%b/%Y:%H:%M:%S.%f")
            yield user, parsed.replace(tzinfo=datetime.timezone.utc).timestamp(), f"{method} {kind}"


def requests_of_rounds(rounds):
    with ObjectStorage(SITES) as storage, \
            StoredRun(storage, sites=SITES, ranks=1, rounds=REQUEST_ROUNDS,
                      training={"step_at_least_s": 0.2}) as run:
        for site in SITES:
            run.start_training(site, ranks=1)

        def merges():
            found = {e["commit"]: moment(e) for s in SITES for e in run.events(s, "merged")
                     if e["sites"] == len(SITES)}
            return sorted(found.values()) if len(found) > rounds else None
        times = wait_for(merges, f"{rounds} rounds", 60 + 30 * rounds, pause=0.5)
        counts = Counter((user, kind) for user, time, kind in accesses(storage)
                         if times[0] <= time < times[rounds])
    return {site: {kind: count / rounds for (user, kind), count in sorted(counts.items())
                   if user == site} for site in SITES}


def requests():
    """Requests of a site in a round of three sites, from the log of a Ceph gateway that knows each
    site by its key. All times are a thirtieth of the defaults. Counts: what the protocol should
    need (COUNTED in bench/rows/site_rows.py) plus the measured pieces of the journal / the mean
    over the sites."""
    found = requests_of_rounds(3)
    totals = [sum(kinds.values()) for kinds in found.values()]
    journal = [sum(count for kind, count in kinds.items() if kind.endswith(" journal"))
               for kinds in found.values()]
    return {"what": "requests of a site in a round: counted / made", "unit": "requests",
            "a": [COUNTED + sum(journal) / len(SITES)], "b": [sum(totals) / len(SITES)],
            "at_least": 1, "by_site": found}
