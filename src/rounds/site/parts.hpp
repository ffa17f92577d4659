// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>

#include "rounds/next.hpp"
#include "rounds/site.hpp"
#include "rounds/site/amendments.hpp"
#include "rounds/site/contributions.hpp"
#include "rounds/site/garbage.hpp"
#include "rounds/site/known_chain.hpp"
#include "rounds/site/looks.hpp"
#include "rounds/site/machine.hpp"
#include "rounds/site/merge_lease.hpp"
#include "rounds/site/payloads.hpp"
#include "rounds/site/pending.hpp"
#include "rounds/site/proposal.hpp"
#include "rounds/site/repairs.hpp"
#include "rounds/site/scan.hpp"
#include "rounds/site/schedule.hpp"
#include "rounds/site/search.hpp"
#include "rounds/site/store_clock.hpp"
#include "rounds/site/training.hpp"
#include "rounds/site/watch.hpp"

// The fields of a Site. Private to src/rounds.
namespace curtail::rounds::site {

/// Numbers of failures in a row.
struct Failures {
    int bad_reads{0};   ///< reads that returned an invalid record
    int misses{0};      ///< reads that did not find a record that must exist
    int loads{0};       ///< answers Corrupt to a LoadModel, Adopt or Merge on the same tip
    int unanswered{0};  ///< answers Unknown and Unavailable
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

/// The parts that are reset when this process's membership ends.
struct Membership {
    std::optional<MemberId> member;  ///< empty: not a member
    std::optional<Removal> removal;  ///< why a commit removed the member; empty: not removed
    Base base;
    Training training;
    Contributions contributions;
    Pending pending;
    Proposal proposal;
};

/// All parts of a Site. No part stores a reference to another part. The functions in steps.hpp use
/// all parts.
struct Parts : Membership {
    explicit Parts(SiteConfig site)
        : config(std::move(site)),
          machine(std::uint64_t{config.process.nonce} * 2 + 1),
          chain(config.decoder),
          scan(config.decoder)
    {
    }

    void end_membership() { static_cast<Membership&>(*this) = {}; }

    SiteConfig config;
    Machine machine;
    KnownChain chain;
    Failures failures;
    /// Number of this process's last attempt (Writer::attempt). The names of the models and probe
    /// objects that this process stores contain the number.
    std::int64_t attempt{0};
    bool noted_differences{};  ///< this process has compared its configuration with the terms
    StoreClock store_clock;
    Watch watch;

    History history;

    Amendments amendments;
    Search search;
    Looks looks;
    Folded folded;
    Schedule schedule;
    MergeLease lease;
    Scan scan;
    Payloads payloads;
    Garbage garbage;
    Repairs repairs;
};

}  // namespace curtail::rounds::site
