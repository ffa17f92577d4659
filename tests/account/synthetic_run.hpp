// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <string>

namespace curtail::account::test {

/// What a made-up run looks like.
struct Synthetic {
    bool empty{false};  ///< configured, nothing has happened
    double stop_at{
        70'000};       ///< trace second at which the record ends: with windows open, if it is early
    bool gaps{false};  ///< the trace has stretches without samples
    std::string
        region_suffix{};   ///< appended to a region, to device texts and reasons: foreign text
    bool evaluated{true};  ///< evaluation.json is there
    int chatter{0};  ///< so many more events of the first site, as a very long run leaves them
};

/// Writes a run with three sites as a demo leaves it, at a clock factor of 300 over the trace in
/// signals/: configuration
/// (`run.json`), trace (`trace.csv`), clock, events, metrics and the chain of commits. Everything
/// follows from the arguments.
void write_synthetic_run(std::filesystem::path const& folder, Synthetic const& how);

}  // namespace curtail::account::test
