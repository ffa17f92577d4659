// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>

#include "core/ids.hpp"
#include "plan/state.hpp"
#include "windows/detector.hpp"

namespace curtail::poll {

/// What the poller remembers about one site's window from one poll to the next.
struct WindowRecord {
    windows::WindowState state;
    std::optional<Time> evaluated_until;  ///< end of the last evaluation, on the signal's clock;
                                          ///< empty before the first evaluation
    std::optional<WindowId> open;         ///< the window in which jobs may run; empty
                                          ///< in the phase `closed`
    friend bool operator==(WindowRecord const&, WindowRecord const&) = default;
};

/// What the poller remembers about one site from one poll to the next.
struct SiteRecord {
    WindowRecord window;
    plan::SiteState jobs;
    friend bool operator==(SiteRecord const&, SiteRecord const&) = default;
};

/// Returns a JSON object with the keys `window`, `evaluated_until`, `open_window` and `jobs`.
[[nodiscard]] json::Object to_json(SiteRecord const& site);
/// Reads what to_json() returns. Errors are recorded in `r`. `where` is the name of the file, for
/// error messages.
[[nodiscard]] SiteRecord read_site_record(json::ObjectReader& r, std::string const& where);

}  // namespace curtail::poll
