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

#include "base/core/ids.hpp"
#include "base/core/pieces.hpp"
#include "base/core/result.hpp"

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

/// A payload in the form in which a store keeps it: a tensor file. Refers to the values, which must
/// outlive it.
struct EncodedPayload {
    std::string head;  ///< see head_of()
    std::span<float const> values;

    [[nodiscard]] Pieces pieces() const;  ///< the whole file; refers to `head` and `values`
};
/// Returns all bytes of a payload before its values, see tensors::encode_head().
[[nodiscard]] std::string head_of(Layout const& layout, std::string const& part);
/// Encodes `values` without copying them. `part` tells what the values are: `w0` for weights, `m0`
/// for momentum, `d0` for a delta. The bytes depend only on the arguments. Throws std::logic_error
/// unless `values` has layout.elements() elements.
[[nodiscard]] EncodedPayload encode(Layout const& layout, std::string const& part,
                                    std::span<float const> values);

/// Reads the values from `bytes`, the content of any tensor file with the right tensors. The caller
/// must first compare the digest of `bytes` with the recorded digest. `source` names the payload in
/// error messages. Fails with `protocol` if the payload belongs to another part or model, or if it
/// is a delta of another run. Weights and momentum may be those of another run: a fork takes them
/// over.
/// Fails with `data` if `bytes` is not a tensor file or lacks a parameter.
[[nodiscard]] Result<Values> decode(Layout const& layout, std::string const& part,
                                    std::string_view bytes, std::string const& source);
/// The same, but puts the values into `place`. If this fails, they have no meaning. Throws
/// std::logic_error unless `place` has layout.elements() elements.
[[nodiscard]] Result<void> decode_into(std::span<float> place, Layout const& layout,
                                       std::string const& part, std::string_view bytes,
                                       std::string const& source);

}  // namespace curtail::payload
