// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "protocol/chain/record_cache.hpp"
#include "protocol/site/messages.hpp"
#include "storage/payload/payload.hpp"
#include "storage/store/object_store.hpp"
#include "trainer/engine/recorder.hpp"
#include "trainer/engine/records.hpp"
#include "trainer/rounds/merge_work.hpp"
#include "trainer/rounds/operation_table.hpp"
#include "trainer/rounds/orders.hpp"
#include "trainer/rounds/snapshot_gate.hpp"

namespace curtail::trainer {

/// Carries out the outputs of the round protocol (protocol/site/messages.hpp): starts operations on
/// the store, and sends orders to the training loop. Never waits for the store. Belongs to the
/// leader's background thread.
class RoundExecutor {
  public:
    /// Time limits of operations. When the time is over, the protocol gets the answer Unknown or
    /// Unavailable.
    struct Limits {
        Millis record{30'000};      ///< to read or create a record
        Millis payload{3'600'000};  ///< to read or write one payload
        /// Pause after a read of the training's id that failed.
        Millis identify_again{10'000};
    };
    /// What the executor works with. `recorder` must outlive it.
    struct Parts {
        std::shared_ptr<store::ObjectStore> store;
        payload::Layout layout;
        std::function<Values(std::int64_t seed)> initial_weights;
        std::function<void(Order)> order;  ///< sends an order to the training loop
        Recorder& recorder;
        Log log;
        /// Is closed while the snapshot of the last cut is written. A contribution waits for it, at
        /// most as long as its upload took. Null: there are no snapshots.
        std::shared_ptr<SnapshotGate> gate{};
        Limits limits{};
        /// This machine's copies of payloads. Null: it keeps none.
        std::shared_ptr<chain::KeptPayloads> kept{};
        /// This machine's copies of commits, with which a sweep reads the chain, too. Null: it
        /// keeps none.
        std::shared_ptr<chain::RecordCache> commits{};
        /// The direct way to other sites. Null: there is none.
        std::shared_ptr<DirectPayloads> direct{};
        /// Send IdentifyTraining once the first commit could be read.
        bool identify{false};
        /// Has the logs published. Empty: nobody publishes them.
        std::function<void()> publish_logs{};
        /// Returns the newest pieces of the site's journal. Empty: it has none.
        std::function<protocol::JournalHeads()> journal_heads{};
    };
    /// `notify` says that take_answers() has something to do. It is called from any thread.
    RoundExecutor(Parts parts, std::function<void()> notify);

    /// Carries out `output`, or begins to.
    void carry_out(protocol::Output const& output);
    /// Returns the answers of all operations that have ended or whose time is over. Throws the
    /// exception that an operation threw.
    [[nodiscard]] std::vector<protocol::Input> take_answers();
    /// Returns when take_answers() must be called at the latest.
    [[nodiscard]] std::optional<MonoTime> next_limit() const { return operations_.next_limit(); }
    /// Waits until all deletions and all copies on this machine have ended: a second at most for
    /// deletions, and `for_copies` for copies.
    void finish_errands(Millis for_copies = Seconds{1});
    /// Asks all operations to end, since their answers are not needed any more.
    void cancel() { operations_.cancel(); }
    /// Says who the members of the run are, once this process is one.
    void set_members(MemberId const& own, std::vector<MemberId> const& members);
    /// Says how long one merge may use the direct way.
    void set_direct_time(Millis time) { direct_time_ = time; }
    /// Turns an event of the training loop into an input of the protocol. Keeps the delta and the
    /// anchor of a cut, because the protocol may later ask to store them.
    [[nodiscard]] protocol::Input translate(LoopEvent event);
    /// Returns true once the protocol has ordered the site to leave.
    [[nodiscard]] bool finished() const { return finished_; }

  private:
    using Answer = std::optional<protocol::Input>;

    void act(protocol::Get const& get);
    void act(protocol::GetCopy const& get);
    void act(protocol::List const& list);
    void act(protocol::KeepCommit const& keep);
    void act(protocol::Create const& create);
    void act(protocol::StoreDelta const& question);
    void act(protocol::StoreModel const& question);
    void act(protocol::MakeInitial const& question);
    void act(protocol::Merge const& merge);
    void act(protocol::Restore const& restore);
    void act(protocol::LoadModel const& load);
    void act(protocol::Cut const& cut);
    void act(protocol::Adopt const& adopt);
    void act(protocol::Train const& train) { parts_.order(train); }
    void act(protocol::Discard const& discard);
    void act(protocol::Delete const& garbage);
    void act(protocol::Overwrite const& overwrite);
    void act(protocol::Sweep const& sweep);
    void act(protocol::Keep const& keep);
    void act(protocol::Note const& note);
    void act(protocol::Exit const& exit);

    enum class Type { delta, model };
    /// Starts an operation that stores what `values` returns. For a delta, it also waits for the
    /// snapshot of the last cut. A model is also kept on this machine later.
    void store(protocol::Op op, protocol::PayloadPlace const& place, std::function<Values()> values,
               Type type);
    /// Offers a payload that this site has stored to the others.
    void offer(protocol::PartRef const& part, Values const& values);
    /// Withdraws the offers of deltas that are decided, and of models other than `newest`. Reports
    /// what came which way.
    void end_round_of_offers(std::vector<protocol::PartRef> const& newest);
    /// Starts to write copies of `payloads` on this machine. Then deletes all copies but those of
    /// `keep_only`, unless it is empty.
    void write_copies(std::vector<StoredPayload> payloads,
                      std::vector<protocol::PartRef> keep_only);
    /// Starts to read the id of the training, unless the loop knows it, or a read has just failed.
    void identify();
    /// Starts an operation that answers no question. `first` is OperationTable::first_errand or
    /// OperationTable::first_chore.
    void start_errand(protocol::Op first, Millis limit, OperationTable::Work work);
    /// Starts an operation that reads a payload to keep it. `use` gets the values.
    void fetch(protocol::Op op, protocol::PartRef const& part, std::function<void(Values)> use);
    /// Returns the answer for a failed operation of the store. Logs the error if its reason
    /// differs from the reason of the previous failure.
    template <class Failure>
    protocol::Input failed(protocol::Op op, Error const& error);
    /// Starts the operation that answers the question `op`. If it takes longer than `limit`, the
    /// answer is a Failure.
    template <class Failure>
    void start(protocol::Op op, Millis limit, OperationTable::Work const& work);

    Parts parts_;
    Millis direct_time_{protocol::Params{}.gather_time};
    protocol::JournalHeads told_;  ///< what the protocol knows of the journal
    Records records_;
    PayloadTransport transport_;
    MergeWork merges_;
    std::map<Seq, Values> deltas_;  ///< the undecided deltas, by the numbers of their cuts
    Values anchor_;                 ///< anchor after the last cut
    /// Payloads to copy on this machine, by name. They wait for protocol::Keep, which comes when
    /// the site has adopted the model: until then, the exchange needs the disk.
    std::map<std::string, StoredPayload> to_keep_;
    std::vector<protocol::PartRef> offered_;
    /// Number of write_copies() that have not ended.
    std::shared_ptr<std::atomic<int>> copying_{std::make_shared<std::atomic<int>>(0)};
    std::string last_reason_;  ///< reason of the previous failure
    bool finished_{false};
    bool is_member_{false};              ///< or was one
    std::set<std::string> overwriting_;  ///< names of the writes that have not ended
    bool identifying_{false};            ///< the read of identify() has not ended
    MonoTime identify_from_{};           ///< no read of identify() begins before
    std::uint64_t errands_{0};           ///< with chores; each has a number of its own in the table
    OperationTable operations_;
};

template <class Failure>
protocol::Input RoundExecutor::failed(protocol::Op op, Error const& error)
{
    if (error.why != last_reason_) parts_.log.warning(error.message() + "; retrying");
    last_reason_ = error.why;
    return Failure{op, error.message(), error.code};
}

template <class Failure>
void RoundExecutor::start(protocol::Op op, Millis limit, OperationTable::Work const& work)
{
    auto const late = [this, op, limit]() -> Answer {
        auto const why = operations_.abandoned() >= OperationTable::most_threads
                             ? std::string("earlier operations still wait for it")
                             : "no answer within " + format_duration(limit);
        return failed<Failure>(op, {ExitCode::temporary, "the store does not answer", why, {}});
    };
    operations_.start(op, limit, work, late);
}

}  // namespace curtail::trainer
