// SPDX-License-Identifier: Apache-2.0
// Ranks that exchange floats with a double of NCCL, and end as the first argument says. Prints
// "rank R: ..." to stdout. Must run under mpirun --enable-recovery, which lets the other ranks go
// on when one dies.
#include <mpi.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "trainer/comm/mpi_session.hpp"
#include "trainer/comm/nccl_collectives.hpp"
#include "trainer/comm/nccl_double.hpp"

using namespace curtail;

namespace {

constexpr Millis patience{500};  // from the third exchange on
constexpr Millis grace{200};

void say(std::string const& text)
{
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    std::printf("rank %d: %s\n", rank, text.c_str());
    std::fflush(stdout);
}

test::NcclFaults faults_of(std::string const& way, bool last)
{
    auto const third = last ? 2 : test::NcclFaults::never;
    if (way == "one-hangs") return {.at = third, .hangs = true};
    if (way == "all-aborts-hang") return {.at = third, .hangs = true, .abort_hangs = true};
    if (way == "one-hangs-at-the-start") return {.init_hangs = last};
    if (way == "nccl-reports-that-one-is-gone")
        return {.at = 2, .broken = comm::NcclResult::remote_error};
    return {};
}

// Three exchanges. The last rank may kill itself before the third.
void exchange(std::string const& way, comm::Collectives& ranks, bool last)
{
    static std::vector<float> values(1000, 1);  // an operation may still use it at the end
    ranks.all_reduce_sum(std::span<float>(values));
    ranks.broadcast(std::span<float>(values), 0);
    ranks.finish();
    ranks.synchronize();
    ranks.barrier();
    ranks.set_patience({patience, {}});
    if (last && way.starts_with("one-is-killed")) std::raise(SIGKILL);
    if (way == "one-is-killed-before-a-barrier") ranks.barrier();
    ranks.all_reduce_sum(std::span<float>(values));
    ranks.finish();
    if (way == "one-is-killed-while-others-enqueue")
        for (;;) ranks.finish();
    ranks.synchronize();
    ranks.barrier();
}

Result<void> act(std::string const& way, comm::Collectives& host)
{
    bool const last = host.rank() == host.size() - 1;
    static test::NcclDouble gpu(faults_of(way, last));
    comm::NcclOptions options{.compute = gpu.compute()};
    if (way == "one-hangs-at-the-start") options.patience = {patience, {}};
    if (way == "all-aborts-hang") options.abort_limit = Millis{200};
    auto const ranks = comm::nccl_collectives(host, gpu.api(), options);
    exchange(way, *ranks, last);
    return {};
}

}  // namespace

// Ends only this rank, so that the test sees how each of the others ends.
extern "C" int MPI_Abort(MPI_Comm, int code)
{
    say("aborts with " + std::to_string(code));
    std::_Exit(code);
}

int main(int, char** argv)
{
    auto session = comm::MpiSession::start(Millis{60'000}, [](Error const&) {});
    if (!session) return static_cast<int>(session.error().code);
    auto const done =
        session->run([&](auto& ranks) { return act(argv[1], ranks); },
                     [](Error const& error) { say("logs: " + error.message()); }, grace);
    auto const code = done ? 0 : static_cast<int>(done.error().code);
    say(done ? "good" : "ends with " + std::to_string(code) + ": " + done.error().message());
    // MPI_Finalize would wait for a rank that "aborts", as this MPI_Abort does not end the others.
    if (!done) std::_Exit(code);
    return code;
}
