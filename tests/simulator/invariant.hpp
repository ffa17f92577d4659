// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <stdexcept>
#include <string>
#include <type_traits>

namespace curtail::protocol::simulator {

/// What the simulator checks after every step. docs/simulator.md explains each of them.
enum class Invariant {
    commit,    ///< each commit follows from its parent (protocol::check)
    decision,  ///< a decided contribution is one that its member has announced
    identity,  ///< a member enters the table once, and leaves it with nothing undecided
    pending,   ///< a pending contribution can be included, and its delta exists
    weights,   ///< site and trainer agree on the work that is in the weights, each block once
    model,     ///< a committed model contains the blocks that are done, each once
    kept,      ///< the newest models exist
    removal,   ///< a site looks for the next header of a member before it removes the member
    terms,     ///< the terms change by valid amendments only
    leaving,   ///< a site that leaves begins nothing new, no transfer too late, and exits in time
    round,     ///< a member cuts when its round is over
    contract,  ///< a state machine takes each answer to its questions
    exit,      ///< a site exits only for a reason
    included,  ///< the work of a healthy member gets into the model
    account,   ///< a process that exits has said which of its work no commit includes, and no more
    progress   ///< any living site completes the run
};
inline constexpr int invariant_count = static_cast<int>(Invariant::progress) + 1;
/// Returns the name of the invariant, as in docs/simulator.md.
[[nodiscard]] char const* to_text(Invariant invariant);

/// A broken invariant.
struct Violation : std::runtime_error {
    Violation(Invariant which, std::string const& text) : std::runtime_error(text), invariant(which)
    {
    }
    Invariant invariant;
};

/// Throws Violation unless `good`. `text` says what is wrong: a text, or a function that returns
/// it, which is called only if the invariant is broken.
template <class Text>
void require(bool good, Invariant invariant, Text const& text)
{
    if (good) return;
    if constexpr (std::is_invocable_v<Text>) throw Violation(invariant, text());
    else throw Violation(invariant, text);
}

}  // namespace curtail::protocol::simulator
