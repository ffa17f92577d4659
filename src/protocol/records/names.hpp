// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/core/ids.hpp"
#include "protocol/records/ranges.hpp"

// The names of a run's objects in the store (docs/formats-store.md). All names are relative to the
// folder `runs/<run>/` of the store.
namespace curtail::protocol {

/// The id of one instance of a site's trainer. Its text is `<site>.<8 hex>`.
struct Process {
    SiteId site;
    std::uint32_t nonce{};  ///< value of the hex digits; drawn at random when the instance starts
    [[nodiscard]] std::string text() const;  ///< `<site>.<8 hex>`
    friend auto operator<=>(Process const&, Process const&) = default;
};

/// The parts of a member id `<site>.<8 hex>.<N>`. Commit N admits the member. A process that is not
/// a member writes records under an id with N = 0.
struct MemberParts {
    Process process;
    CommitNumber admitted;  ///< N
};
/// Returns the id of the member that commit `admitted` admits.
[[nodiscard]] MemberId member_id(Process const& process, CommitNumber admitted);
/// Splits a member id. Accepts only the spelling that member_id() returns. Returns an empty
/// optional if `text` is not a member id.
[[nodiscard]] std::optional<MemberParts> parse_member_id(std::string_view text);
/// Splits a valid member id. Throws std::logic_error if `id` is not valid.
[[nodiscard]] MemberParts member_parts(MemberId const& id);

inline constexpr char const* run_name = "run.json";
[[nodiscard]] std::string probe_name(Process const& process, std::int64_t attempt);
[[nodiscard]] std::string commit_name(CommitNumber number);
/// Returns the names of these commits for people: at most three ranges of them.
[[nodiscard]] std::string commit_names(Ranges const& numbers);
[[nodiscard]] std::string amendment_name(std::int64_t n);
/// Returns the name of the request number `k` to repair the model of `round`.
[[nodiscard]] std::string repair_name(Round round, std::int64_t k);
/// Returns the name of the object in which a site says that it is alive.
[[nodiscard]] std::string status_name(SiteId const& site);
/// Returns the name of the closing number `n` of a site.
[[nodiscard]] std::string closing_name(SiteId const& site, std::int64_t n);
[[nodiscard]] std::string header_name(MemberId const& member, Seq seq);
/// Returns the name of the object that holds a contribution's delta. `base` is the round that began
/// with the model from which the contribution started.
[[nodiscard]] std::string delta_name(Round base, MemberId const& member, Seq seq);
/// Returns the name of an object of the model with which `round` begins. `part` is weights_part or
/// momentum_part. `attempt` distinguishes the models that one writer stores.
[[nodiscard]] std::string model_name(Round round, MemberId const& writer, std::int64_t attempt,
                                     std::string_view part);
/// Returns the member that has stored the payload of this name: the member of a delta, or the
/// writer of a model. Returns an empty optional for every other name.
[[nodiscard]] std::optional<MemberId> owner_of(std::string_view name);
/// Returns the name of the lease number `k` for the merge that ends `round`.
[[nodiscard]] std::string lease_name(Round round, std::int64_t k);

/// Returns true if `name` is a model_name() with this `round` and `part`, and with any writer and
/// attempt.
[[nodiscard]] bool is_model_name(std::string_view name, Round round, std::string_view part);

}  // namespace curtail::protocol
