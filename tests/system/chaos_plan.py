# SPDX-License-Identifier: Apache-2.0
"""How a seed of a chaos run chooses its faults."""
import random

from chaos_faults import (Drain, FullStore, GatewayRestart, KillMerger, KillMpirun, KillPoller,
                          KillRank, KillSite, Pause, Reset, Stall, Terminate, Twins)
from chaos_run import DROP_AFTER_S, SITES, SKEW_S
from chaos_store import LostCommit, OlderStore

SHORT_S = (0.5, 8)  # shorter than `drop_after`
LONG_PAUSE_S = (DROP_AFTER_S + SKEW_S + 2, DROP_AFTER_S + SKEW_S + 6)


class Plan:
    """What a seed chooses. An undisturbed run trains for longer than `latest_s`."""

    def __init__(self, seed, latest_s, in_bucket, can_fill):
        self.random = random.Random(seed)
        self.closed = self.choose_windows(latest_s)
        sites = [site for site in SITES if self.closed.get(site, (1, 1))[0] > 0]
        self.poison = {}
        if self.random.random() < 0.25:
            self.poison[self.random.choice(sites)] = \
                f"{self.random.randint(10, 200)} {self.random.choice([1, 3, 12, 40])}"
        of_sites = [self.kill_site, self.kill_part, self.pause, self.stop, self.twins]
        of_stores = [self.restart, self.cut, self.cut] if in_bucket else [self.fill]
        if len(sites) > 1 and not in_bucket:
            of_stores.append(self.kill_merger)  # one site alone merges nothing
        of_chain = [self.lose_commit, self.set_back]
        kinds = self.random.choices([*of_sites, *of_stores, *of_chain, self.kill_poller],
                                    k=self.random.randint(1, 3))
        chosen = [kind(self.random.uniform(0, latest_s), self.random.choice(sites))
                  for kind in kinds]
        if len(chosen) > 1 and self.random.random() < 0.5:
            # The second fault begins during the first one.
            chosen[1].after = chosen[0].after + self.random.uniform(0, max(chosen[0].seconds, 1))
        chosen.sort(key=lambda fault: fault.after)
        self.left_out = [f for f in chosen if isinstance(f, FullStore) and not can_fill]
        self.faults = [fault for fault in chosen if fault not in self.left_out]

    def choose_windows(self, latest_s):
        """Usually, all windows stay open. Those of up to two sites never open, and one may close
        for a while."""
        taking_part = self.random.choices([1, 2, 3], [15, 15, 70])[0]
        closed = {site: (0, 600) for site in SITES[taking_part:]}
        if self.random.random() < 0.3:
            begin = self.random.randint(6, 6 + int(latest_s))
            closed[SITES[0]] = (begin, begin + self.random.randint(2, 8))
        return closed

    def __str__(self):
        text = ", ".join(map(str, self.faults)) or "nothing"
        if self.left_out:
            left_out = ", ".join(map(str, self.left_out))
            text += f" (left out, because mounting is not allowed: {left_out})"
        for site, (begin, end) in self.closed.items():
            text += f", {site} closed from {begin} to {end} s"
        for site, messages in self.poison.items():
            text += f", NaN in messages of {site}: {messages}"
        return text

    def kill_site(self, after, site):
        return KillSite(after, site)

    def kill_part(self, after, site):
        fault = self.random.choice([KillRank, KillMpirun])(after, site)
        fault.rank = self.random.randrange(2)
        return fault

    def kill_merger(self, after, _):
        return KillMerger(after)

    def kill_poller(self, after, _):
        return KillPoller(after)

    def pause(self, after, site):
        long = self.random.random() < 0.3
        return Pause(after, site, self.random.uniform(*(LONG_PAUSE_S if long else SHORT_S)))

    def stop(self, after, site):
        return self.random.choice([Terminate, Drain])(after, site)

    def fill(self, after, _):
        return FullStore(after, None, self.random.uniform(*SHORT_S))

    def restart(self, after, _):
        return GatewayRestart(after, None, self.random.uniform(*SHORT_S))

    def cut(self, after, site):
        return self.random.choice([Reset, Stall])(after, site, self.random.uniform(*SHORT_S))

    def lose_commit(self, after, _):
        """Half of the time, it is the newest one."""
        return LostCommit(after, self.random.choice([1.0, self.random.random()]))

    def set_back(self, after, _):
        return OlderStore(after, None, self.random.uniform(*SHORT_S))

    def twins(self, after, site):
        """They begin early enough that both train before the run is complete."""
        fault = Twins(after / 2, site, self.random.uniform(5, 12))
        fault.copied = self.random.random() < 0.5
        return fault
