# SPDX-License-Identifier: Apache-2.0
"""slurm/site_train.sh with real ranks in jobs of a real Slurm cluster."""
import json
import time

from harness import BUILD, SOURCE, SmallRun, case, expect, main, wait_for
from slurm_clusters import shared_cluster

SCRIPT = SOURCE / "slurm/site_train.sh"
KILL_WAIT = 60
# A step takes three seconds, longer than mpirun waits before it kills its ranks. The trainer cannot
# stop meanwhile.
STEP_S = 3
MESSAGE = 500  # of a rank, in this step; the first step has fewer
LAUNCHER = {"kind": "local", "script": str(SCRIPT), "grace_s": KILL_WAIT}
# Ranks on different nodes of this machine.
NETWORK = {"OMPI_MCA_btl_tcp_if_include": "lo", "OMPI_MCA_oob_tcp_if_include": "lo"}


def submit(cluster, run, *options, **environment):
    return cluster.submit("--ntasks=2", f"--chdir={run.folder}", *options, SCRIPT, run.run_file,
                          "A", CURTAIL_BUILD=str(BUILD), OMP_NUM_THREADS="1", **NETWORK,
                          **environment)


def tokens_stored(run):
    """Tokens in the model of the newest commit, and in contributions to a later one."""
    headers = [json.loads(p.read_text()) for p in run.store.glob("contrib/*/*.json")]
    return run.commits()[-1]["totals"]["tokens"] + sum(h["tokens"] for h in headers)


def log_of(run):
    return "\n".join(path.read_text() for path in run.folder.glob("*.out"))


def check_stopped_job_contributes(cluster, options, stop):
    with SmallRun(sites=("A",), launcher=LAUNCHER) as run:
        sleeps, prologue = run.folder / "sleeps", run.folder / "prologue.sh"
        prologue.write_text(f"export LD_PRELOAD={BUILD}/tests/libslow_gradients.so\n"
                            f"export CURTAIL_TEST_SLOW='{MESSAGE} {STEP_S} {sleeps}'\n")
        job = submit(cluster, run, *options, CURTAIL_PROLOGUE=str(prologue))
        wait_for(lambda: sleeps.exists() and sleeps.stat().st_size == 2, "the step", timeout=60)
        expect(run.metrics("A"), "it is the first step")
        before = len(run.commits())
        requested = time.monotonic()
        cluster.run(*stop, job)
        cluster.wait_for_state(job, "COMPLETED", "CANCELLED", "FAILED", "", timeout=2 * KILL_WAIT)
        took = time.monotonic() - requested
        trained = sum(m["tokens"] for m in run.metrics("A"))
        ending = [(e["type"], e.get("code")) for e in run.events("A")][-1]
        expect(ending == ("trainer-exit", 0), f"{ending} after {took:.1f} s\n{log_of(run)}")
        expect(tokens_stored(run) == trained,
               f"{tokens_stored(run)} of {trained} tokens are stored\n{log_of(run)}")
        expect(len(run.commits()) > before, "no new commit")
        expect(took < 0.8 * KILL_WAIT, f"{took:.1f} s of {KILL_WAIT} s")
        expect(took > 1, f"mpirun had not to wait: {took:.1f} s")
        run.verify()


@case(seconds=24)
def cancelled_job_contributes(cluster):
    check_stopped_job_contributes(cluster, ["--nodes=1"], ["scancel"])


@case(seconds=17)
def cancelled_job_on_two_nodes_contributes(cluster):
    check_stopped_job_contributes(cluster, ["--nodes=2"], ["scancel"])


@case(seconds=13)
def term_to_the_script_alone_contributes(cluster):
    # As proctrack/cgroup delivers TERM: only to the process that Slurm started itself.
    check_stopped_job_contributes(cluster, ["--nodes=2"], ["scancel", "--batch", "--signal=TERM"])


@case(seconds=11)
def drain_signal_contributes(cluster):
    check_stopped_job_contributes(cluster, ["--nodes=1"], ["scancel", "--batch", "--signal=USR1"])


@case(seconds=2)
def log_is_named_by_job_and_node(cluster):
    with SmallRun(sites=("A",)) as run:
        job = submit(cluster, run, "--nodes=1", "--nodelist=node2")
        log = run.folder / f"curtail-train-node2-{job}.out"
        wait_for(lambda: log.exists() and "site A, 2 ranks" in log.read_text(), "the log")
        cluster.run("scancel", job)
        cluster.wait_for_state(job, "CANCELLED", "")


if __name__ == "__main__":
    main(cluster=shared_cluster)
