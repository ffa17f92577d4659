# SPDX-License-Identifier: Apache-2.0
"""Two sites exchange payloads over MPI. Then processes of one of them die or hang, or the sites
cannot connect: every round goes on over the store.

mpi_test.py [NAME...]   the tests, or those with these names
mpi_test.py --seeds N-M for each number, breaks one process at a moment that depends on it"""
import argparse
import contextlib
import json
import random
import signal
import socket
import subprocess
import sys
import time

from harness import alive, case, execute, expect, kill, main, program, wait_for
from mpi_sites import SITES, TwoSites, wait_for_transfer
from slurm_clusters import shared_cluster

PATIENCE_S = 5  # after so long without progress, a transfer has failed
PAYLOAD = 8_000_000


@case(seconds=11)
def payloads_come_over_mpi(cluster):
    with TwoSites(cluster) as two:
        two.wait_for_mpi()
        two.wait_for_merges(3)
        for site, other in zip(SITES, reversed(SITES)):
            expect(f"exchanges payloads with {other} (" in two.log(), f"no message of {site}")
            metrics = [line for line in two.run.metrics(site) if line.get("mpi_bytes", 0) > 0]
            expect(metrics and "store_bytes" in metrics[0], "metrics.jsonl has no bytes over MPI")
        for site in two.status()["sites"]:
            expect(site["payloads_read"]["mpi_bytes"] > 0, site)
        two.end()
        # The store's payloads give each merge again: those that came by MPI were the same.
        done = execute(program("curtail-status"), two.run.run_file, "--verify", "--json")
        merges = [m for m in json.loads(done.stdout)["models"] if "lone site" not in m["why"]]
        expect(len(merges) >= 3 and all(m["recomputed"] for m in merges), merges)
        execute(program("curtail-report"), two.run.run_file)
        report = json.loads((two.run.out / "report.json").read_text())
        expect(sum(r["mpi_bytes"] or 0 for r in report["rounds"]) > PAYLOAD, report["rounds"])


def break_and_go_on(cluster, source, name, how, in_transfer):
    """Breaks a process of one site. The other site completes every round in time."""
    with TwoSites(cluster) as two:
        wait_for(lambda: all(two.leader(site) for site in SITES), "both leaders", 30)
        site = source.choice(SITES)
        other = "B" if site == "A" else "A"
        if in_transfer:
            two.wait_for_mpi()
            wait_for_transfer(source.randrange(PAYLOAD))
        else:  # while they meet, connect and begin
            time.sleep(source.uniform(0, 3))
        # It may not have started yet, and only the older member has an ompi-server.
        victims = wait_for(lambda: two.processes(site, name) or two.processes(other, name), name)
        if victims[0] in two.processes(other, name):
            site, other = other, site
        kill(victims[0], how)
        moment = time.monotonic()
        whole_site = name in ("curtail-train", "mpirun")
        if whole_site:
            two.wait_for_commits(2)
        else:
            two.wait_for_merges(3)
        took = time.monotonic() - moment
        if name == "curtail-bridge":
            # Nothing comes over this connection any more, and both sites say why. But a bridge that
            # was killed while it started is started once more.
            def both_warn():
                return len(two.warnings()) >= 2
            wait_for(lambda: both_warn() or not in_transfer and
                     all(two.read(site, "mpi") > 0 for site in SITES),
                     "warnings of both sites, or another bridge", 30)
            for broken in SITES if both_warn() else ():
                read = two.run.events(broken, "payloads-read")
                expect(any(e["store_bytes"] > 0 and e["why_store"] for e in read), read)
        # A fetch that hangs costs the patience, once for each site.
        expect(took < 2 * PATIENCE_S + 15, f"{took:.1f} s until the next commits")
        if how == signal.SIGSTOP:
            kill(victims[0], signal.SIGCONT)
        if whole_site and how == signal.SIGKILL:
            wait_for(lambda: not two.is_queued(site), f"the end of the job of {site}", 30)
            two.end(other, leaves_folder=True)
        else:
            two.end()


@case(seconds=10)
def killed_bridge_costs_no_round(cluster):
    break_and_go_on(cluster, random.Random(0), "curtail-bridge", signal.SIGKILL, True)


@case(seconds=10)
def killed_mpirun_of_a_bridge_costs_no_round(cluster):
    break_and_go_on(cluster, random.Random(1), "bridge-mpirun", signal.SIGKILL, True)


@case(seconds=11)
def stopped_bridge_costs_no_round(cluster):
    break_and_go_on(cluster, random.Random(2), "curtail-bridge", signal.SIGSTOP, True)


@case(seconds=11)
def stopped_mpirun_of_a_bridge_costs_no_round(cluster):
    break_and_go_on(cluster, random.Random(3), "bridge-mpirun", signal.SIGSTOP, True)


