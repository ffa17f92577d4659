// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/ids.hpp"

/// Names of objects in the store, relative to the run's folder `runs/<run>/`
/// (docs/formats-store.md).
namespace curtail::rounds {

/// One instance of a site's process: `<site>.<8 hex>`. Each start draws the hex digits at random.
struct Process {
    SiteId site;
    std::uint32_t nonce{};
    [[nodiscard]] std::string text() const;
    friend auto operator<=>(Process const&, Process const&) = default;
};

/// The parts of a member id `<site>.<8 hex of the process>.<N>`; commit N admits the member. N = 0
/// denotes a process that writes without being a member.
struct MemberParts {
    Process process;
    CommitNumber admitted;
};
[[nodiscard]] MemberId member_id(Process const& process, CommitNumber admitted);
/// Strict: each member has exactly one spelling. Empty if `text` is not a member id.
[[nodiscard]] std::optional<MemberParts> parse_member_id(std::string_view text);
/// Parts of a valid id; throws std::logic_error on any other text.
[[nodiscard]] MemberParts member_parts(MemberId const& id);

inline constexpr char const* run_name = "run.json";
[[nodiscard]] std::string probe_name(Process const& process, std::int64_t attempt);
[[nodiscard]] std::string commit_name(CommitNumber number);
[[nodiscard]] std::string header_name(MemberId const& member, Seq seq);
[[nodiscard]] std::string delta_name(Round base, MemberId const& member, Seq seq,
                                     std::string_view part);
[[nodiscard]] std::string model_name(Round round, MemberId const& writer, std::int64_t attempt,
                                     std::string_view part);
[[nodiscard]] std::string lease_name(Round round, std::int64_t k);

/// True if model_name returns exactly `name` for this round and part and some writer and attempt.
[[nodiscard]] bool is_model_name(std::string_view name, Round round, std::string_view part);

/// Names of the files of part `p` of the parameter list: `w<p>` weights, `m<p>` momentum, `d<p>`
/// delta.
[[nodiscard]] std::string weights_part(std::string_view part);
[[nodiscard]] std::string momentum_part(std::string_view part);
[[nodiscard]] std::string delta_part(std::string_view part);

}  // namespace curtail::rounds
