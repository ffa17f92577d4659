// SPDX-License-Identifier: Apache-2.0
#include "run/samples/sample_log.hpp"

#include <gmock/gmock.h>

#include "base/core/files.hpp"
#include "support/temporary_folder.hpp"

namespace curtail::samples {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

Time at(int second) { return parse_time("2026-03-01T00:00Z").value() + Seconds(second); }

Sample sample(int second, double grams, SignalType type = SignalType::marginal)
{
    Sample out{{at(second), GramsPerKwh{grams}}, "someone", type, {}};
    return out;
}

class SampleLogTest : public testing::Test {
  protected:
    SampleFile written(std::vector<Sample> const& samples)
    {
        SampleLog log(path_);
        EXPECT_TRUE(log.load());
        log.add({"R"}, samples);
        EXPECT_TRUE(log.write());
        return read_back();
    }
    [[nodiscard]] std::string text() const { return read_file(path_).value(); }
    [[nodiscard]] SampleFile read_back() const
    {
        auto const content = text();
        return parse_samples(std::array{SampleText{content, {}}});
    }

    test::TemporaryFolder folder_;
    std::filesystem::path path_{folder_ / "signals.jsonl"};
};

TEST_F(SampleLogTest, KeepsTheProvenanceOfASample)
{
    auto known = sample(300, 50);
    known.period = Seconds{300};
    known.estimated = true;
    known.generated_at = at(310);
    auto const file = written({sample(0, 40), known});
    EXPECT_THAT(text(), HasSubstr(R"("provider":"someone","kind":"marginal","period_s":300.0,)"
                                  R"("estimated":true,"generated_at":"2026-03-01T00:05:10)"));
    ASSERT_EQ(file.regions.size(), 1U);
    auto const& points = file.regions[0].points;
    EXPECT_THAT(points, ElementsAre(SamplePoint{at(0), GramsPerKwh{40}, std::nullopt},
                                    SamplePoint{at(300), GramsPerKwh{50}, Seconds{300}}));
    EXPECT_EQ(file.samples, 2);
    EXPECT_EQ(file.estimated, 1);
    EXPECT_THAT(file.providers, ElementsAre("someone"));
}

TEST_F(SampleLogTest, KeepsWhatTheProviderSent)
{
    auto received = sample(300, 50);
    received.origin = SampleOrigin{
        "https://x/v3/forecast", "lbs_co2_per_mwh", 110.2, at(301), "2023-03-01", "terms", "H4sI"};
    (void)written({sample(0, 40), received});
    EXPECT_THAT(text(), HasSubstr(R"("endpoint":"https://x/v3/forecast","unit":"lbs_co2_per_mwh",)"
                                  R"("value":110.2,"received":"2026-03-01T00:05:01)"));
    auto const line = text().substr(text().find('\n') + 1);
    EXPECT_EQ(origin_in(*json::parse(line, "line").value().as_object()), received.origin);
    auto const first = text().substr(0, text().find('\n'));
    EXPECT_EQ(origin_in(*json::parse(first, "line").value().as_object()), std::nullopt);
}

TEST_F(SampleLogTest, OfSeveralTextsTheFirstSampleCounts)
{
    (void)written({sample(0, 40), sample(300, 50)});
    auto const first = text();
    std::filesystem::remove(path_);
    (void)written({sample(0, 41), sample(300, 50), sample(600, 60)});
    auto const second = text();
    std::vector<SampleText> const texts{{first, {}}, {second, {RegionId{"R"}}}};
    auto const file = parse_samples(texts);
    ASSERT_EQ(file.regions.size(), 1U);
    EXPECT_THAT(file.regions[0].points, ElementsAre(SamplePoint{at(0), GramsPerKwh{40}},
                                                    SamplePoint{at(300), GramsPerKwh{50}},
                                                    SamplePoint{at(600), GramsPerKwh{60}}));
    EXPECT_EQ(file.contradictions, 1);
    std::vector<SampleText> const other{{first, {}}, {second, {RegionId{"S"}}}};
    EXPECT_EQ(parse_samples(other).samples, 2) << "the second text is that of region S";
    EXPECT_EQ(parse_samples(other).broken_lines.at(1).count, 3);
}

TEST_F(SampleLogTest, SaysNothingThatTheProviderDoesNotSay)
{
    (void)written({sample(0, 40)});
    for (auto const* key : {"period_s", "estimated", "generated_at"})
        EXPECT_THAT(text(), Not(HasSubstr(key)));
}

TEST_F(SampleLogTest, KeepsAverageSamplesApartFromMarginalOnes)
{
    auto const file = written({sample(0, 40), sample(0, 400, SignalType::average), sample(300, 60),
                               sample(600, 500, SignalType::average)});
    ASSERT_EQ(file.regions.size(), 1U);
    EXPECT_THAT(file.regions[0].points, ElementsAre(SamplePoint{at(0), GramsPerKwh{40}},
                                                    SamplePoint{at(300), GramsPerKwh{60}}));
    ASSERT_EQ(file.averages.size(), 1U);
    EXPECT_THAT(file.averages[0].points, ElementsAre(SamplePoint{at(0), GramsPerKwh{400}},
                                                     SamplePoint{at(600), GramsPerKwh{500}}));
    EXPECT_EQ(file.samples, 2);
}

TEST_F(SampleLogTest, WritesNoSampleOfAKindTwice)
{
    std::vector const both{sample(0, 40), sample(0, 400, SignalType::average)};
    (void)written(both);
    auto const before = text();
    (void)written(both);
    EXPECT_EQ(text(), before);
}

TEST_F(SampleLogTest, ReadsLinesWithoutAKindAsMarginalAndLeavesOutUnknownKinds)
{
    ASSERT_TRUE(write_file(
        path_, R"({"region":"R","time":"2026-03-01T00:00:00Z","intensity_gco2_per_kwh":40,)"
               R"("provider":"watttime"})"
               "\n"
               R"({"region":"R","time":"2026-03-01T00:05:00Z","intensity_gco2_per_kwh":7,)"
               R"("provider":"watttime","kind":"percentile"})"
               "\n"));
    auto const file = read_back();
    ASSERT_EQ(file.regions.size(), 1U);
    EXPECT_THAT(file.regions[0].points, ElementsAre(SamplePoint{at(0), GramsPerKwh{40}}));
    EXPECT_EQ(file.broken_lines.at(0).count, 1);
}

TEST_F(SampleLogTest, ReadsTheFirstOfTwoLinesForOneTimeAndLeavesOutImplausibleOnes)
{
    auto const line = [](char const* time, char const* intensity) {
        return std::string(R"({"region":"R","time":"2026-03-01T00:)") + time +
               R"(:00Z","intensity_gco2_per_kwh":)" + intensity + "}\n";
    };
    ASSERT_TRUE(write_file(
        path_, line("00", "40") + line("00", "4000") + line("05", "1e9") + line("10", "-2001")));
    auto const file = read_back();
    ASSERT_EQ(file.regions.size(), 1U);
    EXPECT_THAT(file.regions[0].points, ElementsAre(SamplePoint{at(0), GramsPerKwh{40}}));
    EXPECT_EQ(file.broken_lines.at(0).count, 2);
}

}  // namespace
}  // namespace curtail::samples
