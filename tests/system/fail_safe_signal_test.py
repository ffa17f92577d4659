# SPDX-License-Identifier: Apache-2.0
"""As fail_safe_test.py: here, the provider of the signal falls silent in an open window. The poller
waits for 30 s between two queries, so this test takes long and is on its own."""
import time

from harness import case, expect, main, wait_for
from rig import (CLOSE_DELAY_S, LIFETIME_S, LONG, MAX_AGE_S, POLL_PERIOD_S, Rig,
                 expect_stop_in_time)
from slurm_clusters import shared_cluster
from watttime_double import WattTimeDouble


@case(seconds=67)
def fail_safe_when_the_provider_is_silent(cluster):
    # WattTime has one value per 5 minutes. The first one is old when the poller receives it, and
    # ends soon.
    clean_s, period_s, query_s = (35 if not LONG else 200), 300, 10
    with WattTimeDouble() as provider:
        provider.control(lbs=100, period_ends_in_s=clean_s)
        period_ends = time.monotonic() + clean_s
        with Rig(cluster, source=provider.poller_options, changes={
                "region": "CAISO_NORTH", "signal_max_age_s": period_s + MAX_AGE_S,
                # The verdict must end the permission: it lasts longer than a query and the delay.
                "permission_lifetime_s": LIFETIME_S + 3 * query_s}) as rig:
            rig.start_poller()
            rig.wait_for_steps(5, "training")
            provider.control(fault="slow", times=1)  # accepts the query, and never answers
            provider.control(fault="status503", times=1000)
            queries = provider.queries()
            expect_stop_in_time(rig, period_ends, MAX_AGE_S + CLOSE_DELAY_S + query_s +
                                2 * POLL_PERIOD_S)
            wait_for(lambda: rig.watch.seen[-1]["lifetime_s"] == 0, "the end of the permission")
            expect(provider.queries() > queries, "the poller did not query the silent provider")
            provider.control(no_faults=1)
            rig.wait_for_steps(5, "training after the first fresh sample")
            expect(len(rig.windows()) == 2, f"windows {rig.windows()}")
            rig.check_steps()


if __name__ == "__main__":
    main(cluster=shared_cluster)
