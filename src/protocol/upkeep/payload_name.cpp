// SPDX-License-Identifier: Apache-2.0
#include "protocol/upkeep/payload_name.hpp"

#include "base/core/text.hpp"
#include "protocol/records/names.hpp"
#include "protocol/records/record.hpp"

namespace curtail::upkeep {
namespace {

// The number with which `text` begins; 0 if there is none. Composing the name again shows whether
// that was all of it.
std::int64_t number(std::string_view text) { return leading_integer(text).value_or(0); }

std::optional<Payload> parse_model(std::string_view name,
                                   std::vector<std::string_view> const& pieces)
{
    Round const round{number(pieces[1])};
    bool const model = protocol::is_model_name(name, round, protocol::weights_part) ||
                       protocol::is_model_name(name, round, protocol::momentum_part);
    return model && round.value >= 1 ? std::optional(ModelPayload{round}) : std::nullopt;
}

std::optional<Payload> parse_delta(std::string_view name,
                                   std::vector<std::string_view> const& pieces)
{
    MemberId const member{std::string(pieces[2])};
    Seq const seq{number(pieces[3])};
    auto const again = protocol::delta_name({number(pieces[1])}, member, seq);
    if (!protocol::parse_member_id(member.value) || seq.value < 1 || again != name)
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
