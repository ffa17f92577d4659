// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <map>
#include <optional>

#include "payload/payload.hpp"
#include "rounds/messages.hpp"
#include "store/object_store.hpp"
#include "store/verified.hpp"
#include "train/orders.hpp"
#include "train/recorder.hpp"

namespace curtail::train {

/// Carries out the outputs of the round protocol (rounds/messages.hpp). Reads and writes records
/// and payloads, merges contributions, and sends orders to the training loop. Runs in the leader's
/// background thread.
class RoundExecutor {
  public:
    /// What the executor works with. `store` and `recorder` must outlive it.
    struct Parts {
        store::ObjectStore& store;
        payload::Layout layout;
        std::function<Values(std::int64_t seed)> initial_weights;
        std::function<void(Order)> order;  ///< sends an order to the training loop
        Recorder& recorder;
        Log log;
        /// Waits until the snapshot of the last cut is written, for at most the given time.
        std::function<bool(Millis)> wait_for_snapshot{};
    };
    explicit RoundExecutor(Parts parts) : parts_(std::move(parts)) {}

    /// Carries out `output` and returns the answer to it. Returns an empty optional if `output` has
    /// no answer, or if the training loop will answer it later.
    [[nodiscard]] std::optional<rounds::Input> carry_out(rounds::Output const& output);
    /// Turns an event of the training loop into an input of the protocol. Keeps the delta and the
    /// anchor of a CutMade, because the protocol may later ask to store them.
    [[nodiscard]] rounds::Input translate(LoopEvent event);
    /// Returns true once the protocol has ordered the site to leave.
    [[nodiscard]] bool finished() const { return finished_; }

  private:
    /// Waits for the snapshot of the cut whose upload began at `began`, at most as long as the
    /// upload took.
    void wait_for_snapshot(MonoTime began) const;
    using Answer = std::optional<rounds::Input>;
    /// A payload's values, or the input that tells the protocol why they cannot be read.
    using Fetched = tl::expected<Values, rounds::Input>;

    Answer act(rounds::Get const& get);
    Answer act(rounds::Create const& create);
    Answer act(rounds::StoreDelta const& order);
    Answer act(rounds::StoreModel const& order);
    Answer act(rounds::MakeInitial const& order);
    Answer act(rounds::Merge const& merge);
    Answer act(rounds::LoadModel const& load);
    Answer act(rounds::Cut const& cut);
    Answer act(rounds::Adopt const& adopt);
    Answer act(rounds::Train const& train);
    Answer act(rounds::Discard const&);
    Answer act(rounds::Delete const& payload);
    Answer act(rounds::Note const& note);
    Answer act(rounds::Exit const& exit);

    /// Returns the answer for a failed operation of the store. Logs the error if its reason
    /// differs from the reason of the previous failure.
    template <class Answer>
    rounds::Input failed(rounds::Op op, Error const& error);
    [[nodiscard]] Result<store::ObjectName> object(std::string const& name) const;
    Answer store_one(rounds::Op op, std::vector<rounds::Target> const& targets,
                     std::span<float const> values);
    Result<rounds::PartRef> put(rounds::Target const& target, std::span<float const> values);
    tl::expected<Values, store::ReadFailure> read_payload(rounds::PartRef const& part);
    Fetched fetch(rounds::Op op, rounds::PartRef const& part);
    Answer gather_deltas(rounds::Merge const& merge, std::vector<Values>& deltas);
    Answer outer_step(rounds::Merge const& merge, std::vector<float>& theta, std::vector<float>& g,
                      rounds::Merged& merged);

    Parts parts_;
    std::map<Seq, Values> deltas_;  ///< the undecided deltas, by the numbers of their cuts
    Values anchor_;                 ///< anchor after the last cut
    std::string last_reason_;       ///< reason of the previous failure
    bool finished_{false};
};

}  // namespace curtail::train
