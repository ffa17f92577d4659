// SPDX-License-Identifier: Apache-2.0
#include "train/run_training.hpp"

#include <cmath>
#include <cstdlib>
#include <random>

#include "core/clock.hpp"
#include "model/initialize.hpp"
#include "model/payload_layout.hpp"
#include "train/round_thread.hpp"
#include "train/snapshot_owner.hpp"

namespace curtail::train {
namespace {

constexpr Millis idle_wait{20};

/// The leader's training loop between the round protocol's thread and the crew.
class MemberLoop {
  public:
    MemberLoop(Crew& crew, LeaderContext const& context, RoundThread& thread,
               store::ObjectStore& store)
        : crew_(crew),
          context_(context),
          thread_(thread),
          store_(store),
          position_(context.start),
          owner_(context.owner)
    {
    }

    /// Until the protocol says to leave.
    Leave run()
    {
        for (;;) {
            report_stop();
            auto order = busy() ? thread_.try_order() : thread_.order_until(mono_now() + idle_wait);
            if (!order) {
                // Whoever was asked to stop begins no further step: the window is closed.
                if (!stop_reported_) train_a_step();
                continue;
            }
            if (auto* leave = std::get_if<Leave>(&*order))
                return failure_ ? Leave{failure_->code, failure_} : std::move(*leave);
            std::visit([this](auto const& what) { carry_out(what); }, *order);
        }
    }
    /// The snapshot, unless nothing was trained; `rate` as measured by now.
    void save(rounds::Rate rate)
    {
        if (steps_here_ == 0) return;
        position_.rate = rate;
        learn_owner();
        if (!owner_)
            return context_.log.warning(
                "no snapshot is saved: the store does not say which beginning of the run this is");
        auto const saved =
            save_snapshot(context_.snapshot, context_.run.run, *owner_, position_,
                          crew_.engine().weights(), crew_.engine().optimizer().state());
        if (!saved) context_.log.warning(saved.error().message());
    }

  private:
    [[nodiscard]] bool busy() const
    {
        return !stop_reported_ && blocks_ && !work_.next_blocks(blocks_->held, 1).empty();
    }

    void report_stop()
    {
        if (stop_reported_ || !(crew_.stop().raised() || must_stop_)) return;
        stop_reported_ = true;
        if (!failure_) context_.recorder.event("stop-requested");
        context_.recorder.state(PowerState::draining);
        // The poller cancels `grace` after its signal; another rank's may be a step older than this
        // look at it.
        thread_.post(rounds::StopRequested{crew_.stop().raised_at().value_or(mono_now()) +
                                           context_.site.launcher.grace * 4 / 5});
    }

    void train_a_step()
    {
        if (!blocks_) return;
        auto const blocks = work_.next_blocks(blocks_->held, crew_.engine().blocks_per_step());
        if (blocks.empty()) return state(PowerState::idle);
        state(PowerState::training);
        Tokens const progress =
            blocks_->before + Tokens{work_.blocks_since() * context_.run.rounds.block_tokens};
        auto const made = crew_.step(blocks, progress);
        if (!made) return give_up(made.error());
        auto const& outcome = *made;
        must_stop_ |= outcome.stop_seen;
        if (std::isfinite(outcome.loss)) work_.stepped(blocks);
        else drop_work(blocks);
        position_.tokens += outcome.tokens;
        ++position_.steps;
        thread_.post(rounds::Stepped{blocks, outcome.duration});
        ++steps_here_;
        if (steps_here_ == 1) context_.recorder.event("first-step", {{"round", round_}});
        context_.recorder.step({SystemClock{}.now(), steps_here_, round_, outcome.tokens, progress,
                                outcome.loss, outcome.lr_factor, outcome.duration});
        auto const every = context_.run.training.snapshot_every_steps;
        if (every > 0 && steps_here_ % every == 0) save(thread_.rate());
    }

    /// The weights may be what went wrong: the last ones that were good take their place. The
    /// protocol hears of it with the next cut.
    void drop_work(rounds::Ranges const& blocks)
    {
        context_.log.warning(
            "the loss of a step is not finite: the work since the last contribution is dropped, "
            "the optimizer begins anew");
        work_.spoil(blocks);
        crew_.share_weights(*work_.anchor());
    }

