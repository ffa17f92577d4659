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

TEST_F(SampleLogTest, ContradictingTextsMakeTheIntensityUnknownInAnyOrder)
{
    (void)written({sample(0, 40), sample(300, 50)});
    auto const first = text();
    std::filesystem::remove(path_);
    (void)written({sample(0, 41), sample(300, 50), sample(600, 60)});
    auto const second = text();
    for (auto const& texts : {std::vector<SampleText>{{first, {}}, {second, {RegionId{"R"}}}},
                              std::vector<SampleText>{{second, {}}, {first, {}}}}) {
        auto const file = parse_samples(texts);
        ASSERT_EQ(file.regions.size(), 1U);
        EXPECT_THAT(file.regions[0].points, ElementsAre(SamplePoint{at(0), std::nullopt},
                                                        SamplePoint{at(300), GramsPerKwh{50}},
                                                        SamplePoint{at(600), GramsPerKwh{60}}));
        EXPECT_THAT(file.faults,
                    ElementsAre(FaultySamples{SampleFault::contradicted, RegionId{"R"},
                                              SignalType::marginal, 0, 1, 1, at(0), at(0)}));
    }
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

TEST_F(SampleLogTest, TwoLinesForOneTimeContradictEachOtherAndImplausibleOnesAreLeftOut)
{
    auto const line = [](char const* time, char const* intensity) {
        return std::string(R"({"region":"R","time":"2026-03-01T00:)") + time +
               R"(:00Z","intensity_gco2_per_kwh":)" + intensity + "}\n";
    };
    ASSERT_TRUE(write_file(
        path_, line("00", "40") + line("00", "4000") + line("05", "1e9") + line("10", "-2001")));
    auto const file = read_back();
    ASSERT_EQ(file.regions.size(), 1U);
    EXPECT_THAT(file.regions[0].points, ElementsAre(SamplePoint{at(0), std::nullopt}));
    EXPECT_EQ(file.faults.size(), 1U);
    EXPECT_EQ(file.broken_lines.at(0).count, 2);
}

// Lines of a log: point time, intensity, when it was received and when it was computed, in seconds.
struct Line {
    int time;
    double intensity;
    std::optional<int> received{};
    std::optional<int> generated{};
    int period{300};
};
std::string text_of(std::vector<Line> const& lines)
{
    std::string text;
    for (auto const& line : lines) {
        json::Object object{{"region", "R"},
                            {"time", format_time(at(line.time))},
                            {"intensity_gco2_per_kwh", line.intensity},
                            {"provider", "p"},
                            {"kind", "marginal"},
                            {"period_s", line.period}};
        if (line.received) object.set("received", format_time(at(*line.received)));
        if (line.generated) object.set("generated_at", format_time(at(*line.generated)));
        text += json::to_string(object) + "\n";
    }
    return text;
}
// The intensities of the samples, and the faults.
std::pair<std::vector<std::optional<double>>, std::vector<SampleFault>> read(
    std::vector<std::vector<Line>> const& sites, TimeRange received = {})
{
    std::vector<std::string> texts;
    for (auto const& lines : sites) texts.push_back(text_of(lines));
    std::vector<SampleText> const views = [&] {
        std::vector<SampleText> all;
        for (auto const& text : texts) all.push_back({text, {}, received});
        return all;
    }();
    auto const file = parse_samples(views);
    std::pair<std::vector<std::optional<double>>, std::vector<SampleFault>> found;
    for (auto const& series : file.regions)
        for (auto const& point : series.points)
            found.first.push_back(point.intensity ? std::optional(point.intensity->value)
                                                  : std::nullopt);
    for (auto const& faulty : file.faults) found.second.push_back(faulty.fault);
    return found;
}

