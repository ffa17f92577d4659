# SPDX-License-Identifier: Apache-2.0
"""Faults of the chaos runs that lose objects of the store, and what must be there again."""
import json
import signal
import time

from chaos_account import sha256
from chaos_faults import Fault
from harness import execute, expect, kill, program

# Another process has read a commit of this age, if it can read at all. Nobody can notice the loss
# of a commit that only its writer knows.
KNOWN_AFTER_S = 2
# Sites publish their newest commit in their status once a second. A starting process that reads an
# older status with the older store takes the older commit for the newest.
STATUS_S = 2
RESTORED_AFTER_S = 15  # members look for lost commits after each merge of their own


class LosesObjects(Fault):
    """Takes objects out of the store. `taken` has their names, contents and times."""
    target = "store"

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.taken = {}
        self.taken_at = None  # seconds since 1970; None: nothing was taken

    def take(self, objects, name):
        self.taken[name] = (objects.read(name), objects.time(name))
        objects.remove(name)
        self.taken_at = time.time()


class LostCommit(LosesObjects):
    """`share` says which of the commits: 1 is the newest."""
    name = "lost commit"

    def __init__(self, after, share):
        super().__init__(after)
        self.share = share

    def __str__(self):
        return f"{super().__str__()} ({', '.join(self.taken) or format(self.share, '.2f')})"

    def begin(self, federation):
        objects = federation.run.objects()
        known = [name for name in sorted(objects.names("commits/"))
                 if time.time() - objects.time(name) > KNOWN_AFTER_S]
        if not known:
            return False
        self.take(objects, known[min(int(self.share * len(known)), len(known) - 1)])
        return True


class OlderStore(LosesObjects):
    """Copies the store, and puts the copy back `seconds` later. No process starts meanwhile: it
    could not know that the store is an older one."""
    name = "older store"

    def begin(self, federation):
        objects = federation.run.objects()
        self.copy = {name: content for name in objects.names("")
                     if (content := objects.read_if_there(name)) is not None}
        return True

    def may_end(self, federation):
        return federation.all_jobs_are_members()

    def end(self, federation):
        if federation.complete():
            return
        pollers = [poller.pid for poller in federation.pollers() if poller.poll() is None]
        for pid in pollers:
            kill(pid, signal.SIGSTOP)
        try:
            self.put_back(federation.run.objects())
            time.sleep(STATUS_S)
        finally:
            for pid in pollers:
                kill(pid, signal.SIGCONT)

    def put_back(self, objects):
        """The newest commits go first, so that the chain never has a gap."""
        for name in sorted(set(objects.names("")) - set(self.copy), reverse=True):
            if objects.read_if_there(name) is not None:
                self.take(objects, name)
        for name, content in self.copy.items():
            if objects.read_if_there(name) != content:
                objects.write(name, content)


class Recalled:
    """The objects of a store that has lost some. What commits name counts as if it was still
    there: other objects than commits need not come back."""

    def __init__(self, objects, taken):
        self.objects, self.taken = objects, taken
        commits = [json.loads(objects.read(name)) for name in objects.names("commits/")]
        self.decided = {entry["header_sha256"] for commit in commits for entry in commit["decided"]
                        if not entry["inline"]}

    def headers(self):
        return {name: content for name, (content, _) in self.taken.items()
                if name.startswith("contrib/") and name.endswith(".json")}

    def recalled(self):
        return {name for name, content in self.headers().items() if sha256(content) in self.decided}

    def gone(self):
        """The tokens of the contributions that no commit can decide any more."""
        names = set(self.headers()) - self.recalled() - set(self.objects.names("contrib/"))
        headers = [json.loads(self.taken[name][0]) for name in names]
        return {(header["member"], header["seq"]): header["tokens"] for header in headers}

    def names(self, prefix):
        return sorted(set(self.objects.names(prefix)) |
                      {name for name in self.recalled() if name.startswith(prefix)})

    def read(self, name):
        if name not in self.taken:
            return self.objects.read(name)
        content = self.objects.read_if_there(name)
        return self.taken[name][0] if content is None else content

    def time(self, name):
        return self.taken[name][1] if name in self.taken else self.objects.time(name)


def all_taken(faults):
    """All objects that the faults have taken, by name."""
    return {name: found for fault in faults for name, found in fault.taken.items()}


def restored(lives):
    """The numbers of the commits that the sites say to have created again."""
    return {number for life in lives for event in life.of_type("commits-restored")
            for number in range(event["first"], event["last"] + 1)}


def check_restored(objects, taken, lives, repaired):
    """Each commit that was lost must be there again with the same bytes, because a site, or else a
    person, created it again. `repaired` has the numbers of those that a person has."""
    numbers = restored(lives) | repaired
    for name, (content, _) in taken.items():
        if not name.startswith("commits/"):
            continue
        found = objects.read_if_there(name)
        expect(found is not None, f"{name} was lost, and nobody has created it again")
        expect(found == content, f"{name} was lost, and is another one now")
        expect(int(name[len("commits/"):-len(".json")]) in numbers,
               f"{name} was lost and is there again, but no site says so")


def is_recent(faults):
    """Whether the store has lost objects shortly before now."""
    return any(fault.taken and time.time() - fault.taken_at < RESTORED_AFTER_S for fault in faults)


def lost_streams(taken):
    """The streams of journals, such as `journal/A/trainer`, that have lost pieces."""
    return {name.rsplit("/", 1)[0] for name in taken if name.startswith("journal/")}


def verify(run, taken):
    """The run must verify. Payloads and pieces of journals that the store has lost need not have
    come back. Then it must verify with them, except that a site may have made another piece of a
    number that a commit names."""
    done = execute(program("curtail-status"), run.run_file, "--verify", timeout=120, code=None)
    if done.returncode == 0:
        return
    objects, streams = run.objects(), lost_streams(taken)
    lost = {name: content for name, (content, _) in taken.items()
            if name.endswith((".h5", ".jsonl")) and objects.read_if_there(name) is None}
    expect(done.returncode == 76 and any(name in done.stderr for name in [*lost, *streams]),
           f"verification ended with {done.returncode}: {done.stdout}{done.stderr}")
    for name, content in lost.items():
        objects.write(name, content)
    done = execute(program("curtail-status"), run.run_file, "--verify", timeout=120, code=None)
    sound = "the chain is sound, but the journal is not" in done.stderr and \
        any(name in done.stderr for name in streams)
    expect(done.returncode == 0 or (done.returncode == 76 and sound),
           f"verification ended with {done.returncode}: {done.stdout}{done.stderr}")
