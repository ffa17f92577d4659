# SPDX-License-Identifier: Apache-2.0
"""Two sites train one run through an S3 server. Each has a key of its own."""
import json
import os
import signal

from harness import case, execute, expect, main, program, wait_for
from mpi_sites import MPI
from object_storage import ObjectStorage, StoredRun, shared_storage


def is_merge_of_two_sites(commit):
    included = [d for d in commit["decided"] if d["outcome"] == "included" and d["tokens"] > 0]
    return len({d["member"].split(".")[0] for d in included}) == 2


def merges(run):
    return sum(map(is_merge_of_two_sites, run.commits()))


def leave(run, jobs):
    """Stops both sites, and checks what they leave behind. A site that has lost work exits with
    69: merges refuse work as stale that an outage of many rounds has held back."""
    for job in jobs:
        job.send_signal(signal.SIGUSR1)
    for site, job in zip("AB", jobs):
        code, lost = job.wait(30), sum(event["tokens"] for event in run.events(site, "refused"))
        expect(code == (69 if lost else 0), f"{site} exits with {code} and has lost {lost} tokens")
    run.verify()
    for site in ("A", "B"):
        run.check_journal(site)


@case(seconds=8)
def two_sites_merge_through_a_bucket(storage):
    with StoredRun(storage) as run:
        jobs = [run.start_training(site) for site in ("A", "B")]
        wait_for(lambda: merges(run) >= 3, "three commits merged from two sites", timeout=150,
                 pause=0.2)
        leave(run, jobs)
        status = json.loads(execute(program("curtail-status"), run.run_file, "--json").stdout)
        expect(status["store"] == f"s3://runs/{run.prefix}", status["store"])
        loss = execute(program("curtail-model"), "evaluate", run.run_file, "--quiet", "--json")
        expect(json.loads(loss.stdout)["held_out_loss_nats"] > 0, loss.stdout)


@case(seconds=8)
def two_sites_meet_in_a_bucket_and_exchange_over_mpi(storage):
    with StoredRun(storage) as run:
        for site in ("A", "B"):
            run.change_site(site, mpi=MPI)
        checks = [run.start(program("curtail-train"), "--mpi-check", run.run_file, "--site", site)
                  for site in ("A", "B")]
        expect([check.wait(60) for check in checks] == [0, 0], run.log())
        expect(not run.objects("mpi/check/"), "the checks left records")
        jobs = [run.start_training(site) for site in ("A", "B")]
        wait_for(lambda: all(any(event["mpi_bytes"] > 0
                                 for event in run.events(site, "payloads-read"))
                             for site in ("A", "B")), "payloads over MPI", timeout=150, pause=0.2)
        leave(run, jobs)
        expect(len(run.objects("mpi/")) == 3, run.objects("mpi/"))


@case(seconds=5)
def training_goes_on_after_the_gateway_was_killed():
    # With steps of a fixed duration, a site always holds blocks for one more round.
    with ObjectStorage() as storage, \
            StoredRun(storage, training={"step_at_least_s": 0.05}) as run:
        jobs = [run.start_training(site) for site in ("A", "B")]
        wait_for(lambda: merges(run) >= 1, "a merge of two sites", timeout=150, pause=0.2)
        before = merges(run)
        storage.gateway("kill")
        try:
            steps = len(run.metrics("A"))
            wait_for(lambda: len(run.metrics("A")) > steps, "a step without the store",
                     timeout=60)
        finally:
            storage.gateway("start")
        wait_for(lambda: merges(run) >= before + 2, "two more merges", timeout=150, pause=0.2)
        leave(run, jobs)


def run_of_a_new_user(storage, **rounds):
    """A run whose site A has the key of a user of its own, which the case may replace."""
    user = f"turning-{os.getpid()}"
    storage.add_user(user)
    storage.add_bucket(user, [user, "B"])
    run = StoredRun(storage, user, {"A": user}, rounds=rounds)
    run.user = user
    return run


