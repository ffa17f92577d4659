// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <type_traits>
#include <variant>

#include "simulator/saboteur.hpp"

// The saboteurs, by what they change. Each function returns null for a fault of another kind.
namespace curtail::protocol::simulator {

/// Changes the commits that a site creates.
[[nodiscard]] std::unique_ptr<Saboteur> saboteur_of_commits(Fault fault, RunSpec const& run,
                                                            SimStore& store);
/// Changes the other outputs of a site.
[[nodiscard]] std::unique_ptr<Saboteur> saboteur_of_orders(Fault fault, RunSpec const& run,
                                                           SimStore& store);
/// Changes the configuration and the inputs of a site.
[[nodiscard]] std::unique_ptr<Saboteur> saboteur_of_inputs(Fault fault, RunSpec const& run,
                                                           SimStore& store);

/// Calls `act` for each output of the type `Message`.
template <class Message, class Act>
void each(std::vector<Output>& outputs, Act act)
{
    for (auto& output : outputs)
        if (auto* message = std::get_if<Message>(&output)) act(*message);
}

/// Returns the number of the question that a message asks or answers; 0: of none.
template <class Message>
[[nodiscard]] Op op_of(Message const& message)
{
    return std::visit(
        [](auto const& m) -> Op {
            if constexpr (requires { m.op; }) return m.op;
            else return 0;
        },
        message);
}

[[nodiscard]] inline bool is_commit_name(std::string const& name)
{
    return name.starts_with("commits/");
}
[[nodiscard]] inline bool is_header_name(std::string const& name)
{
    return name.starts_with("contrib/");
}

}  // namespace curtail::protocol::simulator
