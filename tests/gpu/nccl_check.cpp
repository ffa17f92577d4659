// SPDX-License-Identifier: Apache-2.0
#include "gpu/nccl_check.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/equal.h>

#include <span>

#include "base/core/clock.hpp"
#include "gpu/device_time.hpp"
#include "trainer/comm/nccl_collectives.hpp"

namespace curtail::check {
namespace {

constexpr std::int64_t elements = std::int64_t{1} << 26;

std::span<float> values_of(at::Tensor const& x)
{
    return {static_cast<float*>(x.mutable_data_ptr()), static_cast<std::size_t>(x.numel())};
}

double seconds_since(MonoTime begin)
{
    return std::chrono::duration<double>(monotonic_now() - begin).count();
}

class NcclCheck {
  public:
    NcclCheck(comm::NcclApi const& api, c10::Device device, double seconds_per_time,
              std::function<void(Operation const&)> const& visit)
        : api_(api),
          device_(device),
          seconds_per_time_(seconds_per_time),
          visit_(visit),
          values_(at::arange(elements, at::TensorOptions(at::kFloat).device(device))),
          expected_(values_.clone()),
          other_(at::empty_like(values_))
    {
    }

    Result<void> run()
    {
        auto begin = monotonic_now();
        auto ranks = communicator();
        done("init", begin);
        using Call = std::function<void(comm::Collectives&)>;
        auto const values = values_of(values_);
        auto const other = values_of(other_);
        for (auto const& [name, result, call] :
             {std::tuple<char const*, at::Tensor, Call>(
                  "all_reduce_sum", values_, [&](auto& all) { all.all_reduce_sum(values); }),
              {"reduce_scatter_sum", other_,
               [&](auto& all) { all.reduce_scatter_sum(values, other); }},
              {"all_gather", other_, [&](auto& all) { all.all_gather(values, other); }},
              {"broadcast", values_, [&](auto& all) { all.broadcast(values, 0); }}})
            if (auto good = operation(*ranks, name, result, call); !good) return good;
        begin = monotonic_now();
        ranks.reset();
        done("finalize", begin);
        give_up();
        return {};
    }

  private:
    [[nodiscard]] std::unique_ptr<comm::Collectives> communicator()
    {
        return comm::nccl_collectives(
            *host_, api_, {.device = device_.is_cpu() ? 0 : device_.index(), .compute = nullptr});
    }

    void done(char const* name, MonoTime begin) const
    {
        visit_({.name = std::string("nccl ") + name, .seconds = seconds_since(begin)});
    }

    // With one rank, an operation copies its input, or leaves it where it is.
    Result<void> operation(comm::Collectives& ranks, char const* name, at::Tensor const& result,
                           std::function<void(comm::Collectives&)> const& call)
    {
        bool const copies = !result.is_same(values_);
        if (copies) result.zero_();
        auto const call_and_wait = [&] {
            call(ranks);
            ranks.synchronize();
        };
        call_and_wait();
        if (!at::equal(result, expected_))
            return fail(ExitCode::software, "NCCL computes wrong results",
                        std::string(name) + " of one rank has changed its values",
                        "do not train with several ranks on this GPU");
        visit_({.name = std::string("nccl ") + name,
                .seconds = seconds_of(call_and_wait, device_, seconds_per_time_),
                .bytes = copies ? 2 * static_cast<double>(expected_.nbytes()) : 0});
        return {};
    }

    // While an exception unwinds the stack, the communicator does not wait for its operations.
    void give_up()
    {
        struct Abandoned {};
        auto begin = monotonic_now();
        try {
            auto const ranks = communicator();
            ranks->all_reduce_sum(values_of(values_));
            begin = monotonic_now();
            throw Abandoned{};
        } catch (Abandoned const&) {
            done("abort", begin);
        }
    }

    comm::NcclApi const& api_;
    c10::Device device_;
    double seconds_per_time_;
    std::function<void(Operation const&)> const& visit_;
    std::unique_ptr<comm::Collectives> host_{comm::single_process()};
    at::Tensor values_, expected_, other_;
};

}  // namespace

Result<void> check_nccl(comm::NcclApi const& api, c10::Device device, double seconds_per_time,
                        std::function<void(Operation const&)> const& visit)
{
    return NcclCheck(api, device, seconds_per_time, visit).run();
}

}  // namespace curtail::check
