// SPDX-License-Identifier: Apache-2.0
#include "base/core/columns.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/core/text.hpp"

namespace curtail {
namespace {

using testing::ElementsAre;

std::size_t widest(std::string const& text)
{
    std::size_t most = 0;
    for (auto const line : split(text, '\n')) most = std::max(most, width_of(line));
    return most;
}

TEST(Columns, CountCharactersNotBytes)
{
    EXPECT_EQ(width_of("≥ 3 g CO₂"), 9U);
    EXPECT_EQ(width_of(""), 0U);
}

TEST(Columns, BreakTextsAtSpacesAndLongWordsIfAsked)
{
    EXPECT_THAT(broken_into("one two three", 7, false), ElementsAre("one two", "three"));
    EXPECT_THAT(broken_into("a CAISO_NORTH", 6, false), ElementsAre("a", "CAISO_NORTH"));
    EXPECT_THAT(broken_into("a ÄÄÄÄÄÄÄ b", 3, true), ElementsAre("a", "ÄÄÄ", "ÄÄÄ", "Ä b"));
    EXPECT_THAT(broken_into("", 3, true), ElementsAre(""));
}

TEST(Columns, OfATerminalFitSentencesAndIndentWhatFollows)
{
    std::string const words =
        "words of a sentence that has more than eighty characters because it goes on and on";
    EXPECT_EQ(in_terminal_columns("short\n\n  text\n"), "short\n\n  text\n");
    EXPECT_THAT(split(in_terminal_columns("  " + words), '\n'),
                ElementsAre("  " + words.substr(0, 75), "    and on"));
    EXPECT_THAT(split(in_terminal_columns("speed     " + words), '\n'),
                ElementsAre("speed     " + words.substr(0, 67), "          " + words.substr(68)));
    std::string const path = "/" + std::string(100, 'p');
    EXPECT_THAT(split(in_terminal_columns("cannot read " + path + " now"), '\n'),
                ElementsAre("cannot read", "  " + path, "  now"));
}

TEST(Columns, OfATableThatFitsStayAsTheyAre)
{
    EXPECT_EQ(text_table({{"site", "energy, kWh"}, {"A", "1.2"}, {"long name", "300"}},
                         {Alignment::left, Alignment::right}),
              "  site       energy, kWh\n"
              "  A                  1.2\n"
              "  long name          300\n");
}

TEST(Columns, OfAWideTableBreakTitlesBeforeTexts)
{
    std::string const site(30, 'q');
    std::vector<std::vector<std::string>> rows{
        {"site", "energy of the whole site", "carbon of the whole site", "tokens in the model"},
        {site, "12,300,000", "~1,230,000,000", "123456789012"}};
    auto const columns =
        std::vector{Alignment::left, Alignment::right, Alignment::right, Alignment::right};
    auto const text = text_table(rows, columns);
    EXPECT_LE(widest(text), terminal_columns);
    EXPECT_THAT(text, testing::HasSubstr(site)) << "the titles are broken first";
    rows.front().emplace_back("region");
    rows.back().emplace_back(30, 'x');
    auto more = columns;
    more.push_back(Alignment::left);
    auto const wide = text_table(rows, more);
    EXPECT_LE(widest(wide), terminal_columns);
    for (char const* number : {"12,300,000", "~1,230,000,000", "123456789012"})
        EXPECT_THAT(wide, testing::HasSubstr(number));
    EXPECT_EQ(std::ranges::count(wide, 'q'), 30) << "no character is lost:\n" << wide;
    EXPECT_EQ(std::ranges::count(wide, 'x'), 30) << wide;
}

}  // namespace
}  // namespace curtail