@case(seconds=38)
def a_site_waits_for_its_new_key(storage):
    with run_of_a_new_user(storage, drop_after_s=120) as run:
        jobs = [run.start_training(site) for site in ("A", "B")]
        wait_for(lambda: merges(run) >= 1, "a merge of two sites", timeout=150, pause=0.2)
        rotated = storage.rotate_key(run.user)
        wait_for(lambda: "SignatureDoesNotMatch" in run.log(), "the old key is refused",
                 timeout=60, pause=0.2)
        rotated.rename(storage.credentials(run.user))
        before = merges(run)
        wait_for(lambda: merges(run) >= before + 2, "two more merges", timeout=150, pause=0.2)
        leave(run, jobs)


@case(seconds=11)
def a_site_leaves_if_its_key_stays_refused(storage):
    with run_of_a_new_user(storage, drop_after_s=4) as run:
        jobs = [run.start_training(site, ranks=2) for site in ("A", "B")]
        wait_for(lambda: merges(run) >= 1, "a merge of two sites", timeout=150, pause=0.2)
        rotated = storage.rotate_key(run.user)
        expect(jobs[0].wait(90) == 77, "site A must exit with 77")
        expect("the run's store has refused access for" in run.log(), run.log()[-2000:])
        rotated.rename(storage.credentials(run.user))
        before = len(run.commits())
        wait_for(lambda: len(run.commits()) >= before + 2, "two more commits of site B",
                 timeout=60, pause=0.2)
        jobs[1].send_signal(signal.SIGUSR1)
        expect(jobs[1].wait(30) == 0, "site B must exit with 0")
        run.verify()


@case(seconds=5)
def a_versioned_bucket_is_refused(storage):
    # With versioning, the gateway ignores the condition of a create.
    bucket = f"versioned-{os.getpid()}"
    storage.add_bucket(bucket)
    storage.request("PUT", "/" + bucket, {"versioning": ""},
                    b"<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>")
    with StoredRun(storage) as run:
        run.config["store"] = f"s3://{bucket}/x"
        run.save()
        done = run.train("A", code=76)
        expect("no versioned bucket" in done.stderr, done.stderr)
        done = execute(program("curtail-store"), "doctor", run.run_file, code=76)
        expect("fault    versioning" in done.stdout, done.stdout)
        keys = storage.list("x/", bucket)
        expect(not any("/commits/" in key or key.endswith("run.json") for key in keys), keys)


@case(seconds=11)
def wrong_settings_are_explained(storage):
    with StoredRun(storage) as run:
        run.config["store"] = "s3://no-such-bucket/x"
        run.save()
        done = run.train("A", code=69)
        expect("NoSuchBucket" in done.stderr and "create the bucket" in done.stderr, done.stderr)
        run.config["store"] = f"s3://runs/{run.prefix}"
        run.config["s3"]["endpoint"] = "http://127.0.0.1:1"
        run.save()
        done = execute(program("curtail-status"), run.run_file, "--verify", code=75, timeout=60)
        expect("127.0.0.1 port 1" in done.stderr, done.stderr)
        run.config["s3"]["endpoint"] = storage.endpoint
        wrong = run.folder / "wrong.credentials"
        wrong.write_text("[default]\naws_access_key_id = curtail-A\n"
                         "aws_secret_access_key = s3cret-that-is-wrong\n")
        wrong.chmod(0o600)
        site = json.loads((run.folder / "site_A.json").read_text())
        site["s3"]["credentials"] = str(wrong)
        run.write("site_A.json", site)
        run.save()
        done = run.train("A", code=77)
        expect("SignatureDoesNotMatch" in done.stderr, done.stderr)
        expect("s3cret" not in done.stderr + done.stdout, "the log shows the secret key")
        wrong.chmod(0o644)
        done = run.train("A", code=77)
        expect("chmod" in done.stderr, done.stderr)


if __name__ == "__main__":
    main(storage=shared_storage)
