# SPDX-License-Identifier: Apache-2.0
"""Changes a run that has passed, one thing at a time. The account must notice each change."""
import copy
import json

from chaos_account import BLOCK, canonical, header_name, sha256
from harness import Failure, expect


class Changed:
    """Objects of which some have other contents, or are missing (None)."""

    def __init__(self, objects):
        self.objects, self.contents = objects, {}

    def names(self, prefix):
        known = {n for n in self.contents if n.startswith(prefix)} | set(self.objects.names(prefix))
        return [name for name in known if self.contents.get(name, b"") is not None]

    def read(self, name):
        content = self.contents.get(name)
        return self.objects.read(name) if content is None else content

    def time(self, name):
        return 0.0 if name in self.contents else self.objects.time(name)

    def write(self, name, record):
        record.pop("self", None)
        record["self"] = sha256(canonical(record))
        self.contents[name] = canonical(record)

    def commits(self):
        return [json.loads(self.read(name)) for name in sorted(self.names("commits/"))]

    def write_commits(self, commits):
        """Writes a chain in which each commit names the digest of the one before."""
        digest = commits[0]["parent"]
        for commit in commits:
            commit["parent"] = digest
            name = f"commits/{commit['number']:08}.json"
            self.write(name, commit)
            digest = sha256(self.contents[name])


def merges(commits):
    """Commits that merge headers, each with its parent."""
    return [(before, commit) for before, commit in zip(commits, commits[1:])
            if any(d["tokens"] and not d["inline"] for d in commit["decided"])]


def drop_a_contribution(commits):
    merges(commits)[-1][1]["decided"].pop()


def keep_the_old_model(commits):
    before, commit = merges(commits)[1]
    commit["model"] = {**before["model"], "round": commit["round"]}


def decide_twice(commits):
    changed = merges(commits)
    changed[-1][1]["decided"].append(changed[0][1]["decided"][0])


def remove_without_a_reason(commits):
    commit = next(commit for commit in commits if commit["removed"])
    commit["removed"].pop()


def change_a_scale(commits):
    entry = merges(commits)[0][1]["decided"][0]
    entry["scale"] = f"{int(entry['scale'], 16) + 1:08x}"


def lose_a_header(changed):
    entry = merges(changed.commits())[0][1]["decided"][0]
    changed.contents[header_name(entry["member"], entry["seq"])] = None


def leave_a_header_undecided(changed):
    name = max(name for name in changed.names("contrib/")
               if json.loads(changed.read(name))["tokens"])
    header = json.loads(changed.read(name))
    header["seq"] += 50
    changed.write(header_name(header["member"], header["seq"]), header)


def forget_a_step(lives):
    lives[0].steps.pop(0)


def train_for_nothing(lives):
    life = next(life for life in lives if life.exit)
    life.steps.append({**life.steps[-1], "time": life.exit["time"]})


def end_without_a_word(lives):
    life = next(life for life in lives if life.exit)
    life.events.remove(life.exit)


def claim_a_loss(lives):
    life = next(life for life in lives if life.exit)
    member = life.of_type("joined")[0]["member"]
    life.events.append({**life.exit, "type": "lost", "member": member, "tokens": BLOCK})


CHAINS = [drop_a_contribution, keep_the_old_model, decide_twice, remove_without_a_reason,
          change_a_scale]
OBJECTS = [lose_a_header, leave_a_header_undecided]
LOGS = [forget_a_step, train_for_nothing, end_without_a_word, claim_a_loss]


def check_that_changes_are_noticed(objects, lives, account):
    """`account(objects, lives)` must fail after each change."""
    for change in [*CHAINS, *OBJECTS, *LOGS]:
        changed, other_lives = Changed(objects), copy.deepcopy(lives)
        if change in CHAINS:
            commits = changed.commits()
            change(commits)
            changed.write_commits(commits)
        else:
            change(changed if change in OBJECTS else other_lives)
        try:
            account(changed, other_lives)
        except Failure:
            continue
        expect(False, f"the account did not notice: {change.__name__}")
