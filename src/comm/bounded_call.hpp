// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>

#include "core/units.hpp"

namespace curtail::comm {

/// Calls `call` in another thread and waits for its end, at most for `limit`. Returns false if
/// `call` has not returned by then, or if no thread can start. A thread that is late goes on by
/// itself, so `call` must own all that it uses, or use only what lasts as long as the process.
/// `call` must not throw.
[[nodiscard]] bool returns_within(Millis limit, std::function<void()> call);

}  // namespace curtail::comm
