# SPDX-License-Identifier: Apache-2.0
"""The account of chaos runs, with logs, records and stores of a few lines."""
import json
from pathlib import Path

from chaos_account import Record, Removal, sha256
from chaos_faults import Fault, Twins
from chaos_lives import Checks, Life
from chaos_losses import check_exit_of_loser, check_stated
from chaos_store import Recalled, check_restored
from harness import Failure, case, expect, main

MEMBER = "A.00000001.2"


def at(second):
    return f"2026-01-01T00:00:{second:02}.000Z"


def event(second, kind, **details):
    return {"time": at(second), "type": kind, **details}


def a_life(*events, steps=(10, 10, 10), code=0, site="A", job="1", log=Path("/dev/null")):
    """A job that joins at second 1, and then trains so many tokens in a step each second."""
    lines = [event(0, "trainer-start"), event(1, "joined", member=MEMBER), *events]
    if code is not None:
        lines.append(event(50, "trainer-exit", code=code))
    return Life(site, job, lines,
                [{"time": at(3 + i), "step_s": 1, "tokens": n} for i, n in enumerate(steps)], log)


def lost(kind, tokens, second=20, commit=9):
    return event(second, kind, member=MEMBER, tokens=tokens, commit=commit)


def left(commit=9):
    return event(30, "left", member=MEMBER, commit=commit)


def decision(tokens, commit, outcome="included"):
    return {"outcome": outcome, "tokens": tokens, "commit": commit}


def a_record(decided=(), stored=(), removed=(), gone=()):
    """The keys of `decided`, `stored` and `gone` are numbers of contributions of MEMBER."""
    own = [{(MEMBER, seq): value for seq, value in dict(found).items()}
           for found in (decided, stored, gone)]
    return Record({}, own[0], dict(removed), {MEMBER: 1000}, own[1], gone=own[2])


def refuses(function, *arguments, words=""):
    """The function must raise a Failure that has these words."""
    try:
        function(*arguments)
    except Failure as failure:
        expect(words in str(failure), f"{words!r} is not in: {failure}")
        return
    raise Failure(f"{function.__name__} did not notice")


def is_stated(life, record, **missing):
    """Each change of one event, and none, must be noticed, but not the events as they are."""
    check_stated(life, record)
    for found in [e for e in life.events if e.get("tokens")]:
        changed = [e for e in life.events if e is not found]
        refuses(check_stated, a_life_of(life, changed), record, words="tokens are not in the model")
        changed.insert(2, {**found, "tokens": found["tokens"] + 1})
        refuses(check_stated, a_life_of(life, changed), record, words="tokens are not in the model")


def a_life_of(life, events):
    return Life(life.site, life.job, events, life.steps, life.log)


@case()
def work_in_the_model_needs_no_event():
    record = a_record({1: decision(20, 5), 2: decision(10, 9)}, {1: 20, 2: 10})
    check_stated(a_life(left()), record)
    refuses(check_stated, a_life(lost("lost", 10), left()), record, words="{'lost': 10}, and 0")


@case()
def work_that_was_never_stored_needs_an_event():
    is_stated(a_life(lost("lost", 10), left()), a_record({1: decision(20, 5)}, {1: 20}))


@case()
def work_without_an_answer_may_have_arrived():
    unanswered = lost("unanswered", 10)
    check_stated(a_life(unanswered, left()), a_record({1: decision(20, 5)}, {1: 20}))
    check_stated(a_life(unanswered, left()), a_record({1: decision(30, 5)}, {1: 30}))
    refuses(check_stated, a_life(unanswered, left()), a_record({1: decision(10, 5)}, {1: 10}),
            words="and 20 tokens")


@case()
def work_of_a_removed_member_needs_an_event():
    """Also what it had stored and no commit has decided."""
    is_stated(a_life(lost("removed", 20), left()),
              a_record({1: decision(10, 5)}, {1: 10, 2: 10}))


@case()
def a_step_that_still_runs_at_the_end_needs_an_event():
    life = a_life(left(), steps=(10,))
    life.steps[0]["time"] = at(31)
    refuses(check_stated, life, a_record(), words="and 10 tokens")
    check_stated(a_life(left(), lost("lost", 10), steps=(10,)), a_record())


@case()
def refused_work_needs_an_event():
    is_stated(a_life(lost("refused", 10, commit=6), lost("lost", 5), left(), steps=(10, 10, 5)),
              a_record({1: decision(10, 5), 2: decision(10, 6, "refused")}, {1: 10, 2: 10}))


@case()
def what_commits_decide_after_a_job_needs_no_event():
    for record in (a_record({1: decision(20, 5)}, {1: 20, 2: 10}),
                   a_record({1: decision(20, 5), 2: decision(10, 10, "refused")}, {1: 20, 2: 10}),
                   a_record({1: decision(20, 5)}, {1: 20}, gone={2: 10})):
        check_stated(a_life(left()), record)
        refuses(check_stated, a_life(lost("lost", 10), left()), record, words="and 0 tokens")


@case()
def a_killed_job_states_at_most_what_it_lost():
    record = a_record({1: decision(20, 5)}, {1: 20})
    check_stated(a_life(code=None), record)
    check_stated(a_life(lost("refused", 10), code=None), record)
    refuses(check_stated, a_life(lost("refused", 11), code=None), record, words="and 10 tokens")


