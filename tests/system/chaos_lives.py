# SPDX-License-Identifier: Apache-2.0
"""What the sites of a run have trained, by their logs. Compared with the account of the store, and
with the faults that happened."""
import json
from dataclasses import dataclass
from pathlib import Path

from chaos_account import LOST_WITH_THE_MEMBER, time_of
from chaos_losses import check_exit_of_loser, check_stated, lost_tokens
from harness import Failure, expect

GRACE_S = 15
MAY_REMOVE_S = 10  # others may remove a member that shows no progress for longer
RETRY_S = 5  # longest pause of a site before it tries to store again


def start_of(step):
    return time_of(step["time"]) - step["step_s"] + 0.001  # `time` has milliseconds


@dataclass
class Life:
    """What one job of a site has logged."""
    site: str
    job: str
    events: list
    steps: list
    log: Path  # what the job has printed

    @property
    def begun_at(self):
        return time_of(self.events[0]["time"])

    def of_type(self, kind):
        return [event for event in self.events if event["type"] == kind]

    @property
    def exit(self):
        """The trainer's own account of its end; None if it was killed."""
        ends = self.of_type("trainer-exit")
        return ends[-1] if ends else None

    @property
    def asked(self):
        """When the first request to stop arrived, or None."""
        requests = self.of_type("stop-requested")
        return time_of(requests[0]["time"]) if requests else None

    def members(self):
        """(member, steps) in the order in which the job was admitted. A step that runs when the job
        joins again belongs to the member before."""
        joined = self.of_type("joined")
        begins = [time_of(event["time"]) for event in joined]
        for event, begin, end in zip(joined, begins, [*begins[1:], float("inf")]):
            yield event["member"], [s for s in self.steps if begin <= start_of(s) < end]


def read_lines(path):
    """The valid lines of a log: a kill may have cut one short."""
    lines = []
    for line in path.read_text().splitlines() if path.exists() else []:
        try:
            lines.append(json.loads(line))
        except ValueError:
            continue
    return lines


def read_lives(folder, site):
    """The jobs of a site, in order."""
    events, steps = read_lines(folder / "events.jsonl"), read_lines(folder / "metrics.jsonl")
    starts = [event for event in events if event["type"] == "trainer-start"]
    begins = [time_of(event["time"]) for event in starts]
    lives = []
    for start, begin, end in zip(starts, begins, [*begins[1:], float("inf")]):
        within = [[line for line in lines if begin <= time_of(line["time"]) < end]
                  for lines in (events, steps)]
        log = folder / "job-logs" / f"job-{start['job']}.log"
        lives.append(Life(site, start["job"], *within, log))
    return lives


@dataclass
class Lost:
    """Work that the store never received."""
    life: Life
    member: str
    tokens: int


def check_life(life, record):
    """Compares a job's steps with its cuts, and its cuts with the store. Yields what is lost."""
    for member, steps in life.members():
        cuts = sorted((e for e in life.of_type("cut") if e["member"] == member),
                      key=lambda event: event["seq"])
        where = f"job {life.job} of {life.site}, member {member}"
        stored, total, missing = 0, 0, None
        for number, cut in enumerate(cuts, 1):
            expect(cut["seq"] == number, f"{where}: cut {cut['seq']} follows cut {number - 1}")
            total += cut["tokens"]
            trained = sum(s["tokens"] for s in steps if time_of(s["time"]) <= time_of(cut["time"]))
            expect(trained == total, f"{where}: {trained} tokens were trained until cut {number}, "
                                     f"and the cuts have {total}")
            received = record.stored.get((member, number))
            if received is None:
                missing = missing or number
                continue
            expect(missing is None, f"{where}: contribution {missing} is missing, but not {number}")
            expect(received == cut["tokens"], f"{where}: contribution {number} has {received} "
                                              f"tokens, and cut {cut['tokens']}")
            stored += received
        lost = sum(s["tokens"] for s in steps) - stored
        expect(lost >= 0, f"{where}: the store has {-lost} tokens more than were trained")
        if lost:
            yield Lost(life, member, lost)


def check_foreign(record, lives):
    """Every stored contribution comes from a cut that a trainer has logged."""
    cuts = {(e["member"], e["seq"]) for life in lives for e in life.of_type("cut")}
    unknown = {key for key, tokens in record.stored.items() if tokens and key not in cuts}
    # A trainer stores the header after it has logged the cut, so even a kill leaves the line.
    expect(not unknown, f"no trainer has logged these cuts: {unknown}")


