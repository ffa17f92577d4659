// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <string>

namespace curtail::account::test {

/// Variants of the synthetic run.
struct Synthetic {
    bool empty{false};  ///< configured, nothing has happened
    double stop_at{
        70'000};       ///< trace second at which the record ends: with windows open, if it is early
    bool gaps{false};  ///< the trace has intervals without samples
    std::string
        region_suffix{};   ///< appended to a region, to device texts and reasons: foreign text
    bool evaluated{true};  ///< evaluation.json exists
    int chatter{0};        ///< number of extra events of the first site, as in a very long run
};

/// Writes the files of a run with three sites, as a demo leaves them, at a clock factor of 300 over
/// the trace in signals/: configuration
/// (`run.json`), trace (`trace.csv`), clock, events, metrics and the chain of commits. Everything
/// follows from the arguments.
void write_synthetic_run(std::filesystem::path const& folder, Synthetic const& how);

}  // namespace curtail::account::test
