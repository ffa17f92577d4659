// SPDX-License-Identifier: Apache-2.0
// Evaluates the technical report's recorded hours with the default thresholds.
#include <gtest/gtest.h>

#include <map>

#include "run/samples/trace.hpp"
#include "run/windows/evaluate_interval.hpp"
#include "support/paths.hpp"

namespace curtail::windows {
namespace {

std::vector<SamplePoint> points_of(samples::Trace const& trace, RegionId const& region)
{
    std::vector<SamplePoint> points;
    auto const samples = trace.samples(region).value();
    points.reserve(samples.size());
    for (auto const& sample : samples)
        points.push_back({sample.time, intensity_of_type(sample, samples::SignalType::marginal)});
    return points;
}

// A region's openings and closings in seconds of trace time: `300 open`, `8100 closed`.
std::vector<std::string> decisions(samples::Trace const& trace, RegionId const& region)
{
    Time const start = trace.first_time();
    auto const result = evaluate_interval({}, start, points_of(trace, region), {},
                                          trace.last_time() + Seconds{86'400});
    std::vector<std::string> lines;
    for (auto const& change : result.changes) {
        if (change.from == Phase::closed || change.to == Phase::closed)
            lines.push_back(std::to_string((change.time - start) / Seconds{1}) + " " +
                            std::string(to_string(change.to)));
    }
    return lines;
}

TEST(RealDay, GivesExactlyEightDecisions)
{
    auto const trace = samples::read_trace(test::source_path("signals/mci_2026-01-11.csv")).value();
    std::map<std::string, std::vector<std::string>> found;
    for (auto const& [region, points] : trace.series())
        found[region.value] = decisions(trace, region);
    std::map<std::string, std::vector<std::string>> const expected{
        {"CAISO_NORTH", {"300 open", "8100 closed", "8400 open", "23700 closed"}},
        {"NEM_SA", {"16800 open", "55200 closed"}},
        {"SPP_TX", {"36300 open", "62100 closed"}},
        {"DE", {}}};
    EXPECT_EQ(found, expected);
}

}  // namespace
}  // namespace curtail::windows
