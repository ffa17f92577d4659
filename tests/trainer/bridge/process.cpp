// SPDX-License-Identifier: Apache-2.0
// Two jobs of mpirun in each test, connected over the loopback interface.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <filesystem>
#include <thread>

#include "base/core/clock.hpp"
#include "base/core/files.hpp"
#include "base/core/text.hpp"
#include "support/paths.hpp"
#include "support/temporary_folder.hpp"
#include "trainer/bridge/bridge_process.hpp"
#include "trainer/bridge/connection.hpp"
#include "trainer/bridge/host_network.hpp"

namespace curtail::bridge {
namespace {

using testing::HasSubstr;

constexpr Seconds long_enough{40};

MonoTime in(Millis time) { return monotonic_now() + time; }
CallLimits within(Millis time) { return {{}, in(time)}; }

ProcessSettings settings()
{
    return {test::program_path("curtail-bridge"), "lo", PortRange::parse("21000-21400")};
}

struct Job {
    std::shared_ptr<Offers> offers{std::make_shared<Offers>()};
    std::unique_ptr<Connection> connection;
};

MeetingTokens tokens(char own, char other)
{
    return {std::string(64, own), std::string(64, other)};
}

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
        auto const done =
            job->connection->fetch(digest, std::ssize(bytes), take, within(long_enough));
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
    ListenAddress stale;
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
    explicit OtherPath(std::string const& path)
    {
        if (char const* before = std::getenv("PATH")) before_ = before;
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
    ListenAddress const address{"1.0;tcp://127.0.0.1:1", "1"};
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

TEST(BridgeProcess, AnInterfaceOfNoUseIsSaid)
{
    auto const check = [](std::string const& name, std::string const& why) {
        auto wrong = settings();
        wrong.interface = name;
        auto const end = process_ends(wrong).wait_at_port(within(long_enough));
        ASSERT_FALSE(end);
        EXPECT_EQ(end.error().code, ExitCode::unavailable);
        EXPECT_THAT(end.error().message(), HasSubstr(why));
        // The loopback interface has an IPv4 address, and the wrong one has none.
        auto const remedy = end.error().message();
        auto const usable = remedy.substr(remedy.find("set mpi.interface to one of: ") + 29);
        EXPECT_THAT(split(usable, ','), testing::Contains("lo"));
        EXPECT_THAT(usable, testing::Not(HasSubstr(name)));
    };
    check("no0", "no network interface no0");
    // Some machines have one without an address.
    auto* const all = ::if_nameindex();
    for (auto const* i = all; i->if_index != 0; ++i)
        if (!check_interface(i->if_name)) check(i->if_name, "has no IPv4 address");
    ::if_freenameindex(all);
}

// Another program at the address of an invitation, which a network of mpi.peers has.
class Stranger {
  public:
    explicit Stranger(std::string answer) : answer_(std::move(answer))
    {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof address;
        auto* const place = reinterpret_cast<sockaddr*>(&address);
        if (::bind(listening_.get(), place, size) != 0 || ::listen(listening_.get(), 8) != 0 ||
            ::getsockname(listening_.get(), place, &size) != 0)
            throw std::runtime_error("no socket");
        uri_ = "12.0;tcp://127.0.0.1:" + std::to_string(ntohs(address.sin_port));
    }
    [[nodiscard]] std::string const& uri() const { return uri_; }

  private:
    void serve(std::stop_token const& stop)
    {
        std::vector<Fd> clients;
        while (!stop.stop_requested()) {
            pollfd watched{listening_.get(), POLLIN, 0};
            if (::poll(&watched, 1, 20) != 1) continue;
            clients.emplace_back(::accept(listening_.get(), nullptr, nullptr));
            (void)::send(clients.back().get(), answer_.data(), answer_.size(), MSG_NOSIGNAL);
        }
    }
    std::string answer_;
    std::string uri_;
    Fd listening_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    std::jthread thread_{[this](std::stop_token const& stop) { serve(stop); }};
};

TEST(BridgeProcess, AnotherProgramAtTheAddressIsGivenUpInTime)
{
    for (std::string const answer : {"", "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n"}) {
        Stranger const stranger(answer);
        auto const began = monotonic_now();
        auto const until = within(Seconds{2});
        auto const end = process_ends(settings()).connect_to({stranger.uri(), "12.0:1"}, until);
        bool const met = end && (*end)->wait_until_connected(until);
        EXPECT_FALSE(met);
        EXPECT_LT(monotonic_now() - began, Seconds{7});
    }
}

// Makes every write to a file fail while it exists, here and in the programs that this one starts.
class FullDisk {
  public:
    FullDisk()
    {
        ::signal(SIGXFSZ, SIG_IGN);
        ::getrlimit(RLIMIT_FSIZE, &before_);
        rlimit const none{0, before_.rlim_max};
        ::setrlimit(RLIMIT_FSIZE, &none);
    }
    ~FullDisk()
    {
        ::setrlimit(RLIMIT_FSIZE, &before_);
        ::signal(SIGXFSZ, SIG_DFL);
    }
    FullDisk(FullDisk const&) = delete;
    FullDisk& operator=(FullDisk const&) = delete;

  private:
    rlimit before_{};
};

TEST(BridgeProcess, AFullDiskIsGivenUpInTime)
{
    FullDisk const full;
    auto const began = monotonic_now();
    auto const waiting = process_ends(settings()).wait_at_port(within(Seconds{2}));
    ASSERT_FALSE(waiting);
    EXPECT_THAT(waiting.error().message(), HasSubstr("cannot write"));
    auto const connecting =
        process_ends(settings()).connect_to({"1.0;tcp://127.0.0.1:1", "1"}, within(Seconds{2}));
    ASSERT_FALSE(connecting);
    EXPECT_LT(monotonic_now() - began, Seconds{14});
}

}  // namespace
}  // namespace curtail::bridge
