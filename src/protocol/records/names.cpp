// SPDX-License-Identifier: Apache-2.0
#include "protocol/records/names.hpp"

#include <fmt/format.h>

#include <charconv>
#include <stdexcept>

#include "base/core/text.hpp"
#include "protocol/records/record.hpp"

namespace curtail::protocol {
namespace {

// A number without sign and leading zeros, at most 15 digits.
std::optional<std::int64_t> parse_short_number(std::string_view text)
{
    bool const begins_well = text == "0" || (!text.starts_with('0') && !text.starts_with('-'));
    return begins_well && text.size() <= 15 ? parse_number<std::int64_t>(text) : std::nullopt;
}

std::optional<std::uint32_t> parse_nonce(std::string_view text)
{
    bool const lower_hex = text.find_first_not_of("0123456789abcdef") == text.npos;
    if (text.size() != 8 || !lower_hex) return std::nullopt;
    std::uint32_t value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value, 16);
    return value;
}

}  // namespace

std::string Process::text() const { return fmt::format("{}.{:08x}", site.value, nonce); }

MemberId member_id(Process const& process, CommitNumber admitted)
{
    return {fmt::format("{}.{}", process.text(), admitted.value)};
}

std::optional<MemberParts> parse_member_id(std::string_view text)
{
    auto const first = text.find('.');
    auto const last = text.rfind('.');
    if (first == last) return std::nullopt;
    auto const site = text.substr(0, first);
    auto const nonce = parse_nonce(text.substr(first + 1, last - first - 1));
    auto const number = parse_short_number(text.substr(last + 1));
    if (!nonce || !number || !is_plain_name(site)) return std::nullopt;
    return MemberParts{{{std::string(site)}, *nonce}, {*number}};
}

MemberParts member_parts(MemberId const& id)
{
    auto parts = parse_member_id(id.value);
    if (!parts) throw std::logic_error("not a member id: " + id.value);
    return *parts;
}

std::string probe_name(Process const& process, std::int64_t attempt)
{
    return fmt::format("probe/{}-{}", process.text(), attempt);
}
std::string commit_name(CommitNumber number)
{
    return fmt::format("commits/{:08}.json", number.value);
}
std::string commit_names(Ranges const& numbers)
{
    constexpr std::size_t most = 3;
    std::string text;
    auto const& list = numbers.list();
    for (std::size_t i = 0; i < std::min(most, list.size()); ++i) {
        if (i > 0) text += ", ";
        text += commit_name({list[i].begin});
        auto const last = list[i].end - 1;
        if (last > list[i].begin) text += " to " + commit_name({last});
    }
    return list.size() > most ? text + " and others" : text;
}
std::string amendment_name(std::int64_t n) { return fmt::format("amendments/{}.json", n); }
std::string repair_name(Round round, std::int64_t k)
{
    return fmt::format("repair/{}/{}.json", round.value, k);
}
std::string status_name(SiteId const& site) { return fmt::format("status/{}.json", site.value); }
std::string closing_name(SiteId const& site, std::int64_t n)
{
    return fmt::format("closing/{}/{}.json", site.value, n);
}
std::string header_name(MemberId const& member, Seq seq)
{
    return fmt::format("contrib/{}/{}.json", member.value, seq.value);
}
std::string delta_name(Round base, MemberId const& member, Seq seq)
{
    return fmt::format("deltas/{}/{}/{}/{}.h5", base.value, member.value, seq.value, delta_part);
}
std::string model_name(Round round, MemberId const& writer, std::int64_t attempt,
                       std::string_view part)
{
    return fmt::format("models/{}/{}-{}/{}.h5", round.value, writer.value, attempt, part);
}
std::string lease_name(Round round, std::int64_t k)
{
    return fmt::format("merge/{}/{}.json", round.value, k);
}

bool is_model_name(std::string_view name, Round round, std::string_view part)
{
    auto const pieces = split(name, '/');
    if (pieces.size() != 4 || pieces[0] != "models") return false;
    auto const dash = pieces[2].rfind('-');
    if (dash == std::string_view::npos) return false;
    auto const writer = parse_member_id(pieces[2].substr(0, dash));
    auto const attempt = parse_short_number(pieces[2].substr(dash + 1));
    return writer && attempt &&
           model_name(round, {std::string(pieces[2].substr(0, dash))}, *attempt, part) == name;
}

std::optional<MemberId> owner_of(std::string_view name)
{
    auto const pieces = split(name, '/');
    std::string_view member;
    if (pieces.size() == 5 && pieces[0] == "deltas") member = pieces[2];
    if (pieces.size() == 4 && pieces[0] == "models")
        member = pieces[2].substr(0, pieces[2].rfind('-'));
    return parse_member_id(member) ? std::optional(MemberId{std::string(member)}) : std::nullopt;
}

}  // namespace curtail::protocol
