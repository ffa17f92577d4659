// SPDX-License-Identifier: Apache-2.0
#include "simulator/invariant.hpp"

#include <iterator>

namespace curtail::protocol::simulator {

char const* to_text(Invariant invariant)
{
    static constexpr char const* words[] = {
        "commit", "decision", "identity", "pending",  "weights", "model",    "kept",    "removal",
        "terms",  "leaving",  "round",    "contract", "exit",    "included", "account", "progress"};
    static_assert(std::size(words) == invariant_count);
    return words[static_cast<int>(invariant)];
}

}  // namespace curtail::protocol::simulator
