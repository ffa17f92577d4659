# SPDX-License-Identifier: Apache-2.0
"""Sites train. NumPy recomputes each merge from the stored payloads, read with h5py, and must find
the same bits."""
import hashlib
import json
import signal
import struct

import h5py
import numpy

from harness import (SmallRun, case, descendants, execute, expect, is_rank, kill, main, program,
                     wait_for)

ETA, MU = 0.7, 0.9
AMENDED_ETA, AMENDED_MU = 0.4, 0.6
KEPT = 60
MERGES = 3  # of two contributions with unequal scales


def float32(bits):
    return numpy.float32(struct.unpack(">f", bytes.fromhex(bits))[0])


def checked(run, part):
    """The tensors of a payload, by name. Its digest must be the recorded one."""
    path = run.store / part["name"]
    expect(hashlib.sha256(path.read_bytes()).hexdigest() == part["sha256"], f"digest of {path}")
    tensors = {}
    with h5py.File(path) as file:
        file.visititems(lambda name, item: tensors.update({name: item[...]})
                        if isinstance(item, h5py.Dataset) else None)
    return tensors


def included(commit):
    return [d for d in commit["decided"]
            if d["outcome"] == "included" and d["tokens"] > 0 and not d["inline"]]


def delta(run, decided):
    name = run.store / f"contrib/{decided['member']}/{decided['seq']}.json"
    text = name.read_bytes()
    expect(hashlib.sha256(text).hexdigest() == decided["header_sha256"], f"digest of {name}")
    return checked(run, json.loads(text)["parts"][0])


def expect_same_bits(found, wanted, what):
    expect(found.keys() == wanted.keys(), f"{what}: {found.keys() ^ wanted.keys()}")
    for name, values in found.items():
        expect(values.dtype == numpy.float32 == wanted[name].dtype, f"{what}: type of {name}")
        expect(values.tobytes() == wanted[name].tobytes(), f"{what}: {name} differs")


def averaged(run, commit, shapes):
    """g, summed in the order of the record, in fp32."""
    scaled = [(float32(d["scale"]), delta(run, d)) for d in included(commit)]
    g = {name: numpy.zeros_like(values) for name, values in shapes.items()}
    for scale, values in scaled:
        for name in g:
            g[name] = g[name] + scale * values[name]
    return g


def check_average(run, parent, commit):
    theta = checked(run, parent["model"]["parts"][0])
    g = averaged(run, commit, theta)
    expect_same_bits({name: theta[name] - g[name] for name in g},
                     checked(run, commit["model"]["parts"][0]), f"model {commit['round']}")


def check_nesterov(run, parent, commit, eta=ETA, mu=MU):
    eta, mu = numpy.float32(eta), numpy.float32(mu)
    theta = checked(run, parent["model"]["parts"][0])
    g = averaged(run, commit, theta)
    before = (checked(run, parent["outer"]["parts"][0]) if parent["outer"]
              else {name: numpy.zeros_like(values) for name, values in theta.items()})
    m = {name: mu * before[name] + g[name] for name in g}
    expect_same_bits(m, checked(run, commit["outer"]["parts"][0]), f"momentum {commit['round']}")
    stepped = {name: theta[name] - eta * (g[name] + mu * m[name]) for name in g}
    expect_same_bits(stepped, checked(run, commit["model"]["parts"][0]),
                     f"model {commit['round']}")


def unequal(commit):
    return len({d["scale"] for d in included(commit)}) > 1


def start(run, sites, outer):
    run.config["outer"] = outer
    run.save()
    return [run.start_training(site) for site in sites]


def stop(jobs):
    for rank in [pid for job in jobs for pid in descendants(job.pid) if is_rank(pid)]:
        kill(rank, signal.SIGTERM)
    for job in jobs:
        expect(job.wait(timeout=60) == 0, f"exit code {job.returncode}")


def merges_of_two_sites(outer, check):
    with SmallRun(ranks=1, rounds={"keep_models": KEPT}) as run:
        jobs = start(run, "AB", outer)
        wait_for(lambda: sum(map(unequal, run.commits())) >= MERGES, f"{MERGES} merges", timeout=90)
        stop(jobs)
        commits = run.commits()
        checked_merges = 0
        for parent, commit in zip(commits, commits[1:]):
            if included(commit):
                check(run, parent, commit)
                checked_merges += unequal(commit)
        expect(checked_merges >= MERGES, f"checked only {checked_merges} merges")
        check_verification(run, commits)


def check_verification(run, commits):
    """`--verify` must recompute the same merges, as NumPy."""
    verify = (program("curtail-status"), run.run_file, "--verify")
    merges = [commit["number"] for commit in commits if included(commit)]
    models = json.loads(execute(*verify, "--json").stdout)["models"]
    recomputed = [model["commit"] for model in models if model["recomputed"]]
    expect(recomputed == merges, f"recomputed {recomputed} instead of {merges}: {models}")
    shown = execute(program("curtail-store"), "verify", run.run_file).stdout
    expect(f"models    {len(merges)} recomputed with the same bits" in shown, shown)


@case(seconds=4)
def merges_by_average_equal_numpy():
    merges_of_two_sites({"kind": "average"}, check_average)


@case(seconds=4)
def merges_with_nesterov_momentum_equal_numpy():
    merges_of_two_sites({"kind": "nesterov", "eta": ETA, "mu": MU}, check_nesterov)


def outer_steps(run):
    """The merges that took the outer step, each with its parent, in two lists: those under the
    first terms, and those under amended ones."""
    commits = run.commits()
    pairs = [pair for pair in zip(commits, commits[1:]) if pair[1]["outer_step"]]
    return ([pair for pair in pairs if not pair[0]["amended"]],
            [pair for pair in pairs if pair[0]["amended"]])


def contributors(commit):
    return {d["member"].split(".")[0] for d in included(commit)}


def propose_a_third_site_and_another_outer_step(run):
    run.write("site_C.json", {**json.loads((run.folder / "site_A.json").read_text()), "site": "C"})
    run.config["sites"].append("site_C.json")
    run.config["outer"] = {"kind": "nesterov", "eta": AMENDED_ETA, "mu": AMENDED_MU}
    run.save()
    shown = execute(program("curtail-store"), "amend", run.run_file, "--reason", "C joins").stdout
    expect("site C may enter" in shown and "created amendments/1.json" in shown, shown)


@case(seconds=4)
def an_amendment_adds_a_site_and_changes_the_outer_step():
    """The amendment governs the merges after the commit that takes it in."""
    with SmallRun(ranks=1, rounds={"keep_models": KEPT}) as run:
        jobs = start(run, "AB", {"kind": "nesterov", "eta": ETA, "mu": MU})
        wait_for(lambda: outer_steps(run)[0], "a merge before the amendment", timeout=60)
        propose_a_third_site_and_another_outer_step(run)
        jobs.append(run.start_training("C"))
        wait_for(lambda: sum("C" in contributors(c) for _, c in outer_steps(run)[1]) >= 2,
                 "two merges with site C", timeout=60)
        stop(jobs)
        before, after = outer_steps(run)
        for parent, commit in before:
            check_nesterov(run, parent, commit)
        for parent, commit in after:
            check_nesterov(run, parent, commit, AMENDED_ETA, AMENDED_MU)
        run.verify()


if __name__ == "__main__":
    main()
