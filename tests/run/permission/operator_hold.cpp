// SPDX-License-Identifier: Apache-2.0
#include "run/permission/operator_hold.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <functional>
#include <thread>

#include "base/core/files.hpp"
#include "support/temporary_folder.hpp"

namespace curtail::permission {
namespace {

using testing::HasSubstr;

Time const noon = from_unix_ms(1'768'132'800'000);
HoldSubject const subject{"anna", {"demo"}, {"A"}};

class OperatorHolds : public testing::Test {
  protected:
    // The reason of the hold that a file with this text is; `none` if it holds nothing.
    std::string reason(std::string const& text)
    {
        EXPECT_TRUE(write_file(folder_ / "10-cooling", text));
        auto const hold = find_operator_hold({folder_.path()}, subject, noon);
        EXPECT_EQ(hold ? hold->file : folder_ / "10-cooling", folder_ / "10-cooling");
        return hold ? hold->reason : "none";
    }

    test::TemporaryFolder folder_;
};

TEST_F(OperatorHolds, AnEmptyFolderHoldsNothing)
{
    EXPECT_FALSE(find_operator_hold({folder_.path()}, subject, noon));
    EXPECT_FALSE(find_operator_hold({}, subject, noon));
}

TEST_F(OperatorHolds, AFileThatIsNoObjectConcernsEverybody)
{
    EXPECT_EQ(reason(""), "");
    EXPECT_EQ(reason("cooling is down\ncall 4711\n"), "cooling is down");
    EXPECT_EQ(reason("{\"reason\": \"cut"), "{\"reason\": \"cut");
    EXPECT_NE(reason(R"({"reason": "x", "user": ["bob"]})"), "none") << "a misspelt key";
    EXPECT_NE(reason(R"({"reason": "x", "users": "bob"})"), "none") << "no list";
    EXPECT_NE(reason(R"({"reason": "x", "users": []})"), "none") << "an empty list";
    EXPECT_NE(reason(R"({"reason": "x", "users": [4711]})"), "none") << "a number for a name";
}

// The directory of accounts may be away.
TEST_F(OperatorHolds, AListOfUsersConcernsAUserWithoutAName)
{
    ASSERT_TRUE(write_file(folder_ / "10-cooling", R"({"reason": "x", "users": ["bob"]})"));
    auto unknown = subject;
    unknown.user.reset();
    EXPECT_TRUE(find_operator_hold({folder_.path()}, unknown, noon));
    ASSERT_TRUE(write_file(folder_ / "10-cooling", R"({"reason": "x", "sites": ["B"]})"));
    EXPECT_FALSE(find_operator_hold({folder_.path()}, unknown, noon));
}

TEST_F(OperatorHolds, AnObjectConcernsWhomItsListsName)
{
    EXPECT_EQ(reason(R"({"reason": "x"})"), "x");
    EXPECT_EQ(reason(R"({"reason": "x", "users": ["bob", "anna"]})"), "x");
    EXPECT_EQ(reason(R"({"reason": "x", "users": ["bob"]})"), "none");
    EXPECT_EQ(reason(R"({"reason": "x", "runs": ["demo"], "sites": ["B"]})"), "none");
    EXPECT_EQ(reason(R"({"reason": "x", "runs": ["demo"], "sites": ["A"]})"), "x");
}

TEST_F(OperatorHolds, AHoldEndsAtItsTime)
{
    EXPECT_EQ(reason(R"({"reason": "x", "until": "2026-01-11T12:00:01Z"})"), "x");
    EXPECT_EQ(reason(R"({"reason": "x", "until": "2026-01-11T12:00:00Z"})"), "none");
    EXPECT_EQ(reason(R"({"reason": "x", "until": "tomorrow"})"), "x");
}

TEST_F(OperatorHolds, NamesOfEditorsDoNotCount)
{
    for (auto const* name : {".10-cooling.swp", "10-cooling~"})
        ASSERT_TRUE(write_file(folder_ / name, "x"));
    EXPECT_FALSE(find_operator_hold({folder_.path()}, subject, noon));
}

TEST_F(OperatorHolds, WhatCannotBeReadHolds)
{
    auto const missing = find_operator_hold({folder_ / "none"}, subject, noon);
    ASSERT_TRUE(missing);
    EXPECT_THAT(missing->reason, HasSubstr("No such file"));
    std::filesystem::create_directory(folder_ / "inner");
    EXPECT_THAT(find_operator_hold({folder_.path()}, subject, noon)->reason, HasSubstr("a folder"));
}

TEST_F(OperatorHolds, NothingInTheFolderIsSkippedOrWaitedFor)
{
    auto const file = folder_ / "10-cooling";
    auto const put_socket = [&] {
        Fd const fd(socket(AF_UNIX, SOCK_STREAM, 0));
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        file.string().copy(address.sun_path, sizeof address.sun_path - 1);
        // The address is one of its kind, as the call wants it.
        auto const* bound = reinterpret_cast<sockaddr const*>(&address);
        ASSERT_EQ(bind(fd.get(), bound, sizeof address), 0);
    };
    std::pair<std::function<void()>, char const*> const kinds[] = {
        {[&] { std::filesystem::create_symlink("/nowhere/x", file); }, "leads nowhere"},
        {[&] { std::filesystem::create_symlink(file, file); }, "Too many levels"},
        {[&] { std::filesystem::create_symlink("/dev/null", file); }, "a device"},
        {[&] { ASSERT_EQ(mkfifo(file.c_str(), 0600), 0); }, "a pipe"},
        {put_socket, "a socket"},
        {[&] { std::filesystem::create_directory(file); }, "a folder"},
        {[&] { ASSERT_TRUE(write_file(file, std::string((1 << 16) + 1, 'x'))); }, "the limit is"},
        {[&] { ASSERT_TRUE(write_file(file, "\xff\x1b[2J")); }, "\xff\x1b[2J"}};
    for (auto const& [make, why] : kinds) {
        make();
        auto const hold = find_operator_hold({folder_.path()}, subject, noon);
        ASSERT_TRUE(hold) << why;
        EXPECT_EQ(hold->file, file);
        EXPECT_THAT(hold->reason, HasSubstr(why));
        std::filesystem::remove(file);
    }
}

TEST_F(OperatorHolds, AFileThatIsRemovedWhileItIsReadHoldsNothing)
{
    std::jthread const operators([&](std::stop_token const& stop) {
        while (!stop.stop_requested()) {
            EXPECT_TRUE(write_file(folder_ / "20-other", R"({"users": ["bob"]})"));
            std::filesystem::remove(folder_ / "20-other");
        }
    });
    for (int i = 0; i < 200; ++i) {
        auto const hold = find_operator_hold({folder_.path()}, subject, noon);
        EXPECT_TRUE(!hold || hold->file == folder_.path()) << to_text(*hold);
    }
}

TEST_F(OperatorHolds, TheTextNamesTheFileAndQuotesTheReason)
{
    EXPECT_EQ(to_text({"/etc/curtail/holds.d/a", "x $(id)"}),
              "an operator holds this site ('/etc/curtail/holds.d/a'): 'x $(id)'");
}

}  // namespace
}  // namespace curtail::permission
