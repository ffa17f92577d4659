// SPDX-License-Identifier: Apache-2.0
#include "trainer/job/run_at_start.hpp"

#include "protocol/chain/run_objects.hpp"
#include "protocol/records/names.hpp"

namespace curtail::trainer {

StopDeadline deadline_at_start(SiteRanks& ranks, StopTimes const& times)
{
    return [&ranks, times] {
        ranks.heartbeat();
        return stop_deadline(ranks.stop(), times, StopPoint::transfers_begin);
    };
}

Result<RunAtStart> open_run(SiteInputs const& inputs, StopDeadline const& stop_at)
{
    auto const open = [address = inputs.run.store_for(inputs.site),
                       id = inputs.run.run](CallLimits const& call) -> Result<RunAtStart> {
        auto opened = store::open_store(address);
        if (!opened) return tl::unexpected(opened.error());
        RunAtStart run{std::move(*opened), {}, {}};
        auto record = chain::RunObjects(*run.store, id, nullptr, call).record(protocol::run_name);
        if (!record && call.is_over()) return tl::unexpected(record.error());
        if (record && *record) {
            run.spec = protocol::decode_run(**record);
            run.record = std::move(*record);
        }
        return run;
    };
    return answer_in_time<RunAtStart>(start_read_limit, stop_at, open);
}

}  // namespace curtail::trainer
