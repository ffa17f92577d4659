// SPDX-License-Identifier: Apache-2.0
#include "trainer/job/ended_processes.hpp"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/core/files.hpp"
#include "base/core/json.hpp"
#include "base/process/identity.hpp"
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
    // The same in a process that has ended afterwards.
    std::set<std::uint32_t> gone(std::filesystem::path const& where, std::uint32_t nonce)
    {
        auto const child = fork();
        if (child == 0) {
            (void)ended_processes(where, nonce, Log{});
            _exit(0);
        }
        EXPECT_EQ(waitpid(child, nullptr, 0), child);
        return ended_processes(where, 1000, Log{});
    }
    // Replaces text in the file.
    void change(std::string const& from, std::string const& to)
    {
        auto text = read_file(folder / "processes.json").value();
        auto const at = text.find(from);
        ASSERT_NE(at, text.npos) << text;
        ASSERT_TRUE(write_file(folder / "processes.json", text.replace(at, from.size(), to)));
    }
    test::TemporaryFolder temporary;
    std::filesystem::path const folder{temporary.path() / "A"};
    bool const made{std::filesystem::create_directory(folder)};
};

TEST_F(EndedProcesses, AreThoseThatHaveUsedTheFolderAndAreGone)
{
    EXPECT_THAT(gone(folder, 1), ElementsAre(1));
    EXPECT_THAT(gone(folder, 0xffffffff), ElementsAre(1, 0xffffffff));
}

// As where the lock holds on one machine only, or not at all.
TEST_F(EndedProcesses, AreNotThoseThatRun)
{
    EXPECT_THAT(next(1), IsEmpty());
    EXPECT_THAT(next(2), IsEmpty());
}

// The kernel uses the ids of processes again.
TEST_F(EndedProcesses, AreKnownByTheTimeOfTheirStart)
{
    (void)next(1);
    change(R"("started": )", R"("started": 1)");
    EXPECT_THAT(next(2), ElementsAre(1));
}

// Another machine may have the same name, as containers and copied machines do.
TEST_F(EndedProcesses, AreUnknownOfAnotherBoot)
{
    (void)gone(folder, 1);
    change(process::boot_id(), "other");
    EXPECT_THAT(next(2), IsEmpty());
}

// A container has process ids of its own.
TEST_F(EndedProcesses, AreUnknownInAnotherNamespace)
{
    (void)next(1);
    change(process::process_namespace(), "pid:[1]");
    change(R"("started": )", R"("started": 1)");
    EXPECT_THAT(next(2), IsEmpty());
}

// The process that was using the original may live.
TEST_F(EndedProcesses, AreUnknownInACopyOfTheFolder)
{
    (void)gone(folder, 1);
    auto const copy = temporary.path() / "copy";
    std::filesystem::copy(folder, copy, std::filesystem::copy_options::recursive);
    EXPECT_THAT(ended_processes(copy, 2, Log{}), IsEmpty());
    EXPECT_THAT(gone(copy, 3), ElementsAre(3));
    EXPECT_THAT(next(4), ElementsAre(1)) << "the original";
}

TEST_F(EndedProcesses, AreUnknownIfTheFileIsDamaged)
{
    for (char const* text :
         {"", "{", "[]", R"({"lock":"1","nonces":[1]})", R"({"processes":{}})",
          R"({"processes":["1",2.5,null,{},{"nonce":1},{"nonce":"1","lock":"","boot":""}]})"}) {
        ASSERT_TRUE(write_file(folder / "processes.json", text));
        EXPECT_THAT(next(7), IsEmpty()) << text;
        EXPECT_THAT(gone(folder, 8), ElementsAre(8)) << text;
    }
}

TEST_F(EndedProcesses, AreTheLast64)
{
    for (std::uint32_t nonce = 0; nonce < 100; ++nonce) (void)next(nonce);
    auto const listed =
        json::parse_file(folder / "processes.json", json::Dialect::strict, json::record_limits);
    ASSERT_TRUE(listed);
    auto const& processes = *listed->as_object()->find("processes")->as_array();
    ASSERT_EQ(processes.size(), 64U);
    EXPECT_EQ(*processes.front().as_object()->find("nonce")->as_integer(), 36);
}

}  // namespace
}  // namespace curtail::trainer
