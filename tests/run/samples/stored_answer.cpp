// SPDX-License-Identifier: Apache-2.0
#include "run/samples/stored_answer.hpp"

#include <gmock/gmock.h>

#include "base/compress/gzip.hpp"
#include "base/core/base64.hpp"
#include "run/samples/sample_log.hpp"
#include "run/samples/watttime_points.hpp"

namespace curtail::samples {
namespace {

constexpr char const* body =
    R"({"data":[{"point_time":"2026-03-01T00:05:00+00:00","value":870.5}],"meta":{)"
    R"("region":"R","units":"lbs_co2_per_mwh","signal_type":"co2_moer","warnings":null,)"
    R"("data_point_period_seconds":300,"model":{"date":"2023-03-01"},)"
    R"("generated_at":"2026-03-01T00:05:20+00:00"}})";

// The line that the poller writes for the answer.
json::Object line()
{
    auto const response = json::parse(body, "body").value();
    auto sample = watttime::read_points(response, {"R"}, "test").value().samples.at(0);
    sample.origin->endpoint = "https://x/v3/forecast";
    sample.origin->received = sample.time + Seconds{30};
    sample.origin->answer = to_base64(gzip(body));
    return line_of({"R"}, sample);
}

TEST(StoredAnswer, ConfirmsTheLineOfThePoller)
{
    EXPECT_EQ(check_answer(line()), AnswerCheck::agrees);
    auto const rewritten = json::parse(json::to_string(line()), "line").value();
    EXPECT_EQ(check_answer(*rewritten.as_object()), AnswerCheck::agrees);
}

// Programs of other versions may write other licences, and more members.
TEST(StoredAnswer, SaysNothingAboutWhatThePollerAdds)
{
    auto other = line();
    other.set("licence", "another text");
    other.set("endpoint", "https://y");
    other.set("something", "new");
    EXPECT_EQ(check_answer(other), AnswerCheck::agrees);
}

TEST(StoredAnswer, ContradictsALineOfWhichAnyMemberWasChanged)
{
    auto const good = line();
    for (auto const& [key, value] : std::vector<std::pair<char const*, json::Value>>{
             {"region", "S"},
             {"time", "2026-03-01T00:10:00Z"},
             {"intensity_gco2_per_kwh", 100},
             {"intensity_gco2_per_kwh", json::Value()},
             {"kind", "average"},
             {"period_s", 600},
             {"estimated", true},
             {"generated_at", "2026-03-01T00:01:00Z"},
             {"unit", "g_per_kwh"},
             {"value", 220.5},
             {"model", "2020-01-01"},
         }) {
        auto changed = good;
        changed.set(key, value);
        EXPECT_EQ(check_answer(changed), AnswerCheck::differs) << key;
    }
    auto both = good;
    both.set("value", 2 * 870.5);
    both.set("intensity_gco2_per_kwh", from_lbs_per_mwh(2 * 870.5).value);
    EXPECT_EQ(check_answer(both), AnswerCheck::differs);
    json::Object shorter;
    for (auto const& [key, value] : good.members())
        if (key != "period_s") shorter.set(key, value);
    EXPECT_EQ(check_answer(shorter), AnswerCheck::differs);
}

TEST(StoredAnswer, IsDamagedOrThatOfAnotherTime)
{
    std::string other = body;
    other.replace(other.find("00:05:00"), 8, "00:10:00");
    for (auto const& answer : {std::string("x"), to_base64("no gzip"), to_base64(gzip("no JSON")),
                               to_base64(gzip("{}")), to_base64(gzip(other)),
                               to_base64(gzip(std::string(SampleOrigin::longest_body, ' ') + body)),
                               std::string(5000, 'A')}) {
        auto changed = line();
        changed.set("answer", answer);
        EXPECT_EQ(check_answer(changed), AnswerCheck::differs) << answer.substr(0, 40);
    }
}

TEST(StoredAnswer, ThatIsMissingOrOfAnUnknownProviderSaysNothing)
{
    auto changed = line();
    changed.set("answer", json::Value());
    EXPECT_EQ(check_answer(changed), AnswerCheck::none);
    changed = line();
    changed.set("provider", "someone");
    EXPECT_EQ(check_answer(changed), AnswerCheck::none);
}

// What is contradicted is unknown, and what nothing confirms is named.
TEST(StoredAnswer, DecidesWhetherASampleCounts)
{
    auto changed = line();
    changed.set("value", 2 * 870.5);
    changed.set("intensity_gco2_per_kwh", from_lbs_per_mwh(2 * 870.5).value);
    auto bare = line();
    bare.set("answer", json::Value());
    auto const read = [](json::Object const& object) {
        auto const text = json::to_string(object) + "\n";
        return parse_samples(std::array{SampleText{text, {}}});
    };
    auto const good = read(line());
    EXPECT_TRUE(good.regions.at(0).points.at(0).intensity);
    EXPECT_TRUE(good.faults.empty());
    EXPECT_TRUE(good.unconfirmed.empty());
    auto const forged = read(changed);
    EXPECT_FALSE(forged.regions.at(0).points.at(0).intensity);
    EXPECT_EQ(forged.faults.at(0).fault, SampleFault::contradicted);
    auto const unconfirmed = read(bare);
    EXPECT_TRUE(unconfirmed.regions.at(0).points.at(0).intensity);
    EXPECT_EQ(unconfirmed.unconfirmed.at(0).count, 1);
}

}  // namespace
}  // namespace curtail::samples
