// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "base/core/result.hpp"

namespace curtail::launch {

/// Finds the name of the local cluster in the output of `scontrol show federation`. Returns an
/// empty optional if the cluster belongs to no federation; scontrol then prints nothing. Fails with
/// `data` if the text names a federation, but not the cluster, or the reverse.
[[nodiscard]] Result<std::optional<std::string>> find_federated_cluster(std::string_view text);

}  // namespace curtail::launch
