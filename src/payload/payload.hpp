// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/ids.hpp"
#include "core/result.hpp"

/// Weights, deltas and momentum as HDF5 tensor files, one tensor per parameter
/// (docs/formats-store.md).
namespace curtail::payload {

/// One float per element of the model: weights, a delta or momentum, flat, in parameter order.
/// Immutable, so that threads may share it.
using Values = std::shared_ptr<std::vector<float> const>;

struct Parameter {
    std::string name;
    std::vector<std::int64_t> shape;
    [[nodiscard]] std::size_t elements() const;
};

/// The run that a payload belongs to and its parameters, in the order of the flat values.
struct Layout {
    RunId run;
    std::vector<Parameter> parameters;
    [[nodiscard]] std::size_t elements() const;
};

/// The file as bytes. Throws if `values` has another size than the layout.
[[nodiscard]] Result<std::string> encode(Layout const& layout, std::string const& part,
                                         std::span<float const> values);

/// Verify the digest of `bytes` first. `source` names the payload in errors. Fails with `protocol`
/// if the payload belongs to another run, part or model, and with `data` if it is no tensor file or
/// lacks a parameter.
[[nodiscard]] Result<Values> decode(Layout const& layout, std::string const& part,
                                    std::string_view bytes, std::string const& source);

}  // namespace curtail::payload
