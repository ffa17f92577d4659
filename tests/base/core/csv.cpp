// SPDX-License-Identifier: Apache-2.0
#include "base/core/csv.hpp"

#include <gmock/gmock.h>

namespace curtail::csv {
namespace {

using testing::ElementsAre;

std::vector<std::string> lines_of(std::string_view text)
{
    std::vector<std::string> out;
    LineReader reader(text);
    while (auto const line = reader.next())
        out.push_back(std::to_string(reader.number()) + ":" + std::string(*line));
    EXPECT_EQ(reader.number(), out.size() + 1);
    return out;
}

TEST(LineReader, CountsLinesAndDropsTheirEndings)
{
    EXPECT_THAT(lines_of(""), ElementsAre());
    EXPECT_THAT(lines_of("a"), ElementsAre("1:a"));
    EXPECT_THAT(lines_of("a\r\n\nb\n"), ElementsAre("1:a", "2:", "3:b"));
    EXPECT_THAT(lines_of("\n"), ElementsAre("1:"));
}

TEST(LineReader, SkipsAByteOrderMarkAtTheBeginningOnly)
{
    std::string const mark = "\xEF\xBB\xBF";
    EXPECT_THAT(lines_of(mark + "a\n" + mark + "b"), ElementsAre("1:a", "2:" + mark + "b"));
    EXPECT_THAT(lines_of(mark), ElementsAre());
}

TEST(Fields, KeepCommasAndQuotesInQuotes)
{
    EXPECT_THAT(fields_of("").value(), ElementsAre(""));
    EXPECT_THAT(fields_of("a,,b c").value(), ElementsAre("a", "", "b c"));
    EXPECT_THAT(fields_of("\"x, \"\"y\"\"\",\"\"").value(), ElementsAre("x, \"y\"", ""));
    EXPECT_THAT(fields_of("5\" disk").value(), ElementsAre("5\" disk"));
}

TEST(Fields, AreReadAsTheyWereWritten)
{
    EXPECT_EQ(line_of({"a", "", "b c"}), "a,,b c\r\n");
    EXPECT_EQ(line_of({"x, \"y\"", "two\nlines"}), "\"x, \"\"y\"\"\",\"two\nlines\"\r\n");
    std::vector<std::string> const fields{"5\" disk", "a,b", " ", ""};
    auto const line = line_of(fields);
    EXPECT_EQ(fields_of(std::string_view(line).substr(0, line.size() - 2)), fields);
}

TEST(Fields, RejectBrokenQuotes)
{
    EXPECT_FALSE(fields_of("\"a"));
    EXPECT_FALSE(fields_of("\"a\"b,c"));
}

}  // namespace
}  // namespace curtail::csv
