// SPDX-License-Identifier: Apache-2.0
// Two jobs of mpirun in each test, connected over the loopback interface.
#include <gmock/gmock.h>
#include <signal.h>

#include <filesystem>
#include <fstream>

#include "bridge/bridge_process.hpp"
#include "bridge/connection.hpp"
#include "core/clock.hpp"
#include "core/files.hpp"
#include "support/paths.hpp"
#include "support/temporary_folder.hpp"

namespace curtail::bridge {
namespace {

using testing::HasSubstr;

constexpr Seconds long_enough{40};

MonoTime in(Millis time) { return monotonic_now() + time; }
Call within(Millis time) { return {{}, in(time)}; }

ProcessSettings settings()
{
    return {test::program_path("curtail-bridge"), "lo", PortRange::parse("21000-21400")};
}

struct Job {
    std::shared_ptr<Offers> offers{std::make_shared<Offers>()};
    std::unique_ptr<Connection> connection;
};

Tokens tokens(char own, char other) { return {std::string(64, own), std::string(64, other)}; }

void connect(Job& older, Job& newer)
{
    auto const ends = process_ends(settings());
    auto waiting = ends.wait_at_port(within(long_enough));
    ASSERT_TRUE(waiting) << waiting.error().message();
    ASSERT_TRUE(check_address((*waiting)->address(), {*Network::parse("127.0.0.1")}))
        << (*waiting)->address().server << " " << (*waiting)->address().port;
    auto connecting = ends.connect_to((*waiting)->address(), within(long_enough));
    ASSERT_TRUE(connecting) << connecting.error().message();
    for (auto* const end : {waiting->get(), connecting->get()}) {
        auto const met = end->wait_until_connected(within(long_enough));
        ASSERT_TRUE(met) << met.error().message();
    }
    older.connection = std::make_unique<Connection>(
        std::move(*waiting), older.offers, Connection::Settings{tokens('a', 'b'), Seconds{5}});
    newer.connection = std::make_unique<Connection>(
        std::move(*connecting), newer.offers, Connection::Settings{tokens('b', 'a'), Seconds{5}});
    ASSERT_TRUE(older.connection->wait_until_ready(in(long_enough)));
    ASSERT_TRUE(newer.connection->wait_until_ready(in(long_enough)));
}

TEST(BridgeProcess, TwoJobsExchangeBytesInBothDirections)
{
    Job older;
    Job newer;
    connect(older, newer);
    std::vector<std::byte> bytes(50'000'000);
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 7 >> 3);
    auto const digest = sha256(bytes);
    for (auto* const job : {&older, &newer})
        job->offers->add(digest, {std::ssize(bytes), [&](std::size_t at, std::span<std::byte> to) {
                                      return Pieces(bytes).copy(at, to) == to.size();
                                  }});
    for (auto* const job : {&older, &newer}) {
        std::size_t arrived = 0;
        auto const take = [&](std::span<std::byte const> piece) { arrived += piece.size(); };
        auto const done = job->connection->fetch(digest, std::ssize(bytes), take, in(long_enough));
        ASSERT_TRUE(done) << done.error();
        EXPECT_EQ(arrived, bytes.size());
    }
}

TEST(BridgeProcess, AnEndThatNobodyConnectsWithGivesUp)
{
    auto const waiting = process_ends(settings()).wait_at_port(within(long_enough));
    ASSERT_TRUE(waiting) << waiting.error().message();
    auto const met = (*waiting)->wait_until_connected(within(Millis{200}));
    ASSERT_FALSE(met);
    EXPECT_THAT(met.error().message(), HasSubstr("too long"));
}

TEST(BridgeProcess, AStalePortGivesUpInTime)
{
    Address stale;
    {
        auto const waiting = process_ends(settings()).wait_at_port(within(long_enough));
        ASSERT_TRUE(waiting) << waiting.error().message();
        stale = (*waiting)->address();
    }
    auto const began = monotonic_now();
    auto const until = within(Seconds{3});
    auto const end = process_ends(settings()).connect_to(stale, until);
    bool const met = end && (*end)->wait_until_connected(until);
    EXPECT_FALSE(met);
    EXPECT_LT(monotonic_now() - began, Seconds{8});
}

// Changes the PATH of the test.
class OtherPath {
  public:
    explicit OtherPath(std::string const& path) : before_(std::getenv("PATH"))
    {
        ::setenv("PATH", path.c_str(), 1);
    }
    ~OtherPath() { ::setenv("PATH", before_.c_str(), 1); }
    OtherPath(OtherPath const&) = delete;
    OtherPath& operator=(OtherPath const&) = delete;

