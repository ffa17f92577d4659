// SPDX-License-Identifier: Apache-2.0
// Ranks that end as the first argument says. Prints "rank R: ..." to stdout.
#include <mpi.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include <unistd.h>

#include "base/core/clock.hpp"
#include "trainer/comm/mpi_session.hpp"

using namespace curtail;

namespace {

bool mpi_is_broken = false;

void say(int rank, std::string const& text)
{
    std::printf("rank %d: %s\n", rank, text.c_str());
    std::fflush(stdout);
}

// Starts a process that stops this one for `time`, soon.
void suspend_for(std::chrono::milliseconds time)
{
    pid_t const self = getpid();
    if (fork() != 0) return;
    std::this_thread::sleep_for(Millis{100});
    kill(self, SIGSTOP);
    std::this_thread::sleep_for(time);
    kill(self, SIGCONT);
    _exit(0);
}

Result<void> act(std::string const& way, comm::Collectives& ranks)
{
    bool const last = ranks.rank() == ranks.size() - 1;
    ranks.barrier();
    if (way == "good") return {};
    if (way == "one-is-late" || way == "all-are-suspended") {
        ranks.set_patience({Millis{1500}, {}});
        if (way == "all-are-suspended") suspend_for(std::chrono::seconds{3});
        if (last) std::this_thread::sleep_for(Millis{way == "one-is-late" ? 4000 : 300});
        ranks.barrier();
        return {};
    }
    if (way == "one-is-late-in-a-stop") {
        auto const end = monotonic_now() + Millis{400};
        ranks.set_patience({Millis{60'000}, [end] { return std::optional(end); }});
        if (last) std::this_thread::sleep_for(Millis{4000});
        ranks.barrier();
        return {};
    }
    if (way == "all-are-stuck") throw comm::CommStuck("the device does not stop");
    if (way == "all-fail") return fail(ExitCode::config, "bad key", "on every rank");
    if (way == "one-fails-at-the-end" && last)
        return fail(ExitCode::data, "bad shard", "on this rank");
    if (way == "one-fails-in-the-middle" && last)
        return fail(ExitCode::data, "bad shard", "on this rank");
    if (way == "one-throws" && last) throw std::logic_error("a broken promise");
    if (way == "mpi-breaks-at-the-end" && last) mpi_is_broken = true;
    if (way == "one-fails-in-the-middle" || way == "one-throws") ranks.barrier();
    return {};
}

}  // namespace

// Makes the final agreement fail through MPI's profiling interface.
extern "C" int MPI_Iallreduce(void const* send, void* receive, int count, MPI_Datatype type,
                              MPI_Op op, MPI_Comm comm, MPI_Request* request)
{
    return mpi_is_broken ? MPI_ERR_OTHER
                         : PMPI_Iallreduce(send, receive, count, type, op, comm, request);
}

int main(int, char** argv)
{
    std::atexit([] { say(-1, "exits in the ordinary way"); });
    auto session = comm::MpiSession::start(Millis{60'000}, [](Error const&) {});
    if (!session) return static_cast<int>(session.error().code);
    int const rank = session->rank();
    auto const done = session->run(
        [&](auto& ranks) { return act(argv[1], ranks); },
        [&](Error const& error) { say(rank, "logs: " + error.message()); }, Millis{200});
    say(rank, done ? "good" : done.error().message());
    return done ? 0 : static_cast<int>(done.error().code);
}