class Checks:
    """Compares what the sites have logged with the store, under the faults that happened."""

    def __init__(self, lives, faults, poisoned):
        self.lives, self.faults = lives, faults
        self.poisoned = poisoned  # sites whose ranks send NaN

    def patience_s(self):
        """How long a site may take from reading a header to the record that it builds then."""
        return 6 + max((fault.seconds for fault in self.faults), default=0)

    def struck(self, life):
        return [fault for fault in self.faults if (fault.site, fault.job) == (life.site, life.job)]

    def check(self, record):
        """Returns the work that was lost with good reason."""
        check_foreign(record, self.lives)
        lost = []
        for life in self.lives:
            self.check_exit(life)
            check_stated(life, record)
            check_exit_of_loser(life)
            lost += check_life(life, record)
        for member, removal in record.removed.items():
            self.check_removal(member, removal, record)
        for loss in lost:
            self.check_loss(loss, record)
        may_refuse = LOST_WITH_THE_MEMBER | {"stale"}
        may_refuse |= {"digest"} if self.lost_deltas() else set()
        for reason in record.refused:
            expect(reason in may_refuse, f"work was refused: {reason}")
        return lost

    def killed(self, life):
        return any(fault.lossy for fault in self.struck(life))

    def grace_was_too_short(self, life):
        """Whether the store failed for so long after a request to stop that a retry before the end
        of the grace may have come too late."""
        if life.asked is None:
            return False
        latest = life.asked + 0.8 * GRACE_S - RETRY_S
        return any(fault.breaks_store and fault.site in (None, life.site)
                   and fault.begun_at < latest < fault.ended_at for fault in self.faults)

    def found_no_store(self, life):
        """Whether the store failed while the job tried to join."""
        if life.exit is None or life.of_type("joined"):
            return False
        begin, end = (time_of(event["time"]) for event in (life.events[0], life.exit))
        return any(fault.breaks_store and fault.site in (None, life.site)
                   and fault.begun_at < end and begin < fault.ended_at for fault in self.faults)

    def was_replaced(self, life):
        """Whether another process of the site has joined while the job ran."""
        ended = time_of(life.exit["time"])
        twins = any(fault.doubles and fault.site == life.site for fault in self.faults)
        return twins and any(
            life.begun_at < time_of(event["time"]) < ended for other in self.lives
            if other is not life and other.site == life.site for event in other.of_type("joined"))

    def lost_the_chain(self, life):
        """Whether the store had lost commits when the job ended, and the job says what to do."""
        ended = time_of(life.exit["time"])
        return any(fault.taken and fault.taken_at < ended for fault in self.faults) and \
            "`curtail-store repair`" in life.log.read_text()

    def ended_without_the_chain(self, life):
        return life.exit is not None and life.exit["code"] == 76 and self.lost_the_chain(life)

    def ended_at_once(self, life):
        """Whether the job ended by an error that lets its member stay in the table."""
        diverged = life.site in self.poisoned and life.exit is not None and life.exit["code"] == 65
        return diverged or self.ended_without_the_chain(life)

    def lost_deltas(self):
        return any(name.startswith("deltas/")
                   for fault in self.faults for name in fault.taken)

    def check_exit(self, life):
        where = f"job {life.job} of {life.site}"
        if self.killed(life):
            return
        expect(life.exit is not None, f"{where} logged no exit, and nothing had killed it")
        code = life.exit["code"]
        may_lose = self.grace_was_too_short(life) or lost_tokens(life)  # see check_loss()
        allowed = {0} | ({69} if may_lose else set())
        allowed |= {69, 74, 77} if self.found_no_store(life) else set()
        # After NaN in many steps in a row, a trainer says that its training has diverged.
        allowed |= {65} if life.site in self.poisoned else set()
        allowed |= {75} if self.was_replaced(life) else set()
        allowed |= {76} if self.ended_without_the_chain(life) else set()
        expect(code in allowed, f"{where} exited with {code}")

    def longest_outage_s(self, site):
        """How long only this site had no store. Outages with a short pause in between count as one.
        An outage at all sites explains no removal."""
        longest, begin, end = 0, 0, 0
        for fault in sorted(self.faults, key=lambda fault: fault.begun_at):
            if fault.breaks_store and fault.site == site:
                begin = fault.begun_at if fault.begun_at > end + RETRY_S else begin
                end = max(end, fault.ended_at)
                longest = max(longest, end - begin)
        return longest

    def check_removal(self, member, removal, record):
        site = member.split(".")[0]
        if removal.reason in ("left", "complete") or self.longest_outage_s(site) > MAY_REMOVE_S:
            return
        causes = [fault for fault in self.faults if fault.site == site and fault.removes]
        causes += [life for life in self.lives if life.site == site and
                   (self.grace_was_too_short(life) or self.ended_at_once(life))]
        causes += [seq for owner, seq in record.gone if owner == member]
        expect(causes,
               f"{member} was removed ({removal.reason}), but no fault of {site} explains it")

    def check_loss(self, lost, record):
        """A kill loses what was trained since the last stored header; a removal, what its member
        has not stored before. Nothing else loses anything."""
        expect(lost.tokens <= record.held[lost.member],
               f"job {lost.life.job} of {lost.life.site} lost {lost.tokens} tokens, and its member "
               f"held {record.held[lost.member]}")
        removal = record.removed.get(lost.member)
        gone = sum(tokens for (owner, _), tokens in record.gone.items() if owner == lost.member)
        if lost.tokens <= gone or self.ended_without_the_chain(lost.life):
            return
        if self.killed(lost.life) or self.grace_was_too_short(lost.life) or \
                (removal and removal.reason in LOST_WITH_THE_MEMBER):
            return
        raise Failure(f"job {lost.life.job} of {lost.life.site} lost {lost.tokens} tokens")
