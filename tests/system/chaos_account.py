# SPDX-License-Identifier: Apache-2.0
"""The account of a run, to the block: what the store has and what the model includes, computed from
the records, headers and payloads in the store, without the programs under test."""
import hashlib
import io
import json
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime

import h5py
import numpy as np

from harness import expect

BLOCK = 128
LOST_WITH_THE_MEMBER = {"silent", "succeeded", "quarantined"}


def time_of(text):
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def sha256(content):
    return hashlib.sha256(content).hexdigest()


def canonical(record):
    return json.dumps(record, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def read_record(store, name):
    """A record of the store, and the digest of its bytes. Its own digest must be right."""
    content = store.read(name)
    record = json.loads(content)
    expect(canonical(record) == content, f"{name} is not canonical JSON")
    without = {key: value for key, value in record.items() if key != "self"}
    expect(record["self"] == sha256(canonical(without)), f"{name}: wrong digest `self`")
    return record, sha256(content)


def blocks_of(ranges):
    return {block for begin, end in ranges for block in range(begin, end)}


def read_values(store, part):
    """All values of a payload, one tensor after the other in order of name."""
    content = store.read(part["name"])
    expect(sha256(content) == part["sha256"] and len(content) == part["bytes"],
           f"{part['name']}: wrong digest or size")
    values = []
    with h5py.File(io.BytesIO(content), "r") as file:
        file.visititems(lambda _, item: values.append(item[...].ravel())
                        if isinstance(item, h5py.Dataset) else None)
    return np.concatenate(values)


@dataclass
class Removal:
    reason: str
    commit: int
    time: float  # seconds; the store's clock when the commit's writer made the record


@dataclass
class Record:
    """What the chain and the headers of a run say, after all checks that need no log."""
    tip: dict
    decided: dict  # (member, seq) -> entry of `decided`, with the number of its commit
    removed: dict  # member -> Removal
    held: dict  # member -> tokens of the blocks that it last held
    stored: dict = field(default_factory=dict)  # (member, seq) -> tokens that the store received
    refused: Counter = field(default_factory=Counter)  # reason -> tokens
    gone: dict = field(default_factory=dict)  # (member, seq) -> tokens that it has lost again


class Chain:
    """Reads the commits one after the other and checks each against those before."""

    def __init__(self, store):
        self.store = store
        self.run, self.digest = read_record(store, "run.json")
        self.parent, self.done, self.tokens = None, set(), 0
        self.decided, self.removed, self.held, self.admitted = {}, {}, {}, set()

    def read(self):
        names = sorted(self.store.names("commits/"))
        for number, name in enumerate(names, 1):
            expect(name == f"commits/{number:08}.json", f"{name} instead of commit {number}")
            commit, digest = read_record(self.store, name)
            expect(commit["number"] == number and commit["parent"] == self.digest,
                   f"{name} does not follow from the commit before it")
            self.check_decisions(commit)
            self.check_members(commit)
            self.check_model(commit)
            self.parent, self.digest = commit, digest
        return Record(self.parent, self.decided, self.removed, self.held)

    def check_decisions(self, commit):
        held = {m["id"]: blocks_of(m["held"]) for m in (self.parent or {"members": []})["members"]}
        seqs = {m["id"]: m["seq"] for m in (self.parent or {"members": []})["members"]}
        for entry in commit["decided"]:
            key, blocks = (entry["member"], entry["seq"]), blocks_of(entry["ranges"])
            where = f"commit {commit['number']}, contribution {key}"
            expect(key not in self.decided, f"{where} was decided before")
            expect(entry["seq"] == seqs[entry["member"]] + 1, f"{where} is out of order")
            seqs[entry["member"]] += 1
            self.decided[key] = {**entry, "commit": commit["number"]}
            if entry["outcome"] != "included":
                expect(entry["reason"], f"{where} was refused without a reason")
                continue
            expect(not blocks & self.done, f"{where} includes blocks a second time")
            expect(blocks <= held[entry["member"]], f"{where} has blocks that its member lacks")
            expect(entry["tokens"] == BLOCK * len(blocks), f"{where} has {entry['tokens']} tokens")
            held[entry["member"]] -= blocks
            self.done |= blocks
            self.tokens += entry["tokens"]
        expect(blocks_of(commit["data"]["done"]) == self.done,
               f"commit {commit['number']}: `done` is not the union of all contributions")
        expect(commit["totals"]["tokens"] == self.tokens, f"commit {commit['number']}: totals")

    def check_members(self, commit):
        before = {m["id"] for m in self.parent["members"]} if self.parent else set()
        after = {m["id"] for m in commit["members"]}
        self.held |= {m["id"]: BLOCK * len(blocks_of(m["held"])) for m in commit["members"]}
        for entry in commit["removed"]:
            member = entry["member"]
            expect(member not in self.removed and entry["reason"], f"removal of {member}")
            self.removed[member] = Removal(entry["reason"], commit["number"], commit["time"] / 1000)
        gone = {entry["member"] for entry in commit["removed"]}
        expect(before - after == gone - after and not gone & after,
               f"commit {commit['number']}: members vanished without a reason")
        expect(not (after - before) & self.admitted,
               f"commit {commit['number']} admits a member a second time")
        self.admitted |= after

    def check_model(self, commit):
        """Recomputes the model of a merge from the model before it and the contributions."""
        included = [d for d in commit["decided"] if d["outcome"] == "included" and d["ranges"]]
        if not included:
            if self.parent:
                expect(commit["model"] == self.parent["model"], "a roster commit changed the model")
            return
        inline = any(entry["inline"] for entry in included)
        new = read_values(self.store, commit["model"]["parts"][0])
        if inline:  # the weights of a lone site; they cannot be recomputed
            expect(np.isfinite(new).all(), f"commit {commit['number']}: the model is not finite")
            return
        of_member = Counter()
        for entry in included:
            of_member[entry["member"]] += entry["tokens"]
        change = np.zeros_like(new)
        for entry in included:
            header = json.loads(self.store.read(header_name(entry["member"], entry["seq"])))
            weight = of_member[entry["member"]] / (1 + 0.25 * entry["staleness"])
            scale = np.float32(weight / of_member.total())
            expect(scale.view(np.uint32) == int(entry["scale"], 16),
                   f"commit {commit['number']}: scale {entry['scale']} instead of {scale}")
            change = change + scale * read_values(self.store, header["parts"][0])
        old = read_values(self.store, self.parent["model"]["parts"][0])
        expect(np.array_equal(old - change, new),
               f"commit {commit['number']}: the model is not the merge of its contributions")


def header_name(member, seq):
    return f"contrib/{member}/{seq}.json"


def check_header(store, name, record, patience_s):
    """A stored contribution is decided as announced, its member can still contribute it, or its
    member was removed with a reason."""
    header, digest = read_record(store, name)
    key = (header["member"], header["seq"])
    expect(name == header_name(*key), f"{name} is the header of {key}")
    tokens = BLOCK * len(blocks_of(header["ranges"]))
    expect(header["tokens"] == tokens, f"{name} has {header['tokens']} tokens")
    record.stored[key] = tokens
    entry = record.decided.get(key)
    if entry is not None:
        if entry["outcome"] == "refused":
            record.refused[entry["reason"]] += tokens
        if entry["inline"]:  # a lone site stored the header, but not before others merged it
            expect(entry["ranges"] == header["ranges"], f"{name} has other blocks than the record")
            return
        expect(entry["header_sha256"] == digest, f"{name} differs from what the record decided")
        expect(entry["outcome"] == "refused" or (entry["ranges"] == header["ranges"]
                                                 and entry["tokens"] == tokens),
               f"{name} has other blocks than the record")
        return
    if header["member"] in {member["id"] for member in record.tip["members"]}:
        return
    removal = record.removed.get(header["member"])
    expect(removal is not None, f"{name} was neither decided nor was its member removed")
    expect(removal.reason in LOST_WITH_THE_MEMBER or tokens == 0,
           f"{name} was not decided; its member was removed: {removal.reason}")
    waited = removal.time - store.time(name)
    following = (header["member"], header["seq"] - 1) in record.decided or header["seq"] == 1
    expect(not following or waited < patience_s,
           f"{name} was in the store for {waited:.1f} s when its member was removed "
           f"({removal.reason}) in commit {removal.commit}")
    if tokens:
        record.refused[removal.reason] += tokens


def read_contributions(store, patience_s):
    """Checks the store; `patience_s` is how long a site may take from its read of a header to its
    record."""
    record = Chain(store).read()
    for name in store.names("contrib/"):
        check_header(store, name, record, patience_s)
    for key, entry in record.decided.items():
        if entry["inline"]:
            record.stored[key] = entry["tokens"]
        else:
            expect(key in record.stored, f"the store has no header of {key}")
    return record


def read_store(store, total_blocks, patience_s, poisoned):
    """Checks the store of a complete run, as read_contributions() does. Only in a `poisoned` run
    may blocks have been set aside."""
    record = read_contributions(store, patience_s)
    done, aside = (blocks_of(record.tip["data"][key]) for key in ("done", "aside"))
    expect(record.tip["complete"] and not done & aside and
           done | aside == set(range(total_blocks)),
           f"the run ended with {len(done)} of {total_blocks} blocks, and {len(aside)} set aside")
    expect(not record.tip["members"], "a member has not left")
    expect(poisoned or not aside and not record.tip["skipped"], "blocks were skipped")
    return record
