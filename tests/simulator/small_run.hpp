// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "protocol/records/record.hpp"

namespace curtail::protocol::simulator {

/// A small run with intervals of seconds.
inline RunSpec small_run(std::int64_t blocks = 40,
                         std::vector<SiteId> sites = {{"A"}, {"B"}, {"C"}})
{
    RunSpec run;
    run.run = {"test"};
    run.model = {{"layers", 2}};
    run.manifest = sha256("manifest");
    run.blocks_per_epoch = blocks;
    run.tensors = {"wte", "head"};
    run.sites = std::move(sites);
    auto& p = run.params;
    p.block_tokens = {8};
    p.grant_quantum = 1;
    p.round_time = p.checkpoint_interval = Seconds{3};
    p.gather_time = Seconds{3};
    p.lease = Seconds{5};
    p.first_base_wait = Seconds{4};
    p.poll_run = p.poll_run_lone = p.poll_run_starved = p.poll_wait = Millis{300};
    p.drop_after = Seconds{9};
    p.skew = Seconds{2};
    p.status_interval = Seconds{1};
    return run;
}

}  // namespace curtail::protocol::simulator