@case(seconds=15)
def killed_site_comes_back_and_connects_again(cluster):
    with TwoSites(cluster) as two:
        two.wait_for_mpi()
        bridges = two.processes("B", "curtail-bridge") + two.processes("B", "bridge-mpirun")
        expect(len(bridges) == 2, bridges)
        kill(two.leader("B"))
        wait_for(lambda: not any(alive(pid) for pid in bridges), "the end of B's bridges", 20)
        two.wait_for_commits(1)
        # B comes back as another member. It removes what its killed process has left.
        wait_for(lambda: not two.is_queued("B"), "the end of B's job", 30)
        read = two.read("B", "mpi")
        two.start("B")
        wait_for(lambda: two.read("B", "mpi") > read, "payloads over MPI again", 60)
        two.end()


@contextlib.contextmanager
def taken_ports(count=16):
    """A range of ports at which nobody else can listen."""
    for first in range(23000, 30000, count):
        with contextlib.ExitStack() as taken:
            try:
                for port in range(first, first + count):
                    taken.enter_context(socket.create_server(("0.0.0.0", port)))
            except OSError:
                continue
            yield f"{first}-{first + count - 1}"
            return
    raise AssertionError("no free ports")


@case(seconds=18)
def sites_that_cannot_connect_use_the_store(cluster):
    far = {"peers": ["10.9.0.0/16"]}
    with taken_ports() as ports:
        for changes, why in (
                ({"A": {"interface": "no0"}},
                 "no network interface no0; set mpi.interface to one of:"),
                ({"A": far, "B": far}, "in no network of mpi.peers"),
                ({"A": {"ports": ports}}, "listen at no two ports of")):
            with TwoSites(cluster, **changes) as two:
                two.wait_for_merges(1)
                found = wait_for(two.warnings, f"a warning for {changes}", 60)
                expect(any(why in line for line in found), found)
                expect(all(two.read(site, "mpi") == 0 for site in SITES), "payloads came over MPI")
                two.end()


@contextlib.contextmanager
def running_checks(two, sites=SITES):
    checks = [subprocess.Popen([program("curtail-train"), "--mpi-check", two.run.run_file, "--site",
                                site], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
              for site in sites]
    try:
        yield checks
    finally:
        for check in checks:
            if check.poll() is None:
                check.kill()
                check.communicate()


@case(seconds=11)
def check_tries_the_connection(cluster):
    with TwoSites(cluster, start=False) as two, running_checks(two) as checks:
        for site, other, check in zip(SITES, reversed(SITES), checks):
            out, errors = check.communicate(timeout=60)
            expect(check.returncode == 0, errors)
            for text in (f"site       {site} on ", "interface  lo, ports 22000-22900",
                         "Open MPI v4", "MPI_THREAD_", f"other end  {other} on ",
                         "received   64 MB at ", "sent       64 MB at ",
                         f"{site} and {other} exchange payloads over MPI"):
                expect(text in out, (text, out))
        expect(not list(two.run.store.glob("mpi/check/*.json")), "the checks left records")
    with TwoSites(cluster, start=False) as two, running_checks(two, SITES[:1]) as (check,):
        wait_for(lambda: list(two.run.store.glob("mpi/check/*.json")), "the record of the check")
        check.send_signal(signal.SIGINT)
        out, errors = check.communicate(timeout=20)
        expect(check.returncode == 130 and "it was stopped" in errors, (check.returncode, errors))
        expect(not list(two.run.store.glob("mpi/check/*.json")), "the check left a record")
    for changes, why in (({"connect": "off"}, "mpi.connect is off in the file of site A"),
                         ({"interface": "no0"}, "no network interface no0")):
        with TwoSites(cluster, start=False, A=changes) as two, running_checks(two) as checks:
            out, errors = checks[0].communicate(timeout=30)
            expect(checks[0].returncode == 69 and not out, (checks[0].returncode, out))
            expect(why in errors and "this site would use the store" in errors, errors)
            if "interface" in changes:
                _, errors = checks[1].communicate(timeout=30)
                expect(checks[1].returncode == 69 and "the check of A has ended" in errors, errors)


def seeded(cluster, seed):
    """Seeds up to 100 kill a process, half of them in a transfer; others stop one in a transfer."""
    source = random.Random(seed)
    kills = seed <= 100
    names = ["curtail-train", "curtail-bridge", "bridge-mpirun", "ompi-server"]
    if kills:
        names.append("mpirun")
    name, how = source.choice(names), signal.SIGKILL if kills else signal.SIGSTOP
    in_transfer = not kills or seed % 2 == 0
    print(f"seed {seed}: {how.name} of {name}{' in a transfer' if in_transfer else ''}", flush=True)
    break_and_go_on(cluster, source, name, how, in_transfer)


def parse_seeds():
    """The numbers of --seeds N-M. Only the names of cases stay on the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", metavar="N-M")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    sys.argv[1:] = options.names
    first, last = map(int, (options.seeds or "1-0").split("-"))
    return range(first, last + 1)


if __name__ == "__main__":
    seeds = parse_seeds()
    if seeds:
        with shared_cluster() as own:
            for seed in seeds:
                seeded(own, seed)
    else:
        main(cluster=shared_cluster)