@case()
def a_member_that_was_removed_without_an_event_is_noticed():
    again = event(10, "joined", member="A.00000001.9")
    for code in (0, None):
        refuses(check_stated, a_life(again, left(), code=code), a_record({1: decision(10, 5)}),
                words="states {}, and 20 tokens")
    is_stated(a_life(again, lost("removed", 20)), a_record({1: decision(10, 5)}))


@case()
def a_job_that_ends_with_lost_work_must_not_exit_with_0():
    for kind in ("lost", "removed", "refused", "unanswered"):
        refuses(check_exit_of_loser, a_life(lost(kind, 10)), words="exited with 0")
        check_exit_of_loser(a_life(lost(kind, 10), code=69))
        check_exit_of_loser(a_life(lost(kind, 0)))
        refuses(check_exit_of_loser,
                a_life(lost(kind, 10), event(21, "joined", member="A.00000001.9")),
                words="exited with 0")
        Checks([], [], set()).check_exit(a_life(lost(kind, 10), code=69))


def fault(kind=Fault, site="A", begun=2, ended=40, taken=()):
    made = kind(0, site)
    made.begun_at, made.ended_at = 1767225600 + begun, 1767225600 + ended
    if taken:
        made.taken, made.taken_at = dict(taken), 1767225600 + ended
    return made


TAKEN = {"commits/00000007.json": (b"seven", 0.0)}


@case()
def only_a_process_that_another_one_replaced_may_exit_with_75():
    life, other = a_life(code=75), a_life(event(10, "joined", member="A.00000002.4"), job="2")
    Checks([life, other], [fault(Twins)], set()).check_exit(life)
    late = a_life(job="2")
    late.events = [event(55, "joined", member="A.00000002.4")]
    for lives, faults in (([life, other], [fault(Twins, site="B")]), ([life, other], []),
                          ([life], [fault(Twins)]), ([life, late], [fault(Twins)])):
        refuses(Checks(lives, faults, set()).check_exit, life, words="exited with 75")


@case()
def only_a_process_that_names_the_repair_may_exit_with_76():
    folder = Path(__file__).parent
    life = a_life(code=76, log=folder / "chaos_account_test.py")  # it has `curtail-store repair`
    Checks([life], [fault(taken=TAKEN)], set()).check_exit(life)
    silent = a_life(code=76)
    for job, faults in ((silent, [fault(taken=TAKEN)]), (life, [fault()]),
                        (life, [fault(taken=TAKEN, ended=55)])):
        refuses(Checks([job], faults, set()).check_exit, job, words="exited with 76")


class Objects:
    """Objects in memory."""

    def __init__(self, contents):
        self.contents = contents

    def names(self, prefix):
        return [name for name in self.contents if name.startswith(prefix)]

    def read(self, name):
        return self.contents[name]

    def read_if_there(self, name):
        return self.contents.get(name)

    def time(self, name):
        return 1.0


@case()
def a_lost_commit_must_come_back_as_it_was():
    name = "commits/00000007.json"
    whole, says = Objects({name: b"seven"}), a_life(event(9, "commits-restored", first=6, last=7))
    check_restored(whole, TAKEN, [says], set())
    check_restored(whole, TAKEN, [], {7})
    refuses(check_restored, whole, TAKEN, [], set(), words="no site says so")
    refuses(check_restored, Objects({}), TAKEN, [says], set(), words="nobody has created")
    refuses(check_restored, Objects({name: b"other"}), TAKEN, [says], set(), words="another one")


@case()
def lost_headers_count_if_a_commit_has_decided_them():
    one, two = (json.dumps({"member": MEMBER, "seq": seq, "tokens": 10 * seq}).encode()
                for seq in (1, 2))
    commit = {"decided": [{"inline": False, "header_sha256": sha256(one)}]}
    taken = {f"contrib/{MEMBER}/1.json": (one, 7.0), f"contrib/{MEMBER}/2.json": (two, 8.0)}
    store = Objects({"commits/00000001.json": json.dumps(commit).encode()})
    recalled = Recalled(store, taken)
    expect(recalled.names("contrib/") == [f"contrib/{MEMBER}/1.json"], "names")
    expect(recalled.read(f"contrib/{MEMBER}/1.json") == one, "content")
    expect(recalled.time(f"contrib/{MEMBER}/1.json") == 7.0, "time")
    expect(recalled.gone() == {(MEMBER, 2): 20}, f"{recalled.gone()}")
    store.contents[f"contrib/{MEMBER}/2.json"] = two
    expect(Recalled(store, taken).gone() == {}, "it is there again")


@case()
def a_removal_needs_a_cause():
    removal = Removal("silent", 9, 0.0)
    without, with_gone = a_record(), a_record(gone={2: 10})
    refuses(Checks([], [], set()).check_removal, MEMBER, removal, without, words="no fault of A")
    Checks([], [], set()).check_removal(MEMBER, removal, with_gone)
    diverged = a_life(code=65)
    Checks([diverged], [], {"A"}).check_removal(MEMBER, removal, without)
    refuses(Checks([diverged], [], {"B"}).check_removal, MEMBER, removal, without)


if __name__ == "__main__":
    main()
