// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/files.hpp"
#include "base/core/private_file.hpp"
#include "poller/signals/watttime.hpp"
#include "support/temporary_folder.hpp"

namespace curtail::signals {
namespace {

using test::TemporaryFolder;
using testing::HasSubstr;
using testing::Not;
using watttime::read_credentials;

class Credentials : public testing::Test {
  protected:
    std::filesystem::path write(std::string const& content, unsigned mode = 0600) const
    {
        auto file = folder_ / "watttime.json";
        EXPECT_TRUE(write_file(file, content, mode));
        EXPECT_EQ(chmod(file.c_str(), mode), 0);
        return file;
    }
    [[nodiscard]] Error refusal(std::filesystem::path const& file) const
    {
        auto const credentials = read_credentials(file);
        return credentials ? Error{ExitCode::ok, "accepted", "", ""} : credentials.error();
    }
    TemporaryFolder folder_;
    std::string const good_ = R"({"username": "alice", "password": "hunter2"})";
};

TEST_F(Credentials, AreReadFromAPrivateFile)
{
    for (unsigned mode : {0600U, 0400U}) {
        auto const credentials = read_credentials(write(good_, mode));
        ASSERT_TRUE(credentials);
        EXPECT_EQ(credentials->username, "alice");
        EXPECT_STREQ(credentials->password.reveal(), "hunter2");
        std::filesystem::remove(folder_ / "watttime.json");
    }
}

TEST_F(Credentials, ErrorForAReadableFileNamesTheCommandThatFixesIt)
{
    for (unsigned mode : {0640U, 0604U, 0644U, 0660U}) {
        auto const file = write(good_, mode);
        auto const error = refusal(file);
        EXPECT_EQ(error.code, ExitCode::permission);
        EXPECT_EQ(error.remedy, "chmod 600 " + file.string());
    }
}

TEST_F(Credentials, RejectsLinks)
{
    auto const file = write(good_);
    std::filesystem::create_symlink(file, folder_ / "link.json");
    EXPECT_EQ(refusal(folder_ / "link.json").code, ExitCode::permission);
}

TEST_F(Credentials, RejectsSpecialFilesWithoutBlocking)
{
    ASSERT_EQ(mkfifo((folder_ / "fifo").c_str(), 0600), 0);
    EXPECT_EQ(refusal(folder_ / "fifo").code, ExitCode::permission);
    EXPECT_EQ(refusal(folder_.path()).code, ExitCode::permission);
}

TEST_F(Credentials, RejectsFilesOfOtherUsers)
{
    // Root can give a file away; other users can find files of root.
    std::filesystem::path file = "/etc/passwd";
    if (geteuid() == 0) {
        file = write(good_);
        ASSERT_EQ(chown(file.c_str(), 65'534, 65'534), 0);
    }
    auto const error = refusal(file);
    EXPECT_EQ(error.code, ExitCode::permission);
    EXPECT_THAT(error.why, HasSubstr("belongs to another user"));
}

TEST_F(Credentials, RejectsFilesInFoldersThatOthersCanWrite)
{
    auto const file = write(good_);
    ASSERT_EQ(chmod(folder_.path().c_str(), 0777), 0);
    auto const error = refusal(file);
    EXPECT_EQ(error.code, ExitCode::permission);
    EXPECT_THAT(error.remedy, HasSubstr("chmod o-w " + folder_.path().string()));
}

TEST_F(Credentials, ErrorForAMissingFileNamesItsContent)
{
    auto const error = refusal(folder_ / "none.json");
    EXPECT_EQ(error.code, ExitCode::no_input);
    EXPECT_THAT(error.remedy, HasSubstr("chmod 600"));
}

TEST_F(Credentials, RejectsLargeFiles)
{
    EXPECT_TRUE(read_private_file(write(std::string(65'536, ' '))));
    EXPECT_EQ(refusal(write(std::string(65'537, ' '))).code, ExitCode::data);
}

TEST_F(Credentials, ErrorsForWrongContentNeverShowIt)
{
    for (auto const* content :
         {R"({"username": "alice", "password": "hunter2")",
          R"({"username": "alice", "pasword": "hunter2"})",
          R"({"username": "alice", "password": ["hunter2"]})",
          R"({"username": "alice", "password": "hunter2", "more": "hunter2"})",
          R"({"username": "", "password": "hunter2"})",
          R"({"username": "a:b", "password": "hunter2"})",
          R"({"username": "alice", "password": ""})", R"("hunter2")", "hunter2"}) {
        auto const error = refusal(write(content));
        EXPECT_EQ(error.code, ExitCode::config) << content;
        EXPECT_THAT(error.message(), Not(HasSubstr("hunter2")));
    }
}

}  // namespace
}  // namespace curtail::signals