TEST(SampleRules, LineThatWasNotWrittenAfterTheOneBeforeItDoesNotCount)
{
    auto const inserted = ElementsAre(SampleFault::inserted);
    auto const values = ElementsAre(40, 60);
    for (auto const& lines : std::vector<std::vector<Line>>{
             {{0, 40, 10}, {600, 60, 610}, {300, 50, 310}},  // received before the line before
             {{0, 40, 10}, {600, 60, 610}, {9000, 1, 700}},  // received before its time
             {{0, 40}, {600, 60}, {300, 50}}}) {             // nobody says when it was received
        auto const [found, faults] = read({lines});
        EXPECT_THAT(found, values);
        EXPECT_THAT(faults, inserted);
    }
    auto const [found, faults] =
        read({{{0, 40, 10}, {600, 60, 610}, {900, 5, 5000}}}, {at(0), at(4000)});
    EXPECT_THAT(found, values);
    EXPECT_THAT(faults, inserted) << "it was received after the run";
}

TEST(SampleRules, SampleThatWasAskedForAgainCounts)
{
    auto const [found, faults] =
        read({{{0, 40, 10}, {600, 60, 610}, {0, 40, 900}, {300, 50, 900}, {600, 60, 900}}});
    EXPECT_THAT(found, ElementsAre(40, 50, 60));
    EXPECT_THAT(faults, testing::IsEmpty());
}

TEST(SampleRules, NewerSampleCountsAfterTheClockWasSetBack)
{
    auto const [found, faults] = read({{{0, 40, 700}, {300, 50, 400}, {600, 60, 700}}});
    EXPECT_THAT(found, ElementsAre(40, 50, 60));
    EXPECT_THAT(faults, testing::IsEmpty());
}

TEST(SampleRules, FirstValueCountsIfTheProviderRevisedItLater)
{
    auto const [found, faults] = read({{{0, 40, 10, 5}, {300, 50, 310, 305}, {0, 44, 900, 800}}});
    EXPECT_THAT(found, ElementsAre(40, 50));
    EXPECT_THAT(faults, ElementsAre(SampleFault::revised));
    auto const [other, other_faults] = read({{{0, 40, 10, 5}, {0, 44, 900, 5}}});
    EXPECT_THAT(other, ElementsAre(std::nullopt)) << "computed at the same time";
    EXPECT_THAT(other_faults, ElementsAre(SampleFault::contradicted));
}

TEST(SampleRules, OtherPeriodContradicts)
{
    auto const [found, faults] = read({{{0, 40}}, {{0, 40, {}, {}, 90'000}}});
    EXPECT_THAT(found, ElementsAre(std::nullopt));
    EXPECT_THAT(faults, ElementsAre(SampleFault::contradicted));
}

// The provider stamps a value with the time of the request.
TEST(SampleRules, SitesThatAskAtOtherTimesAgreeIfNeitherHasAThirdValue)
{
    auto const [found, faults] =
        read({{{3, 40}, {63, 40}, {123, 55}, {183, 55}}, {{41, 40}, {101, 55}, {161, 55}}});
    EXPECT_THAT(found, ElementsAre(40, 40, 40, 55, 55, 55, 55));
    EXPECT_THAT(faults, testing::IsEmpty());
    auto const [forged, forged_faults] =
        read({{{3, 400}, {63, 400}, {123, 400}}, {{41, 50}, {101, 50}}});
    EXPECT_THAT(forged, ElementsAre(400, std::nullopt, std::nullopt, std::nullopt, 400));
    EXPECT_THAT(forged_faults, ElementsAre(SampleFault::contradicted, SampleFault::contradicted));
}

TEST(SampleRules, IntensityThatIsNotTheValueThatWasSentContradictsItself)
{
    auto const line = [](double intensity) {
        return R"({"region":"R","time":"2026-03-01T00:00:00Z","intensity_gco2_per_kwh":)" +
               std::to_string(intensity) +
               R"(,"received":"2026-03-01T00:01:00Z","unit":"lbs_co2_per_mwh","value":100})"
               "\n";
    };
    for (auto const& [intensity, faults] : {std::pair{45.3592, 0U}, {4.53592, 1U}}) {
        auto const text = line(intensity);
        std::vector<SampleText> const texts{{text}};
        auto const file = parse_samples(texts);
        EXPECT_EQ(file.faults.size(), faults);
        EXPECT_EQ(file.regions.at(0).points.at(0).intensity.has_value(), faults == 0);
    }
}

}  // namespace
}  // namespace curtail::samples
