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

/// One life of one site's process: `<site>.<8 hex>`. The hex digits are drawn at random by each
/// start.
struct Process {
    SiteId site;
    std::uint32_t nonce{};
    [[nodiscard]] std::string text() const;
    friend auto operator<=>(Process const&, Process const&) = default;
};

/// A member id in its parts: `<site>.<8 hex of the process>.<N>`, N the number of the commit that
/// admits it. N = 0 stands for a process that writes without being a member.
struct MemberParts {
    Process process;
    CommitNumber admitted;
};
[[nodiscard]] MemberId member_id(Process const& process, CommitNumber admitted);
[[nodiscard]] std::optional<MemberParts> parse_member_id(
    std::string_view text);  ///< strict: nothing else has the same id
/// Site and N of an id that is known to be one; throws std::logic_error if it is not.
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

/// True if `name` is exactly what model_name makes for that round and part and any writer and
/// attempt.
[[nodiscard]] bool is_model_name(std::string_view name, Round round, std::string_view part);

/// Files of one part `p` of the parameter list: `w<p>` weights, `m<p>` momentum, `d<p>` delta.
[[nodiscard]] std::string weights_part(std::string_view part);
[[nodiscard]] std::string momentum_part(std::string_view part);
[[nodiscard]] std::string delta_part(std::string_view part);

}  // namespace curtail::rounds
