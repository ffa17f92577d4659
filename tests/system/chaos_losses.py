# SPDX-License-Identifier: Apache-2.0
"""Each token that a job has trained and that the model lacks must be in an event of the job, and an
event must not state more."""
from collections import Counter

from harness import expect

LOSSES = ("refused", "removed", "lost")  # the events that state lost tokens of their member


def stated(life, member):
    """The tokens that the job's events say are lost, by type of event."""
    tokens = Counter()
    for event in life.events:
        if event["type"] in LOSSES and event["member"] == member:
            tokens[event["type"]] += event["tokens"]
    return +tokens


def without_answer(life, member):
    """The tokens in a record about which the store had not answered when the job ended."""
    return sum(event["tokens"] for event in life.events
               if event["type"] == "unanswered" and event["member"] == member)


def last_commit(life, member):
    """The number of the newest commit that the job had read when it lost or left its place as
    `member`; None if it was killed before."""
    ends = [event for event in life.events
            if event["type"] in ("removed", "left") and event["member"] == member]
    return ends[0]["commit"] if ends else None


def awaits(record, member, seq, known):
    """Whether the store had this contribution when the job ended, and no commit that the job has
    read decides it. No event can say what becomes of it then."""
    entry = record.decided.get((member, seq))
    return entry is None or (entry["outcome"] != "included" and entry["commit"] > known)


def must_state(life, member, steps, record):
    """The tokens that the job trained, and that it must have reported as lost. Of a killed job, it
    is the most that it may have reported."""
    own = [(key, entry) for key, entry in record.decided.items() if key[0] == member]
    missing = sum(step["tokens"] for step in steps) - \
        sum(entry["tokens"] for _, entry in own if entry["outcome"] == "included")
    known = last_commit(life, member)
    if known is None or "removed" in stated(life, member):
        return missing  # no contribution of a removed member can still be decided
    return missing - sum(tokens for (owner, seq), tokens in (record.stored | record.gone).items()
                         if owner == member and awaits(record, member, seq, known))


def check_stated(life, record):
    """The events of a job must state all its work that is lost, as far as the job can know. Only a
    kill can keep its last member from that."""
    members = list(life.members())
    for member, steps in members:
        where = f"job {life.job} of {life.site}, member {member}"
        due, said = must_state(life, member, steps, record), stated(life, member)
        was_killed = life.exit is None and member == members[-1][0]
        least = 0 if was_killed else due - without_answer(life, member)
        expect(least <= said.total() <= due,
               f"{where} states {dict(said)}, and {due} tokens are not in the model")


def lost_tokens(life):
    """The tokens that the events of the job say are lost, or in a record without an answer."""
    return sum(event["tokens"] for event in life.events
               if event["type"] in (*LOSSES, "unanswered"))


def check_exit_of_loser(life):
    """A job that ends with lost work must not exit with 0."""
    tokens = lost_tokens(life)
    expect(not tokens or life.exit is None or life.exit["code"] != 0,
           f"job {life.job} of {life.site} exited with 0, and it has lost {tokens} tokens")
