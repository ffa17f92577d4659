// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/core/json.hpp"
#include "bill/account/publication.hpp"
#include "protocol/records/record.hpp"
#include "run/runlog/event.hpp"
#include "run/runlog/metrics.hpp"

// What became of the sites' work: how much they trained, how much of it the model includes, and how
// much is lost. Does no I/O.
namespace curtail::account {

struct CommitSummary;

/// A site's logs, as far as the balance needs them.
struct WorkLog {
    SiteId site;
    std::span<runlog::Event const> events{};
    std::span<runlog::StepMetrics const> steps{};
    Publication publication{};
};

/// A loss of a site's work.
struct WorkLoss {
    Time time;
    std::string why;  ///< for people, such as `the delta was missing or damaged`
    /// The commit that refused the work or removed the member. Empty if the trainer ended.
    std::optional<std::int64_t> commit;
    std::optional<Tokens> tokens;  ///< empty: unknown
};

/// What became of the work of a site, or of all sites. The commits say what the model includes,
/// refuses and clips, and which members they removed; the site's logs say the rest.
struct WorkBalance {
    SiteId site;  ///< empty for all sites
    bool has_log{false};
    bool lacks_lines{false};  ///< `trained` and `dropped` are lower bounds
    Tokens trained{};         ///< of all logged steps
    Tokens included{};
    Tokens refused{};
    Tokens dropped{};         ///< with a removed member, or because the trainer ended
    std::int64_t refusals{};  ///< number of refused contributions
    std::int64_t clipped{};   ///< number of clipped contributions
    std::int64_t removals{};  ///< of members that had not asked to leave
    std::optional<WorkLoss> last_loss{};
    std::optional<protocol::Quarantine> quarantine{};
    // The steps since a commit last included work of the site.
    std::optional<Time> last_included{};  ///< time of that commit; empty: there is none
    Tokens waiting{};
    FractionalSeconds waiting_time{};  ///< spent in these steps
    std::int64_t setbacks{};           ///< refusals and removals since that commit

    [[nodiscard]] Tokens lost() const { return refused + dropped; }
};

/// Computes the balance of each site: those of `logs` in their order, then others that the commits
/// name.
[[nodiscard]] std::vector<WorkBalance> balances_of(std::span<CommitSummary const> commits,
                                                   std::span<WorkLog const> logs);

/// Returns the balance of all sites together, without what concerns a single site.
[[nodiscard]] WorkBalance sum_of(std::span<WorkBalance const> sites);

/// Names the sites that have trained for more than three rounds, or three checkpoints of a lone
/// site, since a commit last included their work. Also names those whose work was refused, or whose
/// member was removed, three times since then, and the sites in quarantine.
[[nodiscard]] std::vector<std::string> warnings_of(std::span<WorkBalance const> sites,
                                                   protocol::Params const& params);

/// The value `work` in the documents of curtail-status and curtail-report (docs/status.md).
[[nodiscard]] json::Object to_json(std::span<WorkBalance const> sites,
                                   std::vector<std::string> const& warnings);

}  // namespace curtail::account
