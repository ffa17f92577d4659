// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "core/call.hpp"
#include "maintain/kept_payloads.hpp"
#include "payload/payload.hpp"
#include "rounds/messages.hpp"
#include "runlog/trainer_events.hpp"
#include "store/object_store.hpp"
#include "store/verified.hpp"
#include "train/merger.hpp"

namespace curtail::train {

/// Carries out the protocol's questions to the store: reads and writes records and payloads, and
/// merges contributions. Copies share the store. Thread-safe.
///
/// The functions return the store's error unchanged if it failed.
class StoreWork {
  public:
    StoreWork(std::shared_ptr<store::ObjectStore> store, payload::Layout layout);

    [[nodiscard]] payload::Layout const& layout() const { return *layout_; }

    /// Returns Got or Missing.
    [[nodiscard]] Result<rounds::Input> get(rounds::Get const& question, Call const& call) const;
    /// Returns Created or Exists. Fails with `temporary` if the outcome is unknown.
    [[nodiscard]] Result<rounds::Input> create(rounds::Create const& question,
                                               Call const& call) const;
    /// Stores `values` as the first of `targets`, since runs have one part. Returns its reference.
    [[nodiscard]] Result<std::vector<rounds::PartRef>> put(
        std::vector<rounds::Target> const& targets, Values const& values, Call const& call) const;
    /// Reads and verifies the payload that `part` names (read_payload()).
    [[nodiscard]] tl::expected<Values, store::ReadFailure> read(rounds::PartRef const& part,
                                                                Call const& call) const;
    /// A payload that merge() has stored.
    struct Payload {
        rounds::PartRef part;
        Values values;
    };
    struct Byproducts {
        std::vector<std::string> warnings;  ///< one for each contribution that merge() refuses
        std::vector<Payload> stored;
    };
    /// Returns Merged or Corrupt, see Merger::run().
    [[nodiscard]] Result<rounds::Input> merge(rounds::Merge const& question, Byproducts& byproducts,
                                              Call const& call) const;
    /// Returns Restored. `kept` has this machine's copies; null: there are none. Appends a text to
    /// `warnings` for each input of a merge that it cannot use, and for each object that this site
    /// must not write.
    [[nodiscard]] Result<rounds::Input> restore(rounds::Restore const& question,
                                                maintain::KeptPayloads* kept,
                                                std::vector<std::string>& warnings,
                                                Call const& call) const;
    /// Stores a record in place of an older one.
    [[nodiscard]] Result<void> overwrite(rounds::Overwrite const& order, Call const& call) const;
    /// Removes a payload.
    [[nodiscard]] Result<void> remove(std::string const& name, Call const& call) const;
    /// Reads the chain, and deletes what a sweep may delete (maintain/sweep.hpp). Fails if an
    /// object could not be deleted, after it has tried all.
    [[nodiscard]] Result<runlog::Swept> sweep(rounds::Sweep const& order) const;

  private:
    /// A merge makes a model and a momentum.
    static constexpr std::size_t most_unused = 2;

    [[nodiscard]] Result<store::ObjectName> object(std::string const& name) const;
    [[nodiscard]] PayloadSource source() const { return {*store_, *layout_, *made_, memory_}; }
    [[nodiscard]] Result<rounds::PartRef> put_one(rounds::Target const& target,
                                                  Values const& values, Call const& call) const;
    /// Returns those of `parts` that the store lacks, or has with other bytes.
    [[nodiscard]] Result<std::vector<rounds::PartRef>> damaged_of(
        std::vector<rounds::PartRef> const& parts, Call const& call) const;
    /// Computes a merge. Returns null values if there is no recipe, or if an input is of no use.
    [[nodiscard]] Result<Merger::Results> compute_again(std::optional<rounds::Merge> const& recipe,
                                                        std::vector<std::string>& warnings,
                                                        Call const& call) const;
    /// Returns whether the store has the payload as `part` describes it.
    [[nodiscard]] Result<bool> is_good(rounds::PartRef const& part, Call const& call) const;
    /// Stores `bytes` under the name of `part`. Returns false, and stores nothing, if they are not
    /// the bytes that `part` describes.
    [[nodiscard]] Result<bool> put_again(rounds::PartRef const& part, Pieces const& bytes,
                                         Call const& call) const;
    /// Stores the copy of `part` again. Returns false if there is no undamaged copy.
    [[nodiscard]] Result<bool> put_kept(rounds::PartRef const& part, maintain::KeptPayloads* kept,
                                        Call const& call) const;
    /// Stores the result of a merge again, if it is the payload that `part` describes.
    [[nodiscard]] Result<bool> put_computed(rounds::PartRef const& part,
                                            rounds::Merge const& recipe,
                                            Merger::Results const& computed,
                                            Call const& call) const;

    std::shared_ptr<store::ObjectStore> store_;
    std::shared_ptr<payload::Layout const> layout_;
    std::shared_ptr<MadePayloads> made_{std::make_shared<MadePayloads>()};
    payload::ValueMemory memory_{most_unused};
};

}  // namespace curtail::train
