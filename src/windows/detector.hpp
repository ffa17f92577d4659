#pragma once
#include <optional>

#include "core/time.hpp"
#include "core/units.hpp"

namespace curtail::windows {

/// When a site's window opens and closes. Defaults are the reference experiment's.
struct Thresholds {
    GramsPerKwh open_below{100};
    GramsPerKwh close_above{100};  ///< >= open_below; the difference is the hysteresis
    Millis close_delay{600'000};   ///< stays open this long after the signal turned dirty
    friend bool operator==(Thresholds const&, Thresholds const&) = default;
};

}  // namespace curtail::windows
