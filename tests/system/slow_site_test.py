# SPDX-License-Identifier: Apache-2.0
"""A site whose connection to the store is too slow for the rounds of the others."""
import contextlib
import json
import signal
import subprocess
import sys
import urllib.parse
import urllib.request

from harness import (PACED, SOURCE, SmallRun, case, execute, expect, main, mpirun, program,
                     wait_for)

# A contribution is stale if it misses a merge. No model is deleted while the site reads it.
ROUNDS = {"max_staleness": 0, "drop_after_s": 30, "keep_models": 20, "round_time_s": 0.3,
          "checkpoint_interval_s": 0.3, "gather_time_s": 0.1}
READ_S = 1


@contextlib.contextmanager
def s3_server(folder):
    """An S3 server that delays requests. Gives its port."""
    (folder / "secret").write_text("secret")
    (folder / "credentials").write_text(
        "[default]\naws_access_key_id = test-id\naws_secret_access_key = secret\n")
    (folder / "credentials").chmod(0o600)
    server = subprocess.Popen([sys.executable, SOURCE / "tests/support/s3_server.py",
                               "--secret-file", folder / "secret"], text=True,
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        yield int(server.stdout.readline())
    finally:
        server.stdin.close()
        server.wait(10)


def control(port, **what):
    query = urllib.parse.urlencode(what)
    urllib.request.urlopen(f"http://127.0.0.1:{port}/_control?{query}", timeout=10).read()


def newest_commit(run):
    done = execute(program("curtail-store"), "show", run.run_file, code=None)
    return json.loads(done.stdout) if done.returncode == 0 else None


@case(seconds=14)
def slow_reader_says_so_and_leaves():
    with SmallRun(ranks=1, training=PACED, rounds=ROUNDS) as run, s3_server(run.folder) as port:
        run.config["store"] = "s3://bucket/p"
        run.config["s3"] = {"endpoint": f"http://127.0.0.1:{port}", "credentials": "credentials"}
        run.save()
        # The server tells the requests of B by the region in their signatures.
        slow = {**run.config, "s3": {**run.config["s3"], "region": "slow"}}
        run.write("slow.json", slow)
        control(port, fault=f"pause:{READ_S}", times=1000, method="GET", path="/models/",
                signed="/slow/")
        first = run.start_training("A")
        wait_for(lambda: run.events("A", "merged"), "a commit")
        begin = newest_commit(run)["round"]
        late = execute(*mpirun(1, program("curtail-train"), run.folder / "slow.json", "--site",
                               "B"), code=69, timeout=90)
        expect("cannot keep up with the run: 3 times in a row" in late.stderr, late.stderr)
        event, = run.events("B", "too-slow")
        expect(event["read_ms"] >= 1000 * READ_S, event)
        expect(len(run.events("B", "joined")) == 1, "it must not join again and again")
        wait_for(lambda: all(m["site"] == "A" for m in newest_commit(run)["members"]), "its leaving")
        expect(newest_commit(run)["round"] > begin + 4, "the others must go on")
        first.send_signal(signal.SIGUSR1)
        expect(first.wait(30) == 0, f"exit code {first.returncode}")


if __name__ == "__main__":
    main()
