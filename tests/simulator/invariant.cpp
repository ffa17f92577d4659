// SPDX-License-Identifier: Apache-2.0
#include "simulator/invariant.hpp"

namespace curtail::protocol::simulator {

char const* to_text(Invariant invariant)
{
    static constexpr char const* words[] = {"commit", "decision", "identity", "pending", "weights",
                                            "model",  "kept",     "removal",  "terms",   "leaving",
                                            "round",  "contract", "exit",     "progress"};
    return words[static_cast<int>(invariant)];
}

}  // namespace curtail::protocol::simulator
