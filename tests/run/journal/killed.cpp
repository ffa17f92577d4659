// SPDX-License-Identifier: Apache-2.0
// A publisher that is killed at a seeded moment, and the next one, which goes on.
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include <random>

#include "fixture.hpp"
#include "storage/store/posix_store.hpp"

namespace curtail::journal {
namespace {

using testing::IsEmpty;

class Killed : public JournalTest {
  protected:
    [[nodiscard]] std::shared_ptr<store::ObjectStore> open() const
    {
        return store::PosixStore::open(folder_ / "store", store::IfMissing::make).value();
    }

    // Publishes in a child process and kills it at its stop number `stops`. A system call stops
    // twice, at entry and at exit. Returns true if the child ended before.
    [[nodiscard]] bool kill_at_stop(int stops) const
    {
        pid_t const child = fork();
        if (child == 0) {
            auto publisher = writer(open());
            ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
            raise(SIGSTOP);
            (void)publisher.publish({});
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

    void expect_whole(std::string const& text) const
    {
        (void)publish(writer(open()));
        auto const read =
            Reader(open(), stream_id.run, Cache({})).read(stream_id.site, stream_id.stream);
        ASSERT_TRUE(read) << read.error().message();
        EXPECT_EQ(read->text, text);
        EXPECT_THAT(read->problems, IsEmpty());
    }
};

TEST_F(Killed, AtEverySystemCallLeavesAStreamThatGoesOn)
{
    int kills = 0;
    for (bool finished = false; !finished; ++kills) {
        std::filesystem::remove_all(folder_ / "store");
        std::filesystem::remove_all(file_.parent_path());
        append(lines(0, 10));
        (void)publish(writer(open()));
        append(lines(10, 15'000, 100));
        finished = kill_at_stop(kills);
        expect_whole(lines(0, 10) + lines(10, 15'000, 100));
        if (HasFatalFailure() || HasNonfatalFailure()) FAIL() << "killed at stop " << kills;
    }
    EXPECT_GT(kills, 60) << "too few moments were tried";
}

TEST_F(Killed, AtSeededMomentsAgainAndAgainLosesAndRepeatsNothing)
{
    std::mt19937 random(7);
    std::string text;
    int killed = 0;
    for (int i = 0; i < 80; ++i) {
        auto const more = lines(100 * i, static_cast<int>(random() % 20));
        append(more);
        text += more;
        if (random() % 4 == 0) forget_note();
        killed += kill_at_stop(static_cast<int>(random() % 120)) ? 0 : 1;
    }
    EXPECT_GT(killed, 20);
    expect_whole(text);
}

}  // namespace
}  // namespace curtail::journal
