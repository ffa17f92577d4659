// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>

#include "protocol/rules/next.hpp"
#include "protocol/site/amendments.hpp"
#include "protocol/site/contributions.hpp"
#include "protocol/site/garbage.hpp"
#include "protocol/site/known_chain.hpp"
#include "protocol/site/known_commits.hpp"
#include "protocol/site/liveness_scan.hpp"
#include "protocol/site/machine.hpp"
#include "protocol/site/mending.hpp"
#include "protocol/site/merge_lease.hpp"
#include "protocol/site/pace.hpp"
#include "protocol/site/payloads.hpp"
#include "protocol/site/pending.hpp"
#include "protocol/site/predecessors.hpp"
#include "protocol/site/proposal.hpp"
#include "protocol/site/repairs.hpp"
#include "protocol/site/scan.hpp"
#include "protocol/site/schedule.hpp"
#include "protocol/site/search.hpp"
#include "protocol/site/site.hpp"
#include "protocol/site/store_clock.hpp"
#include "protocol/site/training.hpp"
#include "protocol/site/watch.hpp"

// The fields of a Site. Private to protocol/site.
namespace curtail::protocol::site {

/// Numbers of failures in a row.
struct Failures {
    int bad_reads{0};           ///< reads that returned an invalid record, each with the same error
    std::string bad_read{};     ///< this error
    int misses{0};              ///< reads that did not find a record that must exist
    int unread_looks{0};        ///< looks in a row that could not read all statuses
    int loads{0};               ///< answers Corrupt to a LoadModel, Adopt or Merge on the same tip
    int unanswered{0};          ///< answers Unknown and Unavailable
    std::string write_error{};  ///< of the last write to the store; empty: it has succeeded
    /// Lasting errors of the store in a row before this process is a member.
    int reads_at_start{0};
    int writes_at_start{0};
    /// Since then, the store has refused this process access to everything. Empty: it has not.
    std::optional<MonoTime> denied_since;
};

/// The wait of a new member for its first model.
struct Base {
    MonoTime until;  ///< end of the wait
    bool merged{};   ///< a merge commit has arrived during the wait
};

/// The newest merge, and those contributions that it decides and whose headers this process has not
/// read yet.
struct UnreadMerge {
    Commit commit;
    std::vector<ContributionDecision> decided;
};

/// The parts that are reset when this process's membership ends.
struct Membership {
    std::optional<MemberId> member;  ///< empty: not a member
    std::optional<Removal> removal;  ///< why a commit removed the member; empty: not removed
    Base base;
    Training training;
    Contributions contributions;
    PendingContributions pending;
    UnreadMerge unread;
    Proposal proposal;
};

/// All parts of a Site. No part stores a reference to another part. The functions in steps.hpp use
/// all parts.
struct Parts : Membership {
    explicit Parts(SiteConfig site)
        : config(std::move(site)),
          machine(std::uint64_t{config.process.nonce} * 2 + 1),
          chain(config.decoder),
          known(config.seen),
          predecessors(config.ended),
          scan(config.decoder)
    {
    }

    void end_membership() { static_cast<Membership&>(*this) = {}; }

    SiteConfig config;
    Machine machine;
    KnownChain chain;
    Failures failures;
    /// Number of this process's last attempt (CommitWriter::attempt). The names of the models and
    /// probe objects that this process stores contain the number.
    std::int64_t attempt{0};
    bool noted_differences{};        ///< this process has compared its configuration with the terms
    std::optional<MemberId> former;  ///< the last member of this process that a commit removed
    StoreClock store_clock;
    Watch watch;
    JournalHeads heads;  ///< as in the last Published

    History history;
    Pace pace;

    Amendments amendments;
    Search search;
    KnownCommits known;
    LivenessScan liveness;
    FoldedMembers folded;
    Predecessors predecessors;
    Schedule schedule;
    MergeLease lease;
    Scan scan;
    Payloads payloads;
    Garbage garbage;
    Repairs repairs;
    Mending mending;
};

}  // namespace curtail::protocol::site
