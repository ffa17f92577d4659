// SPDX-License-Identifier: Apache-2.0
// A network file system may lose the reply to a request that it carried out. A process may be
// killed before it has made a folder durable. To see that, this test replaces link and fsync of the
// C library.
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <set>

#include "storage/store/posix_store.hpp"
#include "support/temporary_folder.hpp"

namespace {

enum class Link { normal, reply_lost, sent_twice, never_sent, not_supported, not_permitted };
Link link_mode = Link::normal;
int failing_sync = 0;  // which fsync from now on fails (1: the next); 0: none
// What fsync was called for. Null: nobody asks; other tests of this program call it in threads.
std::set<std::filesystem::path>* synced_paths = nullptr;

}  // namespace

extern "C" int linkat(int from_folder, char const* from, int to_folder, char const* to,
                      int flags) noexcept
{
    auto const fail_with = [](int error) {
        errno = error;
        return -1;
    };
    if (link_mode == Link::never_sent) return fail_with(ETIMEDOUT);
    if (link_mode == Link::not_supported) return fail_with(EOPNOTSUPP);
    if (link_mode == Link::not_permitted) return fail_with(EPERM);
    auto const done =
        static_cast<int>(syscall(SYS_linkat, from_folder, from, to_folder, to, flags));
    if (done == 0 && link_mode == Link::reply_lost) return fail_with(ETIMEDOUT);
    if (done == 0 && link_mode == Link::sent_twice) return fail_with(EEXIST);
    return done;
}

extern "C" int fsync(int fd)
{
    if (failing_sync > 0 && --failing_sync == 0) {
        errno = EIO;
        return -1;
    }
    if (synced_paths != nullptr)
        synced_paths->insert(std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(fd)));
    return static_cast<int>(syscall(SYS_fsync, fd));
}

namespace curtail::store {
namespace {

ObjectName const record = *ObjectName::parse("runs/r/commits/00000001.json");
ObjectName const neighbour = *ObjectName::parse("runs/r/commits/00000002.json");

class LostReplies : public testing::Test {
  public:
    ~LostReplies() override
    {
        link_mode = Link::normal;
        failing_sync = 0;
        synced_paths = nullptr;
    }

  protected:
    LostReplies() : store_(*PosixStore::open(folder_.path(), IfMissing::refuse))
    {
        EXPECT_TRUE(store_->create(neighbour, bytes_of("n")));
    }
    bool exists() { return store_->get(record, {100}).value().has_value(); }

    test::TemporaryFolder folder_;
    std::unique_ptr<PosixStore> store_;
};

TEST_F(LostReplies, AWinnerThatReceivesExistsKnowsThatItWon)
{
    link_mode = Link::sent_twice;
    EXPECT_EQ(*store_->create(record, bytes_of("x")), CreateOutcome::created);
    link_mode = Link::normal;
    EXPECT_EQ(*store_->create(record, bytes_of("y")), CreateOutcome::exists);
}

TEST_F(LostReplies, AWinnerThatReceivesNoReplyKnowsThatItWon)
{
    link_mode = Link::reply_lost;
    EXPECT_EQ(*store_->create(record, bytes_of("x")), CreateOutcome::created);
    EXPECT_TRUE(exists());
}

TEST_F(LostReplies, ARequestThatMayStillArriveIsUnknown)
{
    link_mode = Link::never_sent;
    EXPECT_EQ(*store_->create(record, bytes_of("x")), CreateOutcome::unknown);
    EXPECT_FALSE(exists());
}

TEST_F(LostReplies, AFileSystemWithoutLinksIsAnErrorThatSaysSo)
{
    for (auto const mode : {Link::not_supported, Link::not_permitted}) {
        link_mode = mode;
        auto const created = store_->create(record, bytes_of("x"));
        ASSERT_FALSE(created);
        EXPECT_EQ(created.error().code, ExitCode::unavailable);
        EXPECT_NE(created.error().message().find("hard links"), std::string::npos);
    }
}

TEST_F(LostReplies, ContentThatIsNotDurableBecomesNoObject)
{
    failing_sync = 1;  // of the content
    EXPECT_FALSE(store_->create(record, bytes_of("x")));
    EXPECT_FALSE(exists());
    failing_sync = 1;
    EXPECT_FALSE(store_->put(record, bytes_of("x")));
    EXPECT_FALSE(exists());
}

TEST_F(LostReplies, FoldersOfAKilledProcessBecomeDurable)
{
    auto const root = folder_.path();
    std::filesystem::create_directories(root / "runs/other/commits");
    std::set<std::filesystem::path> synced;
    synced_paths = &synced;
    auto const name = *ObjectName::parse("runs/other/commits/00000001.json");
    ASSERT_TRUE(store_->create(name, bytes_of("x")));
    EXPECT_TRUE(synced.contains(root / "runs")) << "for the name `other`";
    EXPECT_TRUE(synced.contains(root / "runs/other")) << "for the name `commits`";
    synced.clear();
    ASSERT_TRUE(store_->put(name, bytes_of("y")));
    EXPECT_FALSE(synced.contains(root / "runs/other")) << "once is enough";
}

TEST_F(LostReplies, VisibleButNotDurableIsUnknown)
{
    failing_sync = 2;  // of the folder
    EXPECT_EQ(*store_->create(record, bytes_of("x")), CreateOutcome::unknown);
    EXPECT_TRUE(exists());
}

}  // namespace
}  // namespace curtail::store
