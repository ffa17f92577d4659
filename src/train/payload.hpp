// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/ids.hpp"
#include "core/result.hpp"
#include "train/local_work.hpp"

namespace curtail::model {
struct ParameterPlace;
}

/// Weights, deltas and momentum as HDF5 tensor files: one tensor per parameter, by its name
/// (docs/formats-store.md).
namespace curtail::train {

/// Which run's parameters a payload holds, in which order they lie in the flat buffer.
struct PayloadLayout {
    RunId run;
    std::vector<model::ParameterPlace> const& places;
    [[nodiscard]] std::size_t values() const;
};

[[nodiscard]] Result<std::string> encode_payload(PayloadLayout const& layout,
                                                 std::string const& part,
                                                 std::span<float const> values);
/// `bytes` must be verified before. Refuses a payload of another run, part or model; `source` names
/// it.
[[nodiscard]] Result<Values> decode_payload(PayloadLayout const& layout, std::string const& part,
                                            std::string_view bytes, std::string const& source);

}  // namespace curtail::train
