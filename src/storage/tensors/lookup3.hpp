// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string_view>

namespace curtail::tensors {

/// Returns the checksum with which HDF5 protects metadata: Bob Jenkins' hash function `hashlittle`
/// (lookup3, 2006), which is in the public domain, with the initial value 0.
[[nodiscard]] std::uint32_t lookup3(std::string_view bytes);

}  // namespace curtail::tensors
