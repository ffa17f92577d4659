# SPDX-License-Identifier: Apache-2.0
"""Two sites train with the policy of scripts/bucket_policy.py, which grants nothing else."""
import json
import os
import signal
import urllib.error

from harness import SOURCE, case, execute, expect, main, program, wait_for
from object_storage import StoredRun, s3, shared_storage

SCRIPT = SOURCE / "scripts/bucket_policy.py"


def arn(user):
    return f"arn:aws:iam:::user/{user}"


def policy_of(run):
    done = execute(SCRIPT, run.config["store"], "small", "--owner", arn("owner"),
                   *(f"{site}={arn(site)}" for site in "AB"))
    return done.stdout


def with_policy(storage):
    """A run in a bucket of its own, which has the policy."""
    bucket = f"policy-{os.getpid()}"
    storage.add_bucket(bucket)
    run = StoredRun(storage, bucket, rounds={"keep_models": 1, "milestone_every": 0})
    storage.request("PUT", "/" + bucket, {"policy": ""}, policy_of(run).encode())
    return run


def answer(user, method, run, name):
    """The status of a request of `user` for the object `name` of the run."""
    storage = run.storage
    keys = s3.read_keys(storage.credentials(user))
    body = b"x" if method == "PUT" else b""
    try:
        s3.request(storage.endpoint, keys, method, f"/{run.bucket}/{run.prefix}/{name}", body=body)
    except urllib.error.HTTPError as error:
        return error.code
    return 200


def merged_sites(commit):
    return {d["member"].split(".")[0] for d in commit["decided"] if d["tokens"] > 0}


def follow_with_the_key_of_a_site(run):
    follower = run.start(program("curtail-model"), "evaluate", run.run_file, "--follow", "--site",
                         "A", "--every", 0.1)
    wait_for(lambda: run.objects("journal/A/evaluation/"), "a held-out loss", timeout=60)
    follower.send_signal(signal.SIGUSR1)
    expect(follower.wait(30) == 0, run.log()[-3000:])
    shown = json.loads(execute(program("curtail-status"), run.run_file, "--json").stdout)
    expect(shown["held_out"]["site"] == "A", shown["held_out"])


@case(seconds=13)
def sites_need_no_other_right(storage):
    with with_policy(storage) as run:
        jobs = [run.start_training(site) for site in "AB"]
        merges = lambda: sum(merged_sites(commit) == {"A", "B"} for commit in run.commits())
        wait_for(lambda: merges() >= 4, "four commits merged from two sites", timeout=150,
                 pause=0.2)
        for job in jobs:
            job.send_signal(signal.SIGUSR1)
        expect([job.wait(30) for job in jobs] == [0, 0], "both must exit with 0")
        expect("AccessDenied" not in run.log(), run.log()[-3000:])
        run.verify()
        follow_with_the_key_of_a_site(run)
        for site in "AB":
            run.check_journal(site)
        models = {key.split("/")[-3] for key in run.objects("models/")}
        expect(len(models) < merges(), f"no site has deleted a model: {models}")
        execute(program("curtail-store"), "sweep", run.run_file)
        for site in "AB":
            done = execute(program("curtail-store"), "doctor", run.config["store"], "--run",
                           "small", "--endpoint", storage.endpoint, "--credentials",
                           storage.credentials(site), "--json")
            expect("fault" not in done.stdout, done.stdout)


@case(seconds=11)
def site_stores_a_lost_model_of_another_again(storage):
    with with_policy(storage) as run:
        for _ in range(5):
            before = len(run.commits())
            jobs = [run.start_training(site) for site in "AB"]
            wait_for(lambda: len(run.commits()) >= before + 8, "eight commits", timeout=60)
            for job in jobs:
                job.send_signal(signal.SIGUSR1)
            expect([job.wait(30) for job in jobs] == [0, 0], "both must exit with 0")
            part = run.commits()[-1]["model"]["parts"][0]
            reader = "B" if part["name"].split("/")[2].startswith("A.") else "A"
            copy = run.kept_copy(reader, part)
            if copy.exists():
                break
        expect(copy.exists(), "no site has a copy of the newest model of the other")
        expect(answer("owner", "DELETE", run, RUN + part["name"]) == 200, part["name"])
        job = run.start_training(reader)
        wait_for(lambda: run.events(reader, "repaired"), "the repair", timeout=60)
        job.send_signal(signal.SIGUSR1)
        expect(job.wait(30) == 0, run.log()[-3000:])
        expect(part["name"] in run.events(reader, "repaired")[0]["names"], "another model")
        run.verify()


