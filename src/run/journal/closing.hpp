// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "protocol/records/record.hpp"
#include "storage/store/object_store.hpp"

// Closings of a site's journal (docs/formats-journal.md). The functions return the store's errors
// unchanged.
namespace curtail::journal {

/// Returns the newest closing of a site; empty if there is none. Fails with `protocol` if it is
/// damaged.
[[nodiscard]] Result<std::optional<protocol::Closing>> newest_closing(store::ObjectStore& store,
                                                                      RunId const& run,
                                                                      SiteId const& site,
                                                                      CallLimits const& call = {});

/// Returns whether newest_closing() failed with `error` because of what the closing contains.
/// Otherwise, the store could not be read.
[[nodiscard]] bool is_damaged(Error const& error);

/// Returns whether the run has the commit that a closing names. `commits` are the digests of its
/// commits, in order.
[[nodiscard]] bool fits(std::optional<protocol::CommitRef> const& commit,
                        std::vector<Digest> const& commits);

/// Creates the next closing of a site, with `heads` and the newest commit. Does nothing if the
/// newest closing has these heads. `now` is the present real time.
[[nodiscard]] Result<void> close_journal(store::ObjectStore& store, RunId const& run,
                                         SiteId const& site, protocol::JournalHeads const& heads,
                                         Time now, CallLimits const& call);

}  // namespace curtail::journal
