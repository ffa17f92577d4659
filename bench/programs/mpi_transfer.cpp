// SPDX-License-Identifier: Apache-2.0
// Times the transfer of one large payload over MPI, and prints one line of JSON: seconds of the
// second transfer and, between jobs, of the start of both ends until they have shown their tokens.
//
//     bench_mpi_transfer between-jobs BYTES
//     mpirun -n 2 ... bench_mpi_transfer one-job BYTES
//
// between-jobs: as sites do it, from one job of mpirun to another, with curtail-bridge at both
// ends. one-job: from rank 0 to rank 1, without bridges. The same messages, and the receiver
// computes their digest, too. bench/rows/mpi_rows.py gives mpirun the variables of a bridge.
#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>

#include "base/core/clock.hpp"
#include "trainer/bridge/bridge_process.hpp"
#include "trainer/bridge/connection.hpp"
#include "trainer/comm/intercommunicator.hpp"

using namespace curtail;

namespace {

constexpr Seconds long_enough{120};

[[noreturn]] void stop(std::string const& why)
{
    fmt::print(stderr, "bench_mpi_transfer: {}\n", why);
    std::_Exit(1);
}
template <class T>
T must(Result<T> result)
{
    if (!result) stop(result.error().message());
    if constexpr (!std::is_void_v<T>) return std::move(*result);
}

MonoTime later() { return monotonic_now() + long_enough; }
CallLimits call() { return {{}, later()}; }

double seconds_since(MonoTime begin) { return FractionalSeconds(monotonic_now() - begin).count(); }

std::vector<std::byte> content(std::size_t bytes)
{
    std::vector<std::byte> all(bytes);
    for (std::size_t i = 0; i < bytes; ++i) all[i] = static_cast<std::byte>(i * 31 >> 5);
    return all;
}

struct Side {
    std::shared_ptr<bridge::Offers> offers{std::make_shared<bridge::Offers>()};
    std::unique_ptr<bridge::Connection> connection;
};

constexpr int transfers = 2;  // the first one needs new memory

void between_jobs(std::size_t bytes)
{
    auto const all = content(bytes);
    auto const digest = sha256(all);
    auto const programs = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "../bin";
    auto const ends = bridge::process_ends({programs / "curtail-bridge", "lo", {}});
    auto const begin = monotonic_now();
    auto older = must(ends.wait_at_port(call()));
    auto newer = must(ends.connect_to(older->address(), call()));
    must(older->wait_until_connected(call()));
    must(newer->wait_until_connected(call()));
    Side giver;
    Side taker;
    std::string const token(64, 'a');
    giver.connection = std::make_unique<bridge::Connection>(
        std::move(older), giver.offers, bridge::Connection::Settings{{token, token}});
    taker.connection = std::make_unique<bridge::Connection>(
        std::move(newer), taker.offers, bridge::Connection::Settings{{token, token}});
    if (!taker.connection->wait_until_ready(later())) stop(taker.connection->why_ended());
    double const connect_s = seconds_since(begin);
    giver.offers->add(digest, {std::ssize(all), [&](std::size_t at, std::span<std::byte> to) {
                                   std::memcpy(to.data(), all.data() + at, to.size());
                                   return true;
                               }});
    std::vector<std::byte> place(bytes);
    for (int i = 0; i < transfers; ++i) {
        auto const start = monotonic_now();
        std::size_t have = 0;
        auto const take = [&](std::span<std::byte const> piece) {
            std::memcpy(place.data() + have, piece.data(), piece.size());
            have += piece.size();
        };
        auto const done = taker.connection->fetch(digest, std::ssize(all), take, {{}, later()});
        if (!done) stop(done.error());
        if (i + 1 == transfers)
            fmt::print("{{\"seconds\": {}, \"connect_s\": {}}}\n", seconds_since(start), connect_s);
    }
}

void one_job(std::size_t bytes)
{
    using comm::Intercommunicator;
    must(Intercommunicator::start_mpi());
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    char port[MPI_MAX_PORT_NAME]{};
    if (rank == 0) std::ranges::copy(must(Intercommunicator::open_port()), port);
    MPI_Bcast(port, sizeof port, MPI_CHAR, 0, MPI_COMM_WORLD);
    auto other =
        must(rank == 0 ? Intercommunicator::accept(port) : Intercommunicator::connect(port));
    auto const all = content(bytes);
    auto const digest = sha256(all);
    std::vector<std::byte> place(bytes);
    for (int i = 0; i < transfers; ++i) {
        MPI_Barrier(MPI_COMM_WORLD);
        auto const start = monotonic_now();
        Sha256 hash;
        for (std::size_t have = 0; have < bytes;) {
            auto const size = std::min(bridge::largest_body, bytes - have);
            if (rank == 0) {
                while (!other.can_send()) (void)must(other.progress());
                std::vector<std::byte> piece(
                    all.begin() + static_cast<std::ptrdiff_t>(have),
                    all.begin() + static_cast<std::ptrdiff_t>(have + size));
                must(other.send(piece));
            } else {
                auto const piece = must(other.receive());
                if (!piece) continue;
                hash.update(*piece);
                std::memcpy(place.data() + have, piece->data(), size);
            }
            have += size;
        }
        while (must(other.progress())) {}
        if (rank == 0) continue;
        if (hash.finish() != digest) stop("the digest differs");
        if (i + 1 == transfers) fmt::print("{{\"seconds\": {}}}\n", seconds_since(start));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
}

}  // namespace

int main(int argc, char** argv)
{
    std::string_view const mode = argc == 3 ? argv[1] : "";
    if (mode != "between-jobs" && mode != "one-job") {
        std::fputs("usage: bench_mpi_transfer between-jobs|one-job BYTES\n", stderr);
        return 64;
    }
    (mode == "one-job" ? one_job : between_jobs)(std::stoul(argv[2]));
    return 0;
}
