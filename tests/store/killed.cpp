// SPDX-License-Identifier: Apache-2.0
// A writer that is killed before or after any of its system calls leaves an object that is absent
// or whole.
#include <gtest/gtest.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "store/posix_store.hpp"
#include "support/temporary_folder.hpp"

namespace curtail::store {
namespace {

ObjectName const record = *ObjectName::parse("runs/r/commits/00000001.json");
Content const content_of_it(300'000, std::byte{42});

using Act = void (*)(ObjectStore&);
void create_it(ObjectStore& store) { (void)store.create(record, content_of_it); }
void put_it(ObjectStore& store) { (void)store.put(record, content_of_it); }

/// Runs `act` on the store at `root` in a child that dies at its `stops`-th stop; a system call
/// stops twice, on its way in and out. True if the child had ended by itself before.
bool kill_at_stop(std::filesystem::path const& root, Act act, int stops)
{
    pid_t const child = fork();
    if (child == 0) {
        auto const store = PosixStore::open(root, Missing::refuse);
        ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
        raise(SIGSTOP);
        act(**store);
        _exit(0);
    }
    int status = 0;
    for (int stop = 0; stop <= stops; ++stop) {
        if (waitpid(child, &status, 0) != child) throw std::runtime_error("lost the child");
        if (WIFEXITED(status)) return true;
        if (stop < stops && ptrace(PTRACE_SYSCALL, child, nullptr, nullptr) != 0)
            throw std::runtime_error("cannot trace the child");
    }
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    return false;
}

enum class Seen { absent, whole, half };

Seen look(ObjectStore& store)
{
    auto const content = store.get(record, {1 << 20});
    if (!content) throw std::runtime_error(content.error().message());
    if (!*content) return Seen::absent;
    return **content == content_of_it ? Seen::whole : Seen::half;
}

/// Kills at every stop there is, one after another.
void kill_everywhere(Act act)
{
    int absent = 0;
    int whole_ones = 0;
    for (int stop = 0;; ++stop) {
        test::TemporaryFolder const folder;
        bool const finished = kill_at_stop(folder.path(), act, stop);
        auto const store = *PosixStore::open(folder.path(), Missing::refuse);
        auto const seen = look(*store);
        ASSERT_NE(seen, Seen::half) << "killed at stop " << stop;
        (seen == Seen::absent ? absent : whole_ones) += 1;
        // Whatever the dead one left behind, the next one finds a store that works.
        auto const outcome = store->create(record, content_of_it);
        ASSERT_TRUE(outcome) << outcome.error().message();
        EXPECT_EQ(*outcome, seen == Seen::absent ? CreateOutcome::created : CreateOutcome::exists)
            << "killed at stop " << stop;
        EXPECT_EQ(look(*store), Seen::whole);
        if (finished) break;
    }
    EXPECT_GT(absent, 10);
    EXPECT_GT(whole_ones, 3) << "the object became visible only at the very end";
}

TEST(KilledWriter, LeavesTheCreatedObjectAbsentOrWhole) { kill_everywhere(create_it); }
TEST(KilledWriter, LeavesThePutObjectAbsentOrWhole) { kill_everywhere(put_it); }

TEST(KilledWriter, LeavesTheOldObjectOrTheNewOne)
{
    for (int stop = 0;; ++stop) {
        test::TemporaryFolder const folder;
        auto const store = *PosixStore::open(folder.path(), Missing::refuse);
        ASSERT_TRUE(store->put(record, bytes_of("old")));
        bool const finished = kill_at_stop(folder.path(), put_it, stop);
        auto const content = store->get(record, {1 << 20}).value();
        ASSERT_TRUE(content) << "killed at stop " << stop;
        EXPECT_TRUE(*content == content_of_it || text_of(*content) == "old")
            << "killed at stop " << stop;
        if (finished) break;
    }
}

}  // namespace
}  // namespace curtail::store
