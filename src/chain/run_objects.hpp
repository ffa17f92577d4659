// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "chain/verify.hpp"
#include "store/verified.hpp"

/// The objects of a run in its store: their names, their content, the chain of commits.
namespace curtail::chain {

/// The name in the store of a run's object `relative` (rounds/names.hpp): `runs/<run>/<relative>`.
/// `protocol` if that is not the name of any object.
[[nodiscard]] Result<store::ObjectName> object_name(RunId const& run, std::string_view relative);

/// Reads the objects of one run. Names are relative to the run. The store must outlive it.
///
/// An object that is too long for a record, or not a regular file, is damaged: code `protocol`. If
/// the store fails, its error is returned unchanged.
class RunObjects {
  public:
    RunObjects(store::ObjectStore& store, RunId run) : store_(store), run_(std::move(run)) {}

    [[nodiscard]] RunId const& run() const { return run_; }

    [[nodiscard]] Result<bool> exists(std::string const& name) const;
    /// The bytes of a record; empty: no such object.
    [[nodiscard]] Result<std::optional<std::string>> record(std::string const& name) const;
    /// run.json; empty: the run has not started.
    [[nodiscard]] Result<std::optional<rounds::RunSpec>> spec() const;
    /// One commit, decoded but not compared with its parent; empty: no such commit.
    [[nodiscard]] Result<std::optional<rounds::Commit>> commit(CommitNumber number) const;
    /// Size and digest of a payload as stored; empty: no such object.
    [[nodiscard]] Result<std::optional<PayloadFacts>> payload_facts(std::string const& name) const;
    /// The payload that a record refers to, compared with the record's size and digest.
    [[nodiscard]] tl::expected<store::Content, store::ReadFailure> payload(
        rounds::PartRef const& part) const;

    /// These objects for chain::verify and chain::read_chain.
    [[nodiscard]] VerifySource source() const;

  private:
    store::ObjectStore& store_;
    RunId run_;
};

}  // namespace curtail::chain
