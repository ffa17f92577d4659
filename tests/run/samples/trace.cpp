// SPDX-License-Identifier: Apache-2.0
#include "run/samples/trace.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/core/files.hpp"
#include "support/paths.hpp"
#include "support/temporary_folder.hpp"

namespace curtail::samples {
namespace {

using testing::HasSubstr;

TEST(Trace, EmptyCellIsNoSignal)
{
    auto const trace =
        parse_trace("point_time,A,B\n2026-01-11 17:00:00+00:00,1.5,\n2026-01-11T17:05Z,,-20\r\n",
                    "t.csv")
            .value();
    ASSERT_EQ(trace.series().size(), 2U);
    EXPECT_EQ(trace.series()[0].region, RegionId{"A"});
    EXPECT_EQ(trace.series()[1].region, RegionId{"B"});
    auto const b = trace.samples({"B"}).value();
    ASSERT_EQ(b.size(), 2U);
    EXPECT_EQ(b[0].time, parse_time("2026-01-11T17:00Z").value());
    EXPECT_FALSE(b[0].intensity);
    EXPECT_EQ(b[1].intensity, GramsPerKwh{-20});
    EXPECT_EQ(b[1].type, SignalType::marginal);
    EXPECT_EQ(b[1].provider, "trace");
}

TEST(Trace, CellsMayBeInQuotes)
{
    auto const trace =
        parse_trace("\"point_time\",\"A\"\n\"2026-01-11T17:00Z\",\"1.5\"\n", "t.csv");
    ASSERT_TRUE(trace) << trace.error().message();
    EXPECT_EQ(trace->samples({"A"}).value().at(0).intensity, GramsPerKwh{1.5});
}

TEST(Trace, AMarkOfASpreadsheetIsIgnored)
{
    auto const trace =
        parse_trace("\xEF\xBB\xBFpoint_time,A\r\n2026-01-11T17:00Z,1.5\r\n", "t.csv");
    ASSERT_TRUE(trace) << trace.error().message();
    EXPECT_EQ(trace->samples({"A"}).value().size(), 1U);
}

TEST(Trace, ConvertsOffsetsToUtc)
{
    auto const trace = parse_trace("point_time,A\n2026-01-11T18:00+01:00,1\n", "t.csv").value();
    EXPECT_EQ(trace.first_time(), parse_time("2026-01-11T17:00Z").value());
}

TEST(Trace, ReadsThePublishedDayExactly)
{
    auto const trace = read_trace(test::source_path("signals/mci_2026-01-11.csv")).value();
    EXPECT_EQ(trace.series().front().points.size(), 217U);
    EXPECT_EQ(trace.samples({"CAISO_NORTH"}).value()[1].intensity, GramsPerKwh{68.945984});
    EXPECT_EQ(trace.samples({"CAISO_NORTH"}).value()[1].intensity, from_lbs_per_mwh(152));
}

struct BadTrace {
    char const* name;
    char const* text;
    char const* message;
};
class BadTraces : public testing::TestWithParam<BadTrace> {};

TEST_P(BadTraces, ErrorsNameFileLineAndRemedy)
{
    auto const trace = parse_trace(GetParam().text, "signals/t.csv");
    ASSERT_FALSE(trace);
    EXPECT_EQ(trace.error().code, ExitCode::data);
    EXPECT_EQ(trace.error().message(), GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    All, BadTraces,
    testing::Values(
        BadTrace{"Empty", "",
                 "cannot read trace signals/t.csv, line 1: the file is empty; its "
                 "first line must be point_time,REGION,..."},
        BadTrace{"WrongHeader", "time,A\n",
                 "cannot read trace signals/t.csv, line 1: wrong header \"time,A\"; it "
                 "must be point_time,REGION,..."},
        BadTrace{"NoRegion", "point_time\n",
                 "cannot read trace signals/t.csv, line 1: wrong header "
                 "\"point_time\"; it must be point_time,REGION,..."},
        BadTrace{"RegionTwice", "point_time,A,A\n",
                 "cannot read trace signals/t.csv, line 1: region A appears twice; keep "
                 "one column per region"},
        BadTrace{"RegionName", "point_time,A/B\n",
                 "cannot read trace signals/t.csv, line 1: invalid region name \"A/B\"; "
                 "use 1 to 32 letters, digits, '_' or '-'"},
        BadTrace{"NoRow", "point_time,A\n",
                 "cannot read trace signals/t.csv, line 2: no rows after the header; "
                 "a trace has at least one row"},
        BadTrace{"NoZone", "point_time,A\n2026-01-11 14:20,1\n",
                 "cannot read trace signals/t.csv, line 2: invalid time \"2026-01-11 "
                 "14:20\": it has no time zone; append Z or an offset such as "
                 "+00:00"},
        BadTrace{"NoTime", "point_time,A\nnoon,1\n",
                 "cannot read trace signals/t.csv, line 2: invalid time \"noon\": not an "
                 "ISO 8601 time; write it like 2026-01-11T14:20:00Z"},
        BadTrace{"NotANumber", "point_time,A\n2026-01-11T14:20Z,1\n2026-01-11T14:25Z,12g\n",
                 "cannot read trace signals/t.csv, line 3: A is not a number: \"12g\"; "
                 "write g/kWh such as 463.6, or leave the cell empty "
                 "for no signal"},
        BadTrace{"NaN", "point_time,A\n2026-01-11T14:20Z,nan\n",
                 "cannot read trace signals/t.csv, line 2: A is not a number: \"nan\"; "
                 "write g/kWh such as 463.6, or leave the cell empty "
                 "for no signal"},
        BadTrace{"TooDirty", "point_time,A\n2026-01-11T14:20Z,5000.1\n",
                 "cannot read trace signals/t.csv, line 2: A is 5000.1 g/kWh, outside "
                 "-2000 to 5000; check the unit: traces are in g/kWh"},
        BadTrace{"TooClean", "point_time,A\n2026-01-11T14:20Z,-2000.1\n",
                 "cannot read trace signals/t.csv, line 2: A is -2000.1 g/kWh, outside "
                 "-2000 to 5000; check the unit: traces are in g/kWh"},
        BadTrace{"CellMissing", "point_time,A,B\n2026-01-11T14:20Z,1\n",
                 "cannot read trace signals/t.csv, line 2: 2 cells, the header has 3; "
                 "write every cell; leave it empty for no signal"},
        BadTrace{"OpenQuote", "point_time,A\n2026-01-11T14:20Z,\"1\n",
                 "cannot read trace signals/t.csv, line 2: a quote is not closed at the end of its "
                 "cell; close or remove the quote"},
        BadTrace{"BlankLine", "point_time,A\n\n2026-01-11T14:20Z,1\n",
                 "cannot read trace signals/t.csv, line 3: an empty line before this one; "
                 "remove empty lines"},
        BadTrace{"LeapSecond", "point_time,A\n2017-01-01T00:00:00Z,1\n2016-12-31T23:59:60Z,1\n",
                 "cannot read trace signals/t.csv, line 3: time 2017-01-01T00:00:00Z is not after "
                 "2017-01-01T00:00:00Z; remove the row of the leap second: it has the time of the "
                 "second after it"},
        BadTrace{"TimeTwice", "point_time,A\n2026-01-11T14:20Z,1\n2026-01-11T15:20+01:00,1\n",
                 "cannot read trace signals/t.csv, line 3: time 2026-01-11T14:20:00Z "
                 "is not after 2026-01-11T14:20:00Z; sort the "
                 "rows and keep one per time"},
        BadTrace{"NotUtf8", "point_time,A\n2026-01-11T14:20Z,\xE9\n",
                 "cannot read trace signals/t.csv, line 2: invalid UTF-8 at byte 19; "
                 "find out the file's encoding, then convert it: iconv -f ENCODING -t UTF-8"},
        BadTrace{"Utf16", "\xFF\xFEp",
                 "cannot read trace signals/t.csv: it is UTF-16LE, not UTF-8; convert it with "
                 "iconv -f UTF-16LE -t UTF-8"},
        BadTrace{"CarriageReturns", "point_time,A\r2026-01-11T14:20Z,1\r",
                 "cannot read trace signals/t.csv: its lines end with carriage returns only; "
                 "convert its line ends: tr '\\r' '\\n' < FILE > NEW_FILE"}),
    [](auto const& tested) { return tested.param.name; });

TEST(Trace, AcceptsTheLimitsOfIntensity)
{
    EXPECT_TRUE(parse_trace("point_time,A,B\n2026-01-11T14:20Z,5000,-2000\n", "t.csv"));
}

TEST(Trace, AcceptsEmptyLinesAtItsEnd)
{
    auto const trace = parse_trace("point_time,A\n2026-01-11T14:20Z,1\n\n \r\n", "t.csv");
    ASSERT_TRUE(trace) << trace.error().message();
    EXPECT_EQ(trace->series()[0].points.size(), 1U);
}

TEST(Trace, AcceptsLinesUpToTheLimit)
{
    std::string const row = "2026-01-11T14:20Z,";
    auto const text = [&](std::size_t length) {
        return "point_time,A\n" + row + std::string(length - row.size() - 1, ' ') + "1\n";
    };
    EXPECT_TRUE(parse_trace(text(csv::line_limit), "t.csv"));
    auto const longer = parse_trace(text(csv::line_limit + 1), "t.csv");
    ASSERT_FALSE(longer);
    EXPECT_THAT(longer.error().message(), HasSubstr("line 2: longer than 1048576 bytes"));
}

TEST(Trace, RejectsMoreRowsThanTheLimit)
{
    std::string const two = "point_time,A\n2026-01-11T14:20Z,1\n2026-01-11T14:25Z,1\n";
    EXPECT_TRUE(parse_trace(two, "t.csv", 2));
    auto const three = parse_trace(two + "2026-01-11T14:30Z,1\n", "t.csv", 2);
    ASSERT_FALSE(three);
    EXPECT_THAT(three.error().message(), HasSubstr("line 4: more than 2 rows"));
}

TEST(Trace, PeriodIsTheMedianSpacingOfTheRows)
{
    auto const trace = parse_trace(
        "point_time,A,B\n2026-01-11T14:00Z,1,2\n2026-01-11T14:05Z,1,\n2026-01-11T14:10Z,1,2\n"
        "2026-01-11T16:00Z,1,2\n",
        "t.csv");
    ASSERT_TRUE(trace);
    for (auto const& region : trace->series())
        for (auto const& point : region.points) EXPECT_EQ(point.period, Seconds{300});
    auto const one = parse_trace("point_time,A\n2026-01-11T14:00Z,1\n", "t.csv");
    ASSERT_TRUE(one);
    EXPECT_EQ(one->series()[0].points[0].period, std::nullopt);
}

TEST(Trace, EachRowHasThePeriodOfItsOwnNeighbourhood)
{
    // Every 5 min from 17:00 with a hole from 17:20 to 18:00, then hourly from 19:00 with a hole.
    std::string text = "point_time,A\n";
    std::vector<std::string> times;
    for (int minute = 0; minute < 120; minute += 5)
        if (minute <= 20 || minute >= 60)
            times.push_back(fmt::format("{:02}:{:02}", 17 + minute / 60, minute % 60));
    for (int hour : {19, 20, 21, 23}) times.push_back(fmt::format("{}:00", hour));
    for (auto const& time : times) text += "2026-01-11T" + time + "Z,1\n";
    auto const trace = parse_trace(text, "t.csv").value();
    auto const& points = trace.series()[0].points;
    for (std::size_t i = 0; i < points.size(); ++i) {
        bool const is_hourly = times[i] >= "19";
        EXPECT_EQ(points[i].period, is_hourly ? Seconds{3600} : Seconds{300}) << times[i];
    }
}

TEST(Trace, MissingFileIsNoInput)
{
    auto const trace = read_trace("no/such.csv");
    ASSERT_FALSE(trace);
    EXPECT_EQ(trace.error().code, ExitCode::no_input);
}

}  // namespace
}  // namespace curtail::samples