  private:
    std::string before_;
};

void write_program(std::filesystem::path const& path, std::string const& text)
{
    ASSERT_TRUE(write_file(path, "#!/bin/sh\n" + text + "\n", 0755));
}

TEST(BridgeProcess, WithoutOpenMpiItSaysWhatToInstall)
{
    test::TemporaryFolder const folder;
    OtherPath const path(folder.path());
    auto end = process_ends(settings()).wait_at_port(within(long_enough));
    ASSERT_FALSE(end);
    EXPECT_THAT(end.error().message(), HasSubstr("ompi-server: "));
    EXPECT_THAT(end.error().message(), HasSubstr("install Open MPI 4"));
    end = process_ends(settings()).connect_to({"1.0;tcp://127.0.0.1:1", "1"}, within(long_enough));
    ASSERT_FALSE(end);
    EXPECT_THAT(end.error().message(), HasSubstr("mpirun: "));
    EXPECT_THAT(end.error().message(), HasSubstr("install Open MPI 4"));
}

TEST(BridgeProcess, AnMpirunThatDoesSomethingElseIsGivenUpInTime)
{
    test::TemporaryFolder const folder;
    OtherPath const path(folder.path().string() + ":/usr/bin:/bin");
    Address const address{"1.0;tcp://127.0.0.1:1", "1"};
    write_program(folder / "mpirun", "echo ---; echo Something is wrong >&2; exit 3");
    auto end = process_ends(settings()).connect_to(address, within(long_enough));
    ASSERT_FALSE(end);
    EXPECT_THAT(end.error().message(), HasSubstr("it ended with exit code 3: Something is wrong"));
    write_program(folder / "mpirun", "exec sleep 100");
    auto const began = monotonic_now();
    end = process_ends(settings()).connect_to(address, within(Seconds{1}));
    ASSERT_FALSE(end);
    EXPECT_THAT(end.error().message(), HasSubstr("did not start it in time"));
    EXPECT_LT(monotonic_now() - began, Seconds{6});
}

TEST(BridgeProcess, OnlyOpenMpi4ConnectsJobs)
{
    EXPECT_TRUE(check_library("Open MPI v4.1.4, package: Debian OpenMPI"));
    for (auto const& [library, why] :
         {std::pair{"Open MPI v5.0.3, package: x", "v5.0.3 connects jobs of one allocation only"},
          {"MPICH Version:\t4.0.2", "is not Open MPI 4"},
          {"", "is not Open MPI 4"}}) {
        auto const checked = check_library(library);
        ASSERT_FALSE(checked) << library;
        EXPECT_EQ(checked.error().code, ExitCode::unavailable);
        EXPECT_THAT(checked.error().message(), HasSubstr(why));
    }
}

TEST(BridgeProcess, AnInterfaceThatDoesNotExistIsSaid)
{
    auto wrong = settings();
    wrong.interface = "no0";
    auto const end = process_ends(wrong).wait_at_port(within(long_enough));
    ASSERT_FALSE(end);
    EXPECT_EQ(end.error().code, ExitCode::unavailable);
    EXPECT_THAT(end.error().message(), HasSubstr("set mpi.interface to one of: "));
}

}  // namespace
}  // namespace curtail::bridge
