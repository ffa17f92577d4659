// SPDX-License-Identifier: Apache-2.0
#include "trainer/job/ended_processes.hpp"

#include <gmock/gmock.h>

#include "base/core/files.hpp"
#include "support/temporary_folder.hpp"

namespace curtail::trainer {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class EndedProcesses : public testing::Test {
  protected:
    void SetUp() override { ASSERT_TRUE(write_file(folder / "lock", "")); }
    std::set<std::uint32_t> next(std::uint32_t nonce)
    {
        return ended_processes(folder, nonce, Log{});
    }
    test::TemporaryFolder temporary;
    std::filesystem::path const folder{temporary.path() / "A"};
    bool const made{std::filesystem::create_directory(folder)};
};

TEST_F(EndedProcesses, AreThoseThatHaveUsedTheFolder)
{
    EXPECT_THAT(next(1), IsEmpty());
    EXPECT_THAT(next(0xffffffff), ElementsAre(1));
    EXPECT_THAT(next(2), ElementsAre(1, 0xffffffff));
}

// The process that was using the original may live.
TEST_F(EndedProcesses, AreUnknownInACopyOfTheFolder)
{
    (void)next(1);
    auto const copy = temporary.path() / "copy";
    std::filesystem::copy(folder, copy, std::filesystem::copy_options::recursive);
    EXPECT_THAT(ended_processes(copy, 2, Log{}), IsEmpty());
    EXPECT_THAT(ended_processes(copy, 3, Log{}), ElementsAre(2));
    EXPECT_THAT(next(4), ElementsAre(1)) << "the original";
}

TEST_F(EndedProcesses, AreUnknownIfTheFileIsDamaged)
{
    for (char const* text : {"", "{", "[]", R"({"lock":"1","nonces":[1]})",
                             R"({"lock":1,"nonces":{}})", R"({"nonces":["1",2.5,null]})"}) {
        ASSERT_TRUE(write_file(folder / "processes.json", text));
        EXPECT_THAT(next(7), IsEmpty()) << text;
        EXPECT_THAT(next(8), ElementsAre(7)) << text;
    }
}

TEST_F(EndedProcesses, AreTheLast64)
{
    for (std::uint32_t nonce = 0; nonce < 100; ++nonce) (void)next(nonce);
    auto const last = next(100);
    EXPECT_EQ(last.size(), 64U);
    EXPECT_EQ(*last.begin(), 36U);
}

}  // namespace
}  // namespace curtail::trainer
