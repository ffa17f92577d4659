// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>

#include "rounds/verify.hpp"
#include "store/object_store.hpp"

/// What can be learned about a run by looking at it from outside.
namespace curtail::status {

/// The object that the protocol calls `relative` (rounds/names.hpp) in the run's folder of a store.
/// `protocol` if it is no name.
[[nodiscard]] Result<store::ObjectName> object_of(RunId const& run, std::string_view relative);

/// A run's objects for rounds::verify and rounds::read_chain. `objects` must live as long. An
/// object that is longer than a record may be, or no plain file, is damage: `protocol`. A store
/// that does not answer is not: its own error.
[[nodiscard]] rounds::VerifySource source_of(store::ObjectStore& objects, RunId const& run);

/// Recomputes the run from its store: rounds::verify, and that no commit stands beyond a gap in the
/// chain. `protocol` with the object's name and the reason if anything is wrong.
[[nodiscard]] Result<rounds::ChainSummary> verify_run(store::ObjectStore& objects,
                                                      RunId const& run);

}  // namespace curtail::status