    /// Data that cannot be read ends the training; what was learned before is contributed all the
    /// same.
    void give_up(Error const& error)
    {
        context_.log.error(error.message() + "; leaving the run with what was trained so far");
        failure_ = error;
        must_stop_ = true;
        blocks_.reset();
    }

    void carry_out(LoadWeights const& load)
    {
        // While nothing trains: when the site leaves there is no time for it.
        learn_owner();
        round_ = load.round;
        work_.begin(load.theta);
        crew_.share_weights(*load.theta);
        thread_.post(rounds::Loaded{load.op});
    }
    void carry_out(MakeCut const& cut)
    {
        blocks_.reset();
        state(PowerState::exchange);
        auto made = work_.cut(cut.seq, crew_.engine().weights().values());
        if (made.nonfinite > 0) {
            // Seen here first if the last step before the cut made them: its loss was that of the
            // weights before.
            crew_.reset_optimizer();
            crew_.share_weights(*work_.anchor());
        }
        thread_.post(CutMade{cut.op, cut.seq, std::move(made), work_.anchor()});
    }
    void carry_out(TakeOver const& adopt)
    {
        round_ = adopt.round;
        if (adopt.theta)
            crew_.share_weights(
                *work_.adopt(adopt.theta, adopt.dropped, crew_.engine().weights().values()));
        else work_.adopt_own(adopt.dropped);
        // What was decided is no longer undecided: the old holdings must not be trained again
        // before the new ones are known.
        blocks_.reset();
        thread_.post(rounds::Adopted{adopt.op});
    }
    void carry_out(TrainBlocks const& blocks)
    {
        if (!failure_) blocks_ = blocks;
    }
    void carry_out(ForgetWork const&)
    {
        blocks_.reset();
        work_.discard();
        state(PowerState::idle);
    }
    void carry_out(Leave const&) {}

    /// A site that was asked to stop is `draining` whenever it does not train.
    void state(PowerState now)
    {
        context_.recorder.state(stop_reported_ && now != PowerState::training ? PowerState::draining
                                                                              : now);
    }
    void learn_owner()
    {
        if (!owner_) owner_ = owner_in_store(store_, context_.run.run).value_or(std::nullopt);
    }

    Crew& crew_;
    LeaderContext const& context_;
    RoundThread& thread_;
    store::ObjectStore& store_;
    LocalWork work_;
    std::optional<TrainBlocks> blocks_;
    Position position_;
    std::optional<std::string> owner_;
    std::int64_t steps_here_{0};
    std::int64_t round_{0};
    std::optional<Error> failure_;
    bool must_stop_{false};      ///< some rank heard the signal, or the data cannot be read
    bool stop_reported_{false};  ///< the protocol knows
};

}  // namespace

Result<bool> train_in_run(Crew& crew, LeaderContext const& context, rounds::RunSpec const& spec,
                          store::ObjectStore& store)
{
    auto const initial = [&](std::int64_t seed) {
        auto const weights =
            model::initial_parameters(context.run.model, static_cast<std::uint64_t>(seed));
        return std::make_shared<std::vector<float> const>(weights.values().begin(),
                                                          weights.values().end());
    };
    rounds::Site site({{context.site.site, std::random_device{}()}, spec, context.start.rate});
    auto const end_here = [&](Error const& error) {
        context.log.error(error.message());
        context.recorder.ended(error.code);
        // The training loop may sit in a call that never returns. Whoever started the ranks ends
        // the others.
        std::_Exit(static_cast<int>(error.code));
    };
    RoundThread thread(
        std::move(site),
        {store,
         model::payload_layout(context.run.run, context.run.model),
         initial,
         {},
         context.recorder,
         context.log},
        {[&crew] { return crew.stop().raised_at(); }, context.site.launcher.grace, end_here});
    MemberLoop loop(crew, context, thread, store);
    auto const leave = loop.run();
    // A rank that hangs shows here, while the thread still counts the time, and not at the end of
    // MPI, where nobody does.
    crew.muster();
    auto const& end = thread.join();
    loop.save(end.rate());
    if (leave.error) return tl::unexpected(*leave.error);
    return end.tip() && end.tip()->complete;
}

}  // namespace curtail::train
