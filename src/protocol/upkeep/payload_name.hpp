// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string_view>
#include <variant>

#include "base/core/ids.hpp"

// The names of payloads, which a listing may show. Names are relative to `runs/<run>/`.
namespace curtail::upkeep {

/// Weights or momentum.
struct ModelPayload {
    Round round;  ///< the round that would begin with the model
    friend bool operator==(ModelPayload const&, ModelPayload const&) = default;
};

/// A contribution's delta.
struct DeltaPayload {
    MemberId member;
    Seq seq;
    friend bool operator==(DeltaPayload const&, DeltaPayload const&) = default;
};

using Payload = std::variant<ModelPayload, DeltaPayload>;

/// Returns what a name stands for. Accepts only the spelling that protocol::model_name() and
/// protocol::delta_name() return. Returns an empty optional for every other name.
[[nodiscard]] std::optional<Payload> parse_payload_name(std::string_view name);
/// Returns the round that would begin with the weights or the momentum of this name; empty for
/// every other name.
[[nodiscard]] std::optional<Round> model_round(std::string_view name);

}  // namespace curtail::upkeep
