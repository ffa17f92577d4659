// SPDX-License-Identifier: Apache-2.0
// How NcclCollectives fail, with a double of NCCL and CUDA. The same goes wrong on every rank.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "base/core/clock.hpp"
#include "trainer/comm/mpi_collectives.hpp"
#include "trainer/comm/nccl_collectives.hpp"
#include "trainer/comm/nccl_double.hpp"

namespace curtail::comm {
namespace {

using test::NcclDouble;
using test::NcclFaults;
using testing::HasSubstr;

constexpr Millis patience{150};
constexpr Millis slow_machine{5000};
constexpr auto system_error = NcclResult::system_error;
constexpr auto remote_error = NcclResult::remote_error;

// Operations that were aborted may still use it.
std::span<float> values()
{
    static std::vector<float> numbers(4, 1);
    return numbers;
}

enum class Kind { none, error, timeout, stuck };

struct Failure {
    Kind kind{Kind::none};
    ExitCode code{};
    std::string text{};
};

// What `action` throws.
template <class Action>
Failure failure_of(Action const& action)
{
    try {
        action();
        return {};
    } catch (CommStuck const& e) {
        return {Kind::stuck, e.to_error().code, e.what()};
    } catch (CommTimeout const& e) {
        return {Kind::timeout, e.to_error().code, e.what()};
    } catch (CommError const& e) {
        return {Kind::error, e.to_error().code, e.what()};
    }
}

struct Gpu {
    explicit Gpu(NcclFaults faults) : hangs_on_abort(faults.abort_hangs), nccl(faults) {}
    bool hangs_on_abort;
    std::unique_ptr<Collectives> host{mpi_collectives()};
    NcclDouble nccl;
    std::unique_ptr<Collectives> ranks;

    void start(Millis limit = Patience{}.limit)
    {
        NcclOptions options{.compute = nccl.compute(), .patience = {limit, {}}};
        if (hangs_on_abort) options.abort_limit = Millis{100};
        ranks = nccl_collectives(*host, nccl.api(), options);
    }
    // From now on, the other ranks may not be late either.
    void be_impatient() const { ranks->set_patience({patience, {}}); }
};

struct Case {
    std::string name;
    NcclFaults faults;
    Kind kind;
    ExitCode code;
    std::string text;
};
std::string name_of(testing::TestParamInfo<Case> const& info) { return info.param.name; }
void expect(Failure const& found, Case const& expected)
{
    EXPECT_EQ(found.kind, expected.kind) << found.text;
    EXPECT_EQ(found.code, expected.code) << found.text;
    EXPECT_THAT(found.text, HasSubstr(expected.text));
}

struct NcclStart : testing::TestWithParam<Case> {};

TEST_P(NcclStart, FailsWithinThePatience)
{
    constexpr Millis enough_to_meet{1000};
    Gpu gpu(GetParam().faults);
    auto const began = monotonic_now();
    expect(failure_of([&] { gpu.start(enough_to_meet); }), GetParam());
    EXPECT_LT(monotonic_now() - began, enough_to_meet + slow_machine);
    EXPECT_EQ(gpu.nccl.misuses(), 0);
    EXPECT_EQ(gpu.nccl.live(), 0);
}

INSTANTIATE_TEST_SUITE_P(
    Ways, NcclStart,
    testing::Values(Case{"no_id",
                         {.id = system_error},
                         Kind::error,
                         ExitCode::temporary,
                         "cannot start NCCL on rank 0: NCCL: a failure"},
                    Case{"refused",
                         {.init = system_error},
                         Kind::error,
                         ExitCode::temporary,
                         "cannot start NCCL: NCCL: a failure (details)"},
                    Case{"hangs",
                         {.init_hangs = true},
                         Kind::timeout,
                         ExitCode::unavailable,
                         "cannot start NCCL: a rank did not arrive within 1.0 s"}),
    name_of);

TEST(NcclStart, FailsWithoutAGpu)
{
    Gpu gpu({});
    auto const found =
        failure_of([&] { (void)nccl_collectives(*gpu.host, gpu.nccl.api(), {.device = -1}); });
    EXPECT_EQ(found.kind, Kind::error);
    EXPECT_EQ(found.code, ExitCode::unavailable);
    EXPECT_THAT(found.text, HasSubstr("cannot use GPU -1: CUDA: "));
}

TEST(NcclStart, RefusesToBlock)
{
    setenv("NCCL_COMM_BLOCKING", "1", 1);
    Gpu gpu({});
    auto const found = failure_of([&] { gpu.start(); });
    unsetenv("NCCL_COMM_BLOCKING");
    EXPECT_EQ(found.kind, Kind::error);
    EXPECT_EQ(found.code, ExitCode::config);
    EXPECT_THAT(found.text, HasSubstr("NCCL_COMM_BLOCKING is set"));
}

struct NcclFailure : testing::TestWithParam<Case> {
    Gpu gpu{GetParam().faults};

