// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/core/result.hpp"
#include "base/core/units.hpp"

// Whether a store is fit for a run (docs/store.md). Pure: operate/doctor.hpp measures.
namespace curtail::upkeep {

/// How creates of the same names by several writers at a time ended.
struct CreateRace {
    int names{};
    int writers{};
    int won_twice{};  ///< names that more than one writer created
    int altered{};    ///< names whose content is not that of the writer that created it
};

/// A transfer of a large object.
struct LargeTransfer {
    Bytes size;
    FractionalSeconds up{};
    FractionalSeconds down{};
    bool intact{};  ///< the bytes that were read are those that were written
};

/// Writes that have not ended.
struct OpenWrites {
    std::int64_t count{};
    Millis oldest{};  ///< age of the oldest one
};

/// The store's clock.
struct ClockDifference {
    Millis ahead{};      ///< of this machine's clock
    Millis precision{};  ///< by how much `ahead` may be wrong
};

/// What an examination of a store has found. An Error says that the check failed, an empty optional
/// that it was not made.
struct Measurements {
    template <class T>
    using Measured = std::optional<Result<T>>;

    Measured<bool> second_create_refused;  ///< and the content is that of the first one
    Measured<CreateRace> race;
    Measured<bool> keeps_versions;
    Measured<bool> missing_is_missing;  ///< an object that does not exist is reported as missing
    Measured<bool> listed;              ///< a new object appears in a listing
    Measured<ClockDifference> clock;
    Measured<LargeTransfer> transfer;
    Measured<bool> removed;  ///< a removed object is missing
    Measured<OpenWrites> open_writes;
};

/// The result of one check.
struct Finding {
    enum class Level { good, warning, fault };
    std::string check;  ///< a word for scripts, such as `create`
    Level level{Level::good};
    std::string text;             ///< a sentence for people
    std::string remedy;           ///< what to do; empty if it is good
    ExitCode code{ExitCode::ok};  ///< the exit code of a fault
    friend bool operator==(Finding const&, Finding const&) = default;
};
[[nodiscard]] char const* to_text(Finding::Level level);

/// Judges each check that was made, in the order of the fields.
[[nodiscard]] std::vector<Finding> findings_of(Measurements const& measured);

/// Returns the first fault, or null.
[[nodiscard]] Finding const* first_fault(std::vector<Finding> const& findings);

/// Transfers of payloads end with an error if they are slower than this (docs/adr/0013).
inline constexpr Bytes slowest_per_second{std::int64_t{2} << 20};

}  // namespace curtail::upkeep
