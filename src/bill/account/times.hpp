// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>

// Times and durations in an account. Numbers named `..._s` are points in time: seconds after time
// zero, on the signal's clock (see account.hpp).
namespace curtail::account {

/// A point in time or a duration. The field's name or comment tells which, and on which clock.
using MaybeSeconds = std::optional<double>;

/// An interval of time.
struct Span {
    double from_s{};
    double to_s{};
    friend bool operator==(Span const&, Span const&) = default;
};

/// An interval in which a site was in one state. The state is the name of an energy::PowerState, or
/// `provision` while the site waits for devices.
struct StateSpan {
    std::string state;
    Span when;
    friend bool operator==(StateSpan const&, StateSpan const&) = default;
};

/// How long a start or a stop took.
struct Latency {
    double seconds{};  ///< real seconds
    /// Whether another site trained at any time during the start or stop. An exchange counts as
    /// training.
    bool others_trained{};
};

/// Minimum, median and maximum of some durations, in real seconds.
struct Spread {
    std::size_t count{};
    double least{};
    double median{};
    double greatest{};
};

}  // namespace curtail::account