    void SetUp() override
    {
        gpu.start();
        gpu.ranks->all_reduce_sum(values());
        gpu.ranks->synchronize();
        gpu.be_impatient();
    }
    void expect_aborted() const
    {
        EXPECT_EQ(gpu.nccl.count("comm_abort"), 1);
        EXPECT_EQ(gpu.nccl.misuses(), 0);
    }
    void operate_and_wait() const
    {
        gpu.ranks->all_reduce_sum(values());
        gpu.ranks->finish();
        gpu.ranks->synchronize();
    }
};

// Of the second operation.
std::vector<Case> failures()
{
    auto const second = [](NcclFaults faults) {
        faults.at = 1;
        return faults;
    };
    return {{"refused", second({.refused = system_error}), Kind::error, ExitCode::temporary,
             "cannot sum over the ranks: NCCL: a failure (details)"},
            {"never_enqueued", second({.never_enqueued = true}), Kind::timeout,
             ExitCode::unavailable, "cannot sum over the ranks: a rank did not arrive within 0.1"},
            {"hangs", second({.hangs = true}), Kind::timeout, ExitCode::unavailable,
             "cannot sum over the ranks: a rank did not arrive within 0.1"},
            {"breaks_later", second({.broken = system_error}), Kind::error, ExitCode::temporary,
             "NCCL: a failure (details)"},
            {"another_rank_is_gone", second({.broken = remote_error}), Kind::error,
             ExitCode::unavailable, "NCCL: remote process exited or there was a network error"},
            {"cuda_breaks", second({.query = static_cast<CudaResult>(700)}), Kind::error,
             ExitCode::temporary, "cannot sum over the ranks: CUDA: an illegal memory access"}};
}

TEST_P(NcclFailure, EndsAWaitWithinThePatience)
{
    auto const began = monotonic_now();
    expect(failure_of([&] { operate_and_wait(); }), GetParam());
    EXPECT_LT(monotonic_now() - began, patience + slow_machine);
    expect_aborted();
}

TEST_P(NcclFailure, EndsAHostThatOnlyEnqueues)
{
    auto const began = monotonic_now();
    auto const enqueue = [&] {
        while (monotonic_now() - began < patience + slow_machine) {
            gpu.ranks->all_reduce_sum(values());
            auto const busy = monotonic_now() + Millis{2};
            while (monotonic_now() < busy) {}
        }
    };
    expect(failure_of(enqueue), GetParam());
    expect_aborted();
}

TEST_P(NcclFailure, MakesAllLaterCallsFail)
{
    EXPECT_NE(failure_of([&] { operate_and_wait(); }).kind, Kind::none);
    std::vector<double> number{1};
    auto& ranks = *gpu.ranks;
    for (std::function<void()> const& call :
         {std::function<void()>([&] { ranks.all_reduce_sum(values()); }),
          std::function<void()>([&] { ranks.synchronize(); }),
          std::function<void()>([&] { ranks.finish(); }),
          std::function<void()>([&] { ranks.barrier(); }),
          std::function<void()>([&] { ranks.all_reduce_sum(std::span<double>(number)); })})
        EXPECT_THAT(failure_of(call).text, HasSubstr("an earlier operation failed"));
    gpu.ranks.reset();
    expect_aborted();
    EXPECT_EQ(gpu.nccl.live(), 0);
}

INSTANTIATE_TEST_SUITE_P(Ways, NcclFailure, testing::ValuesIn(failures()), name_of);

using Call = std::function<void(Collectives&)>;
struct NcclNotice : testing::TestWithParam<std::pair<char const*, Call>> {};

// Before the ranks exchange anything.
TEST_P(NcclNotice, TheNextCallReportsAFailureOfTheDevice)
{
    Gpu gpu({.at = 0, .broken = remote_error});
    gpu.start();
    gpu.ranks->all_reduce_sum(values());
    auto const found = failure_of([&] { GetParam().second(*gpu.ranks); });
    EXPECT_EQ(found.code, ExitCode::unavailable) << found.text;
    EXPECT_EQ(gpu.nccl.count("comm_abort"), 1);
}

std::vector<std::pair<char const*, Call>> every_call()
{
    static std::vector<double> number{1};
    static std::byte byte{};
    return {{"sum", [](auto& ranks) { ranks.all_reduce_sum(values()); }},
            {"scatter",
             [](auto& ranks) {
                 static std::vector<float> all(4 * static_cast<std::size_t>(ranks.size()));
                 ranks.reduce_scatter_sum(all, values());
             }},
            {"gather",
             [](auto& ranks) {
                 static std::vector<float> all(4 * static_cast<std::size_t>(ranks.size()));
                 ranks.all_gather(values(), all);
             }},
            {"broadcast", [](auto& ranks) { ranks.broadcast(values(), 0); }},
            {"finish", [](auto& ranks) { ranks.finish(); }},
            {"finish_first", [](auto& ranks) { ranks.finish(1); }},
            {"synchronize", [](auto& ranks) { ranks.synchronize(); }},
            {"wait", [](auto& ranks) { ranks.wait_until([] { return false; }); }},
            {"sum_doubles", [](auto& ranks) { ranks.all_reduce_sum(std::span<double>(number)); }},
            {"broadcast_bytes",
             [](auto& ranks) {
                 ranks.broadcast({&byte, 1}, 0);
             }},
            {"barrier", [](auto& ranks) { ranks.barrier(); }},
            {"maximum", [](auto& ranks) { (void)ranks.all_reduce_max(1); }}};
}

INSTANTIATE_TEST_SUITE_P(Calls, NcclNotice, testing::ValuesIn(every_call()),
                         [](auto const& call) { return std::string(call.param.first); });

TEST(NcclPatience, AStopEndsTheWaitForTheDevice)
{
    Gpu gpu({.at = 0, .hangs = true});
    gpu.start();
    auto const end = monotonic_now() + Millis{50};
    gpu.ranks->set_patience({Millis{60'000}, [end] { return std::optional(end); }});
    gpu.ranks->all_reduce_sum(values());
    auto const found = failure_of([&] { gpu.ranks->synchronize(); });
    EXPECT_EQ(found.kind, Kind::timeout);
    EXPECT_THAT(found.text, HasSubstr("a rank did not arrive in the time for a stop"));
}

TEST(NcclPatience, AWaitForOtherWorkEndsIfAnOperationHangs)
{
    Gpu gpu({.at = 0, .hangs = true});
    gpu.start();
    gpu.be_impatient();
    gpu.ranks->all_reduce_sum(values());
    auto const found = failure_of([&] { gpu.ranks->wait_until([] { return false; }); });
    EXPECT_EQ(found.kind, Kind::timeout);
}

TEST(NcclAbort, ThatHangsEndsTheRankAllTheSame)
{
    Gpu gpu({.at = 0, .hangs = true, .abort_hangs = true});
    gpu.start();
    gpu.be_impatient();
    gpu.ranks->all_reduce_sum(values());
    auto const began = monotonic_now();
    auto const found = failure_of([&] { gpu.ranks->synchronize(); });
    EXPECT_LT(monotonic_now() - began, patience + slow_machine);
    EXPECT_EQ(found.kind, Kind::stuck);
    EXPECT_EQ(found.code, ExitCode::unavailable);
    EXPECT_THAT(found.text, HasSubstr("a rank did not arrive within 0.1"));
    EXPECT_THAT(found.text, HasSubstr("; NCCL did not give up within 0.1 s"));
    auto const live = gpu.nccl.live();
    gpu.ranks.reset();  // CUDA could wait for NCCL's lock
    EXPECT_EQ(gpu.nccl.live(), live);
}

TEST(NcclEnd, AbortsIfTheOthersDoNotEnd)
{
    Gpu gpu({.finalize_hangs = true});
    gpu.start();
    gpu.be_impatient();
    gpu.ranks.reset();
    EXPECT_EQ(gpu.nccl.count("comm_finalize"), 1);
    EXPECT_EQ(gpu.nccl.count("comm_destroy"), 0);
    EXPECT_EQ(gpu.nccl.count("comm_abort"), 1);
    EXPECT_EQ(gpu.nccl.live(), 0);
}

TEST(NcclEnd, DoesNotWaitForTheOthersDuringAnException)
{
    Gpu gpu({});
    try {
        gpu.start();
        auto const ranks = std::move(gpu.ranks);
        throw std::runtime_error("bad shard");
    } catch (std::runtime_error const&) {
    }
    EXPECT_EQ(gpu.nccl.count("comm_finalize"), 0);
    EXPECT_EQ(gpu.nccl.count("comm_abort"), 1);
    EXPECT_EQ(gpu.nccl.live(), 0);
}

}  // namespace
}  // namespace curtail::comm
