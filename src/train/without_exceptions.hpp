// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>

#include "core/result.hpp"

namespace curtail::train {

/// Calls `body`. Turns an exception into an error, so that all ranks can go on together: with the
/// code `unavailable` if there was not enough memory, otherwise with `software`. Lets
/// comm::CommError through.
[[nodiscard]] Result<void> without_exceptions(std::function<Result<void>()> const& body);

}  // namespace curtail::train
