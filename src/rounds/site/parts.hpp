// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>

#include "rounds/next.hpp"
#include "rounds/site.hpp"
#include "rounds/site/chain.hpp"
#include "rounds/site/contributions.hpp"
#include "rounds/site/garbage.hpp"
#include "rounds/site/machine.hpp"
#include "rounds/site/merge_lease.hpp"
#include "rounds/site/payloads.hpp"
#include "rounds/site/pending.hpp"
#include "rounds/site/proposal.hpp"
#include "rounds/site/scan.hpp"
#include "rounds/site/schedule.hpp"
#include "rounds/site/search.hpp"
#include "rounds/site/training.hpp"

/// The state of a Site. Private to src/rounds.
namespace curtail::rounds::site {

/// Numbers of failures of one type in a row.
struct Failures {
    int bad_reads{0};  ///< of a record that must be valid
    int misses{0};     ///< of a commit that must exist
    int loads{0};      ///< of the tip's model
    int at_start{0};   ///< lasting ones of the store, before this process is a member
};

/// The wait for a first model.
struct Base {
    MonoTime until;
    bool merged{};  ///< a merge commit has arrived meanwhile
};

/// The parts that belong to one membership and end with it.
struct Membership {
    std::optional<MemberId> member;
    std::optional<Removal> removal;
    Base base;
    Training training;
    Contributions contributions;
    Pending pending;
    Proposal proposal;
};

/// All parts of a Site. Each owns its fields and none knows another; the steps combine them.
struct Parts : Membership {
    explicit Parts(SiteConfig site)
        : config(std::move(site)), machine(std::uint64_t{config.process.nonce} * 2 + 1)
    {
    }

    void end_membership() { static_cast<Membership&>(*this) = {}; }

    SiteConfig config;
    Machine machine;
    Chain chain;
    Failures failures;
    std::int64_t attempt{0};  ///< makes names of this process's payloads and probes unique
    Millis store_offset{0};   ///< store's time - monotonic time

    History history;

    Search search;
    Folded folded;
    Schedule schedule;
    MergeLease lease;
    Scan scan;
    Payloads payloads;
    Garbage garbage;
};

}  // namespace curtail::rounds::site
