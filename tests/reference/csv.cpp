// SPDX-License-Identifier: Apache-2.0
#include "reference/csv.hpp"

#include <gmock/gmock.h>

#include "core/files.hpp"
#include "support/temporary_folder.hpp"

namespace curtail::reference {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class Csv : public testing::Test {
  protected:
    Result<CsvTable> read(std::string const& content)
    {
        EXPECT_TRUE(write_file(folder_ / "x.csv", content));
        return read_csv(folder_ / "x.csv", "a,b");
    }
    std::string error(std::string const& content)
    {
        auto const table = read(content);
        return table ? "" : table.error().message();
    }
    test::TemporaryFolder folder_;
};

TEST_F(Csv, QuotedFieldsKeepCommasAndQuotes)
{
    auto const table = read("a,b\r\n1,\"x, \"\"y\"\"\"\r\n,2\n");
    ASSERT_TRUE(table) << table.error().message();
    EXPECT_THAT(table->rows, ElementsAre(ElementsAre("1", "x, \"y\""), ElementsAre("", "2")));
    EXPECT_EQ(table->number(0, 0).value(), 1);
}

TEST_F(Csv, AnotherHeaderIsRefused)
{
    EXPECT_THAT(error("a,c\n1,2\n"), HasSubstr("its first line is not \"a,b\""));
}

TEST_F(Csv, ErrorsNameTheLine)
{
    EXPECT_THAT(error("a,b\n1,2\n1\n"), HasSubstr("line 3: 1 fields where the header has 2"));
    EXPECT_THAT(error("a,b\n1,2\n\n3,4\n"), HasSubstr("line 3"));
    EXPECT_THAT(error("a,b\n\"1,2\n"), HasSubstr("line 2: a quote is not closed"));
    EXPECT_THAT(error("a,b\n" + std::string((1 << 20) + 1, 'x') + "\n"),
                HasSubstr("longer than 1 MiB"));
    auto const table = read("a,b\n1,2x\n1,nan\n");
    ASSERT_TRUE(table);
    EXPECT_THAT(table->number(0, 1).error().message(), HasSubstr("line 2: \"2x\" is not a number"));
    EXPECT_FALSE(table->number(1, 1));
}

TEST_F(Csv, MissingFileIsMissingInput)
{
    EXPECT_EQ(read_csv(folder_ / "none.csv", "a,b").error().code, ExitCode::no_input);
}

}  // namespace
}  // namespace curtail::reference
