// SPDX-License-Identifier: Apache-2.0
#include "bill/report/table.hpp"

#include <gmock/gmock.h>

#include "bill/report/format.hpp"

namespace curtail::report {
namespace {

using testing::HasSubstr;

Table example()
{
    json::Value const document = json::Object{{"co2", 1234.56789}, {"none", json::Value()}};
    View const doc(document);
    return {"Sites",
            {{"site", Column::Kind::text}, {.title = "g", .digits = 1, .unit = "CO2"}, {"steps"}},
            {{"<b>,\x1b", {doc["co2"], ">"}, json::Value(7)},
             {"WEST", doc["none"], json::Value(true)}}};
}

TEST(Table, InATerminalIsAlignedAndRounded)
{
    auto table = example();
    table.rows.pop_back();
    table.rows.push_back({"WEST", json::Value(), "-"});
    EXPECT_EQ(to_text(table),
              "  site            g  steps\n"
              "  <b>,\\x1b  >1234.6      7\n"
              "  WEST            -      -\n");
}

TEST(Table, InAFileHasAllDigitsAndNoMarks)
{
    EXPECT_EQ(to_csv(example()), "site,g,steps\r\n\"<b>,\x1b\",1234.56789,7\r\nWEST,,true\r\n");
}

TEST(Table, OnThePageIsMarkupWithoutForeignMarkup)
{
    auto table = example();
    table.rows[1][2] = Html("none");
    table.sums.push_back({"all", or_faint_zero(0, 2), or_faint_zero({}, 2)});
    auto const html = to_html(table, {.id = "sites", .is_tall = true}).markup();
    EXPECT_THAT(html, HasSubstr("<div class=\"scroll tall\" tabindex=\"0\""));
    EXPECT_THAT(html, HasSubstr("<table class=\"t\" id=\"sites\">"));
    EXPECT_THAT(html, HasSubstr("<td class=\"l\">&lt;b&gt;,\\x1b</td><td>&gt;1,234.6</td>"));
    EXPECT_THAT(html, HasSubstr("<td>–</td><td>none</td>"));
    EXPECT_THAT(html, HasSubstr("<tfoot><tr><td class=\"l\">all</td><td class=\"z\">0</td>"));
    EXPECT_THAT(html, HasSubstr("g<span class=\"u\">CO2</span></th>"));
}

TEST(Format, RoundsHalvesUpAndGroupsThousands)
{
    EXPECT_EQ(number(1.45, 1), "1.5");
    EXPECT_EQ(number(-1234567.0), "−1,234,567");
    EXPECT_EQ(number(999.999, 2), "1,000.00");
    EXPECT_EQ(number(123.0), "123");
    EXPECT_EQ(number(std::nullopt, 2), "–");
    EXPECT_EQ(percent(0.1234), "12.3 %");
    EXPECT_EQ(significant(0.012345), "0.0123");
    EXPECT_EQ(significant(4321.0), "4,320");
    EXPECT_EQ(significant(999.9), "1,000");
    EXPECT_EQ(significant(0.0), "0");
    EXPECT_EQ(significant(std::nullopt), "–");
    EXPECT_EQ(range(1.04, 1.0401), "1.04");
}

TEST(Format, KeepsNumbersWithTheirUnits)
{
    EXPECT_EQ(keep_units("5 kWh and 3 sites, 2 h ± 1 s"),
              "5\u00a0kWh and 3 sites, 2\u00a0h\u00a0±\u00a01\u00a0s");
    EXPECT_EQ(duration(3 * 3600 + 5 * 60), "3 h 05 m");
    EXPECT_EQ(duration(64.6), "1 m 05 s");
    EXPECT_EQ(counted(1, "site") + ", " + counted(2, "site"), "1 site, 2 sites");
}

}  // namespace
}  // namespace curtail::report
