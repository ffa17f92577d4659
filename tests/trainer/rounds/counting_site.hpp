// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <memory>
#include <string>
#include <thread>

#include "protocol/records/fixtures.hpp"
#include "protocol/records/names.hpp"
#include "support/eventually.hpp"
#include "support/memory_store.hpp"
#include "support/temporary_folder.hpp"
#include "trainer/engine/shard_work.hpp"
#include "trainer/rounds/block_queue.hpp"
#include "trainer/rounds/round_thread.hpp"

namespace curtail::trainer::test {

inline constexpr Seconds long_enough{40};

// The small run of the protocol's tests, fifty times faster.
inline protocol::RunSpec fast_run(std::int64_t blocks)
{
    auto run = protocol::test::small_run(blocks, {{"A"}, {"B"}});
    run.tensors = {"w"};
    auto& p = run.params;
    p.grant_quantum = 2;
    p.round_time = p.checkpoint_interval = Millis{60};
    p.gather_time = Millis{60};
    p.lease = Millis{150};
    p.first_base_wait = Millis{100};
    p.poll_run = p.poll_run_lone = p.poll_run_starved = p.poll_wait = Millis{5};
    p.drop_after = Millis{400};
    p.skew = Millis{100};
    return run;
}

inline at::Tensor tensor_of(std::vector<float> const& values) { return at::tensor(values); }

inline Values values_of(at::Tensor const& tensor)
{
    auto const* const first = tensor.const_data_ptr<float>();
    return std::make_shared<std::vector<float> const>(first, first + tensor.numel());
}

// A store that outlives all threads that use it.
inline std::shared_ptr<store::ObjectStore> shared(store::ObjectStore& objects)
{
    return {&objects, [](store::ObjectStore*) {}};
}

// A site: the thread under test and a trainer whose weights count steps. The trainer has no
// snapshots; a test may act for them with `gate`.
class CountingSite {
  public:
    CountingSite(std::string const& name, protocol::RunSpec const& run,
                 std::shared_ptr<store::ObjectStore> objects, RoundExecutor::Limits limits = {},
                 std::function<Millis()> suspended = suspended_time,
                 std::shared_ptr<SnapshotGate> gate = nullptr)
        : recorder_(folder_.path(), name, "", {}),
          thread_(
              protocol::Site({{{name}, static_cast<std::uint32_t>(name[0])}, run, 0}),
              {std::move(objects),
               {run.run, {{"w", {4}}}},
               [](std::int64_t) { return std::make_shared<std::vector<float> const>(4, 0.0F); },
               {},
               recorder_,
               Log([this](Level, std::string_view line) { log_ += std::string(line) + "\n"; }),
               std::move(gate),
               limits,
               nullptr,
               std::make_shared<chain::RecordCache>(chain::CacheSettings{cache_folder()},
                                                    store::Address{.url = "s3://bucket"}, run.run),
               nullptr,
               true},
              {}, std::move(suspended))
    {
        trainer_ = std::jthread([this] { train(); });
    }
    // Asks the site to leave within `grace`.
    void stop(Millis grace)
    {
        thread_.post(protocol::StopRequested{monotonic_now() + grace, monotonic_now() + grace});
    }
    // How the site left; empty if it did not leave in time.
    std::optional<protocol::Exit> left()
    {
        if (!curtail::test::eventually([&] { return done_.load(); }, long_enough))
            return std::nullopt;
        trainer_.join();
        (void)thread_.join();
        return exit_;
    }
    void give_up() { abandoned_ = true; }
    [[nodiscard]] std::string const& log() const { return log_; }
    /// The ids in the orders IdentifyTraining. Valid once left() has returned.
    [[nodiscard]] std::vector<std::string> const& training_ids() const { return training_ids_; }
    /// The folder of the copies of records.
    [[nodiscard]] std::filesystem::path cache_folder() const { return folder_ / "cache"; }

  private:
    void train()
    {
        while (!abandoned_) {
            auto order = thread_.order_until(monotonic_now() + Millis{1});
            if (order && std::holds_alternative<protocol::Exit>(*order)) {
                exit_ = std::get<protocol::Exit>(*order);
                done_ = true;
                return;
            }
            if (order) std::visit([this](auto const& what) { carry_out(what); }, *order);
            else step();
        }
    }
    void step()
    {
        auto const blocks = queue_.next(1);
        if (blocks.empty()) return;
        x_.sub_(0.25);
        queue_.begin_step(blocks);
        thread_.post(protocol::Stepped{blocks, FractionalSeconds{0.001}});
    }
    void carry_out(WithModel<protocol::LoadModel> const& load)
    {
        queue_.pause_without_work();
        x_.copy_(tensor_of(*load.theta));
        work_.begin(x_);
        thread_.post(protocol::Loaded{load.op});
    }
    void carry_out(protocol::Cut const& cut)
    {
        queue_.pause_without_work();
        auto const sums = work_.begin_cut(cut.seq, x_);
        work_.end_cut(cut.seq, true, x_);
        auto const anchor = cut.with_model ? values_of(work_.anchor()) : nullptr;
        thread_.post(CutResult{cut.op, cut.seq, {values_of(work_.delta(cut.seq)), anchor, sums}});
    }
    void carry_out(WithModel<protocol::Adopt> const& adopt)
    {
        queue_.pause();
        work_.forget(adopt.dropped);
        if (adopt.theta) work_.adopt(tensor_of(*adopt.theta), queue_.since_cut() > 0, x_);
        thread_.post(protocol::Adopted{adopt.op});
    }
    void carry_out(protocol::Train const& train) { queue_.order(train); }
    void carry_out(protocol::Discard const&)
    {
        queue_.pause_without_work();
        work_.discard();
    }
    void carry_out(IdentifyTraining const& training) { training_ids_.push_back(training.id); }
    void carry_out(protocol::Exit const&) {}

    curtail::test::TemporaryFolder folder_;
    std::vector<std::string> training_ids_;
    std::string log_;  // by the background thread; read it after left()
    Recorder recorder_;
    RoundThread thread_;
    BlockQueue queue_;
    ShardWork work_;
    at::Tensor x_{at::zeros({4}, at::TensorOptions(at::kFloat))};
    std::optional<protocol::Exit> exit_;
    std::atomic<bool> done_{false};
    std::atomic<bool> abandoned_{false};
    std::jthread trainer_;
};

}  // namespace curtail::trainer::test
