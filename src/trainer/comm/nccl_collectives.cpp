// SPDX-License-Identifier: Apache-2.0
#include "trainer/comm/nccl_collectives.hpp"

#include <string>
#include <utility>

#include "base/core/clock.hpp"
#include "trainer/comm/nccl_communicator.hpp"
#include "trainer/comm/nccl_stream.hpp"

namespace curtail::comm {
namespace {

// Makes `device` the calling thread's device.
NcclApi const& select_device(NcclApi const& api, int device)
{
    if (auto const result = api.set_device(device); result != CudaResult::success)
        throw CommError(
            "cannot use GPU " + std::to_string(device) + ": CUDA: " + api.cuda_error_text(result),
            ExitCode::unavailable);
    return api;
}

class NcclCollectives final : public Collectives {
  public:
    NcclCollectives(Collectives& host, NcclApi const& api, NcclOptions options)
        : host_(host),
          api_(select_device(api, options.device)),
          patience_(std::move(options.patience)),
          abort_limit_(options.abort_limit),
          stream_(api, options.compute, patience_),
          communicator_(api, patience_, options.abort_limit)
    {
        host_.set_patience(patience_);
        abort_on_failure([&] { communicator_.join(host_); });
    }

    ~NcclCollectives() override
    {
        if (!communicator_.end()) stream_.abandon();
    }

    [[nodiscard]] int rank() const override { return host_.rank(); }
    [[nodiscard]] int size() const override { return host_.size(); }
    [[nodiscard]] Memory memory() const override { return Memory::device; }

    void set_patience(Patience patience) override
    {
        patience_ = std::move(patience);
        host_.set_patience(patience_);
    }

    void all_reduce_sum(std::span<float> values) override
    {
        on_device("sum over the ranks", values.size(), [&](NcclComm* comm) {
            return api_.all_reduce_sum(values.data(), values.data(), values.size(), comm,
                                       stream_.get());
        });
    }

    void reduce_scatter_sum(std::span<float const> all, std::span<float> own) override
    {
        require_chunks(all.size(), own.size());
        on_device("sum over the ranks", own.size(), [&](NcclComm* comm) {
            return api_.reduce_scatter_sum(all.data(), own.data(), own.size(), comm, stream_.get());
        });
    }

    void all_gather(std::span<float const> own, std::span<float> all) override
    {
        require_chunks(all.size(), own.size());
        on_device("gather from the ranks", own.size(), [&](NcclComm* comm) {
            return api_.all_gather(own.data(), all.data(), own.size(), comm, stream_.get());
        });
    }

    void broadcast(std::span<float> values, int root) override
    {
        require_rank(root);
        on_device("broadcast", values.size(), [&](NcclComm* comm) {
            return api_.broadcast(values.data(), values.data(), values.size(), root, comm,
                                  stream_.get());
        });
    }

    void finish() override
    {
        after_check("let the compute stream wait", [&] { stream_.precede_compute(); });
    }
    void finish(std::uint64_t operations) override
    {
        after_check("let the compute stream wait", [&] { stream_.precede_compute(operations); });
    }
    [[nodiscard]] std::uint64_t enqueued() const override { return stream_.enqueued(); }

    void synchronize() override
    {
        abort_on_failure(
            [&] { Collectives::wait_until([&] { return check("wait for the GPU"); }); });
    }
    void wait_until(std::function<bool()> const& done) override
    {
        abort_on_failure([&] {
            Collectives::wait_until([&] {
                check("wait for the GPU");
                return done();
            });
        });
    }

    void all_reduce_sum(std::span<double> values) override
    {
        after_check("sum over the ranks", [&] { host_.all_reduce_sum(values); });
    }

    void broadcast(std::span<std::byte> bytes, int root) override
    {
        after_check("broadcast", [&] { host_.broadcast(bytes, root); });
    }

    void barrier() override
    {
        after_check("pass a barrier", [&] { host_.barrier(); });
    }

    [[nodiscard]] int all_reduce_max(int value) override
    {
        int greatest = value;
        after_check("find the maximum", [&] { greatest = host_.all_reduce_max(value); });
        return greatest;
    }

  private:
    // Throws if an operation has failed or waits too long. True if none is left to do.
    bool check(char const* operation)
    {
        communicator_.check(operation);
        if (!stream_.idle(monotonic_now())) return false;
        communicator_.check(operation);  // it may have failed in the meantime
        return true;
    }

    // Calls `start` to enqueue an operation on `count` floats.
    template <class Start>
    void on_device(char const* operation, std::size_t count, Start const& start)
    {
        abort_on_failure([&] {
            check(operation);
            if (count == 0) return;
            stream_.follow_compute();
            communicator_.enqueue(operation, start);
            stream_.watch(operation, monotonic_now());
        });
    }

    template <class CallLimits>
    void after_check(char const* operation, CallLimits const& call)
    {
        abort_on_failure([&] {
            check(operation);
            call();
        });
    }

    // The GPU, and exit handlers of CUDA, could otherwise wait forever for another rank.
    template <class Action>
    void abort_on_failure(Action const& action)
    {
        try {
            action();
        } catch (CommError const& failure) {
            if (communicator_.abort()) throw;
            stream_.abandon();
            throw CommStuck(std::string(failure.what()) + "; NCCL did not give up within " +
                            format_duration(abort_limit_));
        }
    }

    Collectives& host_;
    NcclApi const& api_;
    Patience patience_;
    Millis abort_limit_;
    NcclStream stream_;
    NcclCommunicator communicator_;
};

}  // namespace

std::unique_ptr<Collectives> nccl_collectives(Collectives& host, NcclApi const& api,
                                              NcclOptions options)
{
    return std::make_unique<NcclCollectives>(host, api, std::move(options));
}

}  // namespace curtail::comm
