// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cmath>
#include <optional>

#include "protocol/records/params.hpp"

// The ranges of the settings that all sites of a run share. A run file and a record have the same
// ranges, so no record states what a run file cannot. No product of two of these numbers overflows.
namespace curtail::protocol {

inline constexpr std::int64_t max_integer = (std::int64_t{1} << 53) - 1;  ///< that a record states
inline constexpr std::int64_t max_batch_tokens = std::int64_t{1} << 40;
inline constexpr std::int64_t max_block_tokens = std::int64_t{1} << 32;
/// The greatest number of passes over the text: with it, a text may have 2^50 tokens.
inline constexpr std::int64_t max_epochs = std::int64_t{1} << 13;
inline constexpr std::int64_t max_count = 1 << 20;
inline constexpr std::int64_t max_permille = 1'000'000;
inline constexpr Millis longest_time{1'000'000'000'000};

/// A real number's range. `least` itself may be excluded, or `most`.
struct Range {
    double least{};
    double most{};
    char const* rule;  ///< for messages
    bool open_below{};
    bool open_above{};
    [[nodiscard]] bool contains(double value) const  ///< false for NaN
    {
        return (open_below ? value > least : value >= least) &&
               (open_above ? value < most : value <= most);
    }
};
inline constexpr Range eta_range{0, 10, "must be more than 0 and at most 10", true, false};
inline constexpr Range mu_range{0, 1, "must be 0 or more and less than 1", false, true};
inline constexpr Range lr_scale_range{0, 2000, "must be more than 0 and at most 2000", true, false};
inline constexpr Range weight_decay_range{0, 10, "must be 0 to 10"};
inline constexpr Range share_range{0, 1, "must be 0 to 1"};  ///< of `warmdown` and `final_lr`

/// The names of a parameter, and its range. Times are in ms.
struct ParamKey {
    char const* record;  ///< its name in records
    char const* file;    ///< its name in run files, where times are in s
    std::int64_t least;
    std::int64_t most;
    /// Whether 0 in a record means that the run file does not state it. A run file has 1 or more.
    bool zero_is_absent{};
    [[nodiscard]] constexpr std::int64_t least_in_file() const
    {
        return zero_is_absent ? 1 : least;
    }
};

/// Calls `visit(key, field)` for each field of Params except block_tokens, in the order of the
/// canonical form of records.
template <class P, class Visit>
void each_param(P& p, Visit const& visit)
{
    auto const time = [&](char const* record, char const* file, auto& field) {
        visit(ParamKey{record, file, 1, longest_time.count()}, field);
    };
    auto const count = [&](char const* name, auto& field, std::int64_t least,
                           std::int64_t most = max_count, char const* file = nullptr) {
        visit(ParamKey{name, file != nullptr ? file : name, least, most}, field);
    };
    time("checkpoint_interval_ms", "checkpoint_interval_s", p.checkpoint_interval);
    time("drop_after_ms", "drop_after_s", p.drop_after);
    time("first_base_wait_ms", "first_base_wait_s", p.first_base_wait);
    time("gather_time_ms", "gather_time_s", p.gather_time);
    count("grant_quantum", p.grant_quantum, 1, max_count, "grant_quantum_blocks");
    count("keep_models", p.keep_models, 1, keep_models_limit);
    time("lease_ms", "lease_s", p.lease);
    count("local_steps", p.local_steps, 0, max_integer);
    visit(ParamKey{"max_aside", "max_aside", 0, max_count, true}, p.max_aside);
    count("max_missed", p.max_missed, 1);
    count("max_staleness", p.max_staleness, 0);
    count("max_undecided", p.max_undecided, 1, max_undecided_limit);
    count("milestone_every", p.milestone_every, 0);
    count("outer_min_permille", p.outer_min_permille, 0, max_permille);
    time("poll_run_lone_ms", "poll_run_lone_s", p.poll_run_lone);
    time("poll_run_ms", "poll_run_s", p.poll_run);
    time("poll_run_starved_ms", "poll_run_starved_s", p.poll_run_starved);
    time("poll_wait_ms", "poll_wait_s", p.poll_wait);
    time("repair_wait_ms", "repair_wait_s", p.repair_wait);
    time("round_time_ms", "round_time_s", p.round_time);
    time("skew_ms", "skew_s", p.skew);
    count("staleness_discount_permille", p.staleness_discount_permille, 0, max_permille);
    time("status_interval_ms", "status_interval_s", p.status_interval);
    time("sweep_after_ms", "sweep_after_s", p.sweep_after);
}

/// Returns Params::drop_after of a run file that does not state it.
[[nodiscard]] constexpr Millis default_drop_after(Params const& p)
{
    return 3 * std::max(p.round_time, p.checkpoint_interval);
}

/// Returns the shortest allowed Params::drop_after. A commit decides work of a healthy member about
/// once per `round_time`, or once per `checkpoint_interval` for a lone one. A member must not
/// become suspect in this time, nor while it stores and gathers: so at least twice as long.
[[nodiscard]] constexpr Millis shortest_drop_after(Params const& p)
{
    return 2 * std::max(p.round_time, p.checkpoint_interval);
}

/// Settings of the inner optimizer that are equal at all sites (run/config/run.hpp).
struct InnerOptimizer {
    Tokens batch_tokens{524'288};
    std::optional<Tokens> schedule;  ///< length of the schedules; empty: it follows the run's end
    double lr_scale{1};
    double weight_decay{0.2};
    double warmdown{0.4};
    double final_lr{0};
    bool muon_bfloat16{false};

    /// Returns the number of steps at the end of a schedule of `length` steps in which the learning
    /// rates fall.
    [[nodiscard]] static double warmdown_steps(double warmdown, double length)
    {
        return std::nearbyint(warmdown * length);
    }
    /// Returns true if the learning rates fall after `tokens` tokens, in a schedule of `length`.
    [[nodiscard]] bool is_warmdown(Tokens tokens, Tokens length) const
    {
        double const steps = ratio(length, batch_tokens);
        double const tail = warmdown_steps(warmdown, steps);
        return tail > 0 && ratio(tokens, batch_tokens) > steps - tail;
    }
    friend bool operator==(InnerOptimizer const&, InnerOptimizer const&) = default;
};

}  // namespace curtail::protocol