MEMBER, OTHER = "A.0123abcd.1", "B.0123abcd.1"
RUN = "runs/small/"
ALLOWED = [
    ("PUT", RUN + "run.json"), ("PUT", RUN + "commits/00000001.json"),
    ("PUT", RUN + "merge/1/1.json"), ("PUT", RUN + f"probe/{OTHER}-1"),
    ("PUT", RUN + f"contrib/{MEMBER}/1.json"), ("PUT", RUN + f"deltas/1/{MEMBER}/1/d0.h5"),
    ("PUT", RUN + f"models/1/{MEMBER}-1/w0.h5"), ("PUT", RUN + f"models/1/{OTHER}-1/w0.h5"),
    ("PUT", RUN + "repair/1/1.json"), ("PUT", RUN + "status/A.json"),
    ("PUT", RUN + "journal/A/trainer/00000001.jsonl"),
    ("PUT", RUN + "journal/A/evaluation/00000001.jsonl"),
    ("PUT", RUN + f"mpi/{MEMBER}.json"), ("PUT", RUN + f"mpi/{MEMBER}/{OTHER}.json"),
    ("PUT", RUN + f"mpi/check/{MEMBER}.json"), ("DELETE", RUN + f"mpi/check/{MEMBER}.json"),
    ("GET", RUN + "journal/B/trainer/00000001.jsonl"),
    ("DELETE", RUN + f"models/1/{OTHER}-1/w0.h5"),
]
DENIED = [
    ("PUT", RUN + "journal/B/trainer/00000002.jsonl"), ("PUT", RUN + "journal/AB/x"),
    ("PUT", RUN + f"contrib/{OTHER}/1.json"), ("PUT", RUN + f"deltas/1/{OTHER}/1/d0.h5"),
    ("PUT", RUN + "amendments/1.json"), ("PUT", RUN + "status/B.json"),
    ("PUT", RUN + f"mpi/{OTHER}.json"), ("PUT", RUN + f"mpi/{OTHER}/{MEMBER}.json"),
    ("PUT", RUN + f"mpi/check/{OTHER}.json"), ("DELETE", RUN + f"mpi/{MEMBER}.json"),
    ("PUT", RUN + "else"), ("PUT", "runs/other/run.json"), ("GET", "runs/other/run.json"),
    ("DELETE", RUN + "run.json"), ("DELETE", RUN + "commits/00000001.json"),
    ("DELETE", RUN + f"contrib/{MEMBER}/1.json"),
    ("DELETE", RUN + "journal/A/trainer/00000001.jsonl"),
]


@case()
def site_has_the_rights_of_its_own_site_only(storage):
    with with_policy(storage) as run:
        name = RUN + "journal/B/trainer/00000001.jsonl"
        expect(answer("B", "PUT", run, name) == 200, name)
        foreign = "runs/other/run.json"
        expect(answer("owner", "PUT", run, foreign) == 200, foreign)
        for method, name in ALLOWED:
            found = answer("A", method, run, name)
            expect(found == 200, f"{method} {name}: {found}")
        for method, name in DENIED:
            found = answer("A", method, run, name)
            expect(found == 403, f"{method} {name}: {found}")
        expect(answer("A", "GET", run, RUN + "commits/00000002.json") == 404, "missing object")


@case()
def stranger_has_no_right(storage):
    storage.add_user("C")
    with with_policy(storage) as run:
        expect(answer("A", "PUT", run, RUN + "run.json") == 200, "run.json")
        for method in ("GET", "PUT", "DELETE"):
            found = answer("C", method, run, RUN + "run.json")
            expect(found == 403, f"{method}: {found}")


@case()
def owner_amends_the_run(storage):
    with with_policy(storage) as run:
        expect(answer("owner", "PUT", run, RUN + "amendments/1.json") == 200, "amendment")


@case()
def worked_example_is_what_the_script_prints():
    done = execute(SCRIPT, "s3://curtail/mine", "mine", "--owner", arn("ada"),
                   f"plains={arn('plains')}", f"coast={arn('coast')}")
    example = (SOURCE / "inputs/examples/bucket-policy.json").read_text()
    expect(json.loads(example) == json.loads(done.stdout), done.stdout)


def as_xml(value):
    if not isinstance(value, dict):
        return str(value)
    return "".join(f"<{key}>{as_xml(inner)}</{key}>" for key, inner in value.items())


@case()
def the_gateway_accepts_the_documented_lifecycle_rule(storage):
    page = (SOURCE / "docs/two-centres.md").read_text()
    text = page[page.index('{"Rules"'):]
    rule = json.JSONDecoder().raw_decode(text)[0]["Rules"][0]
    body = f"<LifecycleConfiguration><Rule>{as_xml(rule)}</Rule></LifecycleConfiguration>"
    bucket = f"lifecycle-{os.getpid()}"
    storage.add_bucket(bucket)
    storage.request("PUT", "/" + bucket, {"lifecycle": ""}, body.encode())
    stored = storage.request("GET", "/" + bucket, {"lifecycle": ""}).decode()
    for part in rule.items():
        expect(as_xml(dict([part])) in stored, stored)


@case()
def wrong_arguments_are_refused():
    for arguments in ([], ["s3://x/y", "mine", "ada"], ["file:x", "mine", "--owner", "a", "A=a"],
                      ["s3://bucket", "mi ne", "--owner", "a", "A=a"],
                      ["s3://bucket", "mine", "--owner", "a", "A"],
                      ["s3://bucket", "mine", "--owner", "a", "A=a", "A=b"]):
        done = execute(SCRIPT, *arguments, code=64)
        expect("--help" in done.stderr and not done.stdout, done.stderr)


if __name__ == "__main__":
    main(storage=shared_storage)
