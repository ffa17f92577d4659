// SPDX-License-Identifier: Apache-2.0
// A writer that is killed before or after any of its system calls leaves an object that is missing
// or complete.
#include <gtest/gtest.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "storage/store/posix_store.hpp"
#include "support/temporary_folder.hpp"

namespace curtail::store {
namespace {

ObjectName const record = *ObjectName::parse("runs/r/commits/00000001.json");
Content const content_of_it(300'000, std::byte{42});

using Act = void (*)(ObjectStore&);
void create_it(ObjectStore& store) { (void)store.create(record, content_of_it); }
void put_it(ObjectStore& store) { (void)store.put(record, content_of_it); }

// Runs `act` on the store at `root` in a child process and kills it at its stop number `stops`. A
// system call stops twice, at entry and at exit. True if the child ended before.
bool kill_at_stop(std::filesystem::path const& root, Act act, int stops)
{
    pid_t const child = fork();
    if (child == 0) {
        auto const store = PosixStore::open(root, IfMissing::refuse);
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

enum class State { missing, complete, partial };

State state_of(ObjectStore& store)
{
    auto const content = store.get(record, {1 << 20});
    if (!content) throw std::runtime_error(content.error().message());
    if (!*content) return State::missing;
    return **content == content_of_it ? State::complete : State::partial;
}

// Kills at every stop, one after another, each time in a new store.
void kill_everywhere(Act act)
{
    int missing = 0;
    int complete = 0;
    for (int stop = 0;; ++stop) {
        test::TemporaryFolder const folder;
        bool const finished = kill_at_stop(folder.path(), act, stop);
        auto const store = *PosixStore::open(folder.path(), IfMissing::refuse);
        auto const seen = state_of(*store);
        ASSERT_NE(seen, State::partial) << "killed at stop " << stop;
        (seen == State::missing ? missing : complete) += 1;
        // The store works for the next writer, whatever the killed one left behind.
        auto const outcome = store->create(record, content_of_it);
        ASSERT_TRUE(outcome) << outcome.error().message();
        EXPECT_EQ(*outcome, seen == State::missing ? CreateOutcome::created : CreateOutcome::exists)
            << "killed at stop " << stop;
        EXPECT_EQ(state_of(*store), State::complete);
        if (finished) break;
    }
    EXPECT_GT(missing, 10);
    EXPECT_GT(complete, 3) << "the object became visible only at the very end";
}

TEST(KilledWriter, LeavesACreatedObjectMissingOrComplete) { kill_everywhere(create_it); }
TEST(KilledWriter, LeavesAPutObjectMissingOrComplete) { kill_everywhere(put_it); }

TEST(KilledWriter, LeavesTheOldObjectOrTheNewOne)
{
    for (int stop = 0;; ++stop) {
        test::TemporaryFolder const folder;
        auto const store = *PosixStore::open(folder.path(), IfMissing::refuse);
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
