// SPDX-License-Identifier: Apache-2.0
#include "upkeep/payload_name.hpp"

#include "core/text.hpp"
#include "rounds/names.hpp"

namespace curtail::upkeep {
namespace {

// The number with which `text` begins; 0 if there is none. Composing the name again shows whether
// that was all of it.
std::int64_t number(std::string_view text) { return leading_integer(text).value_or(0); }

// `<part>.h5`, where the part begins with one of `kinds`.
std::optional<std::string_view> part_of(std::string_view file, std::string_view kinds)
{
    constexpr std::string_view suffix = ".h5";
    if (!file.ends_with(suffix) || kinds.find(file[0]) == kinds.npos) return std::nullopt;
    auto const part = file.substr(0, file.size() - suffix.size());
    constexpr std::string_view allowed = "abcdefghijklmnopqrstuvwxyz0123456789_";
    if (part.size() > 32 || part.find_first_not_of(allowed) != part.npos) return std::nullopt;
    return part;
}

std::optional<Payload> parse_model(std::string_view name,
                                   std::vector<std::string_view> const& pieces)
{
    auto const dash = pieces[2].rfind('-');
    auto const part = part_of(pieces[3], "wm");
    if (dash == std::string_view::npos || !part) return std::nullopt;
    MemberId const writer{std::string(pieces[2].substr(0, dash))};
    Round const round{number(pieces[1])};
    auto const again = rounds::model_name(round, writer, number(pieces[2].substr(dash + 1)), *part);
    if (!rounds::parse_member_id(writer.value) || round.value < 1 || again != name)
        return std::nullopt;
    return ModelPayload{round};
}

std::optional<Payload> parse_delta(std::string_view name,
                                   std::vector<std::string_view> const& pieces)
{
    auto const part = part_of(pieces[4], "d");
    if (!part) return std::nullopt;
    MemberId const member{std::string(pieces[2])};
    Seq const seq{number(pieces[3])};
    auto const again = rounds::delta_name({number(pieces[1])}, member, seq, *part);
    if (!rounds::parse_member_id(member.value) || seq.value < 1 || again != name)
        return std::nullopt;
    return DeltaPayload{member, seq};
}

}  // namespace

std::optional<Payload> parse_payload_name(std::string_view name)
{
    auto const pieces = split(name, '/');
    for (auto const piece : pieces)
        if (piece.empty()) return std::nullopt;
    if (pieces[0] == "models" && pieces.size() == 4) return parse_model(name, pieces);
    if (pieces[0] == "deltas" && pieces.size() == 5) return parse_delta(name, pieces);
    return std::nullopt;
}

std::optional<Round> model_round(std::string_view name)
{
    auto const payload = parse_payload_name(name);
    auto const* const model = payload ? std::get_if<ModelPayload>(&*payload) : nullptr;
    return model == nullptr ? std::nullopt : std::optional(model->round);
}

}  // namespace curtail::upkeep
