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

/// Carries out what the round protocol decides: small records and payloads to and from the store,
/// merges, orders to the training loop. Runs in the leader's background thread.
class RoundExecutor {
  public:
    struct Parts {
        store::ObjectStore& store;
        payload::Layout layout;
        std::function<Values(std::int64_t seed)> initial_weights;
        std::function<void(Order)> order;  ///< hands an order to the training loop
        Recorder& recorder;
        Log log;
    };
    explicit RoundExecutor(Parts parts) : parts_(std::move(parts)) {}

    /// Does it; answers the input that it leads to, if that is known at once.
    [[nodiscard]] std::optional<rounds::Input> carry_out(rounds::Output const& output);
    /// What the training loop reports, as an input of the protocol. Keeps the delta and anchor of a
    /// cut for storing.
    [[nodiscard]] rounds::Input translate(Report report);
    [[nodiscard]] bool finished() const { return finished_; }

  private:
    using Answer = std::optional<rounds::Input>;
    /// A payload, or why it could not be had.
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

    /// The answer to a question that the store did not carry out. Says why, once for each reason in
    /// a row, whatever the object.
    template <class Answer>
    rounds::Input failed(rounds::Op op, Error const& error);
    [[nodiscard]] Result<store::ObjectName> object(std::string const& name) const;
    Answer store_one(rounds::Op op, std::vector<rounds::Target> const& targets,
                     std::span<float const> values);
    Result<rounds::PartRef> put(rounds::Target const& target, std::span<float const> values);
    tl::expected<Values, store::ReadFailure> read_payload(rounds::PartRef const& part);
    Fetched fetch(rounds::Op op, rounds::PartRef const& part);
    Answer gather_deltas(rounds::Merge const& merge, std::vector<Values>& deltas);

    Parts parts_;
    std::map<Seq, Values> deltas_;  ///< of cuts that are not decided yet
    Values anchor_;                 ///< x at the last cut
    std::string last_complaint_;
    bool finished_{false};
};

}  // namespace curtail::train
