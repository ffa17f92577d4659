// SPDX-License-Identifier: Apache-2.0
#pragma once

// Payloads: weights, deltas and momentum as HDF5 tensor files with one tensor per parameter
// (docs/formats-store.md).

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/ids.hpp"
#include "core/result.hpp"

namespace curtail::payload {

/// The weights, a delta or the momentum of a model: one float per element, for all parameters one
/// after another. Immutable, so that threads may share it.
using Values = std::shared_ptr<std::vector<float> const>;

/// Name and shape of one parameter of the model.
struct Parameter {
    std::string name;
    std::vector<std::int64_t> shape;
    [[nodiscard]] std::size_t elements() const;
};

/// The run to which a payload belongs, and the parameters of the run's model.
struct Layout {
    RunId run;
    std::vector<Parameter> parameters;  ///< in the order in which Values holds their values
    [[nodiscard]] std::size_t elements() const;
};

/// Returns the bytes of a tensor file that holds `values`. `part` tells what the values are: `w0`
/// for weights, `m0` for momentum, `d0` for a delta. Fails with `software` if HDF5 fails. Throws
/// std::logic_error unless `values` has layout.elements() elements.
[[nodiscard]] Result<std::string> encode(Layout const& layout, std::string const& part,
                                         std::span<float const> values);

/// Reads the values from `bytes`, the content of a tensor file. The caller must first compare the
/// digest of `bytes` with the recorded digest. `source` names the payload in error messages. Fails
/// with `protocol` if the payload belongs to another run, part or model. Fails with `data` if
/// `bytes` is not a tensor file or lacks a parameter.
[[nodiscard]] Result<Values> decode(Layout const& layout, std::string const& part,
                                    std::string_view bytes, std::string const& source);

}  // namespace curtail::payload
