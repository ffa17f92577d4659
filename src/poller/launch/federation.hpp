// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace curtail::launch {

/// Finds the name of the local cluster in the output of `scontrol show federation`. Returns an
/// empty optional if the cluster belongs to no federation; scontrol then prints nothing.
[[nodiscard]] std::optional<std::string> find_federated_cluster(std::string_view text);

}  // namespace curtail::launch
