// SPDX-License-Identifier: Apache-2.0
#include "poller/signals/watttime_provider.hpp"

#include <algorithm>

#include "base/core/private_file.hpp"

namespace curtail::signals {
namespace {

constexpr Seconds first_backoff{30};
constexpr Seconds max_backoff{300};
// Limit on a server's Retry-After and on a stored wait: a wrong clock must not silence a region
// for days.
constexpr Seconds max_retry_after{3600};

// Returns whether `file` was written after or with `other`. Returns false if either is missing.
bool is_newer(std::filesystem::path const& file, std::filesystem::path const& other)
{
    std::error_code missing;
    auto const time = std::filesystem::last_write_time(file, missing);
    std::error_code other_missing;
    auto const other_time = std::filesystem::last_write_time(other, other_missing);
    return !missing && !other_missing && time >= other_time;
}

// The provider may still send a value for a sample without one.
bool covers(std::vector<samples::Sample> const& samples, Time now)
{
    return std::ranges::any_of(samples, [&](samples::Sample const& sample) {
        return sample.intensity && sample.time <= now && now < sample.time + watttime::data_period;
    });
}

bool is_backing_off(watttime::RegionState const& state, Time now)
{
    auto const max_wait = state.server_asked ? max_retry_after : max_backoff;
    return state.not_before && now < *state.not_before && *state.not_before <= now + max_wait;
}

}  // namespace

Answer WattTimeProvider::samples(RegionId const& region, Time from, Time to)
{
    auto& state = state_of(region);
    if (!covers(state.samples, to) && !is_backing_off(state, to)) {
        query(region, state, to);
        store(region, state);
    }
    // With a present value, a problem is over: this machine's clock may have been wrong.
    Answer answer{{}, covers(state.samples, to) ? std::nullopt : state.problem};
    std::ranges::copy_if(
        state.samples, std::back_inserter(answer.samples),
        [&](samples::Sample const& sample) { return sample.time >= from && sample.time <= to; });
    return answer;
}

void WattTimeProvider::query(RegionId const& id, State& state, Time now)
{
    auto live = client_.live(id);
    if (!live) return back_off(state, live.error(), now);
    for (auto const& warning : live->warnings)
        options().log.warning("WattTime warns about " + id.value + ": " + warning);
    accept(id, state, std::move(live->samples.front()), now);
}

void WattTimeProvider::back_off(State& state, Error const& problem, Time now) const
{
    Seconds const own = std::min(max_backoff, first_backoff * (1 << state.failures));
    Seconds const requested = std::min(client_.retry_after(), max_retry_after);
    state.failures = std::min(state.failures + 1, watttime::max_failures);
    state.not_before = now + std::max(own, requested);
    state.server_asked = requested > own;
    state.problem = problem;
}

void WattTimeProvider::accept(RegionId const& id, State& state, samples::Sample sample,
                              Time now) const
{
    state.failures = 0;
    state.not_before = now + first_backoff;  // in case the server is late with its next value
    state.server_asked = false;
    state.problem.reset();
    if (sample.time > now + watttime::data_period) {
        state.problem = Error{ExitCode::data, "cannot use WattTime's value for " + id.value,
                              "its time is " + format_time(sample.time) +
                                  ", but this machine's clock shows " + format_time(now),
                              "set the clock"};
        return;
    }
    if (now - sample.time >= 2 * watttime::data_period)
        state.problem = Error{ExitCode::temporary, "WattTime has no new value for " + id.value,
                              "the newest value is from " + format_time(sample.time), "will retry"};
    watttime::insert(state.samples, std::move(sample));
}

std::filesystem::path WattTimeProvider::file_of(RegionId const& region) const
{
    return options().state_folder / ("watttime-" + region.value + ".json");
}

WattTimeProvider::State& WattTimeProvider::state_of(RegionId const& id)
{
    auto const [place, is_new] = states_.try_emplace(id);
    auto& state = place->second;
    // The client reports an invalid name when it queries the server.
    if (!is_new || !is_plain_name(id.value)) return state;
    state = watttime::read_state(file_of(id), options().log);
    bool const is_rejected =
        state.problem && state.problem->code == ExitCode::permission && !state.server_asked;
    if (is_rejected && is_newer(options().credentials_file, file_of(id))) state.not_before.reset();
    return state;
}

void WattTimeProvider::store(RegionId const& id, State const& state) const
{
    if (!options().writes || !is_plain_name(id.value)) return;
    // The client reports a folder that is open to others.
    if (!ensure_private_folder(options().state_folder)) return;
    if (auto written = watttime::write_state(file_of(id), state); !written)
        options().log.warning(written.error().message());
}

}  // namespace curtail::signals
