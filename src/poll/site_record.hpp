// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>

#include "core/ids.hpp"
#include "plan/state.hpp"
#include "windows/detector.hpp"

namespace curtail::poll {

/// A site's window from poll to poll.
struct WindowRecord {
    windows::WindowState state;
    std::optional<Time> evaluated_until;  ///< on the signals' clock; empty before the first poll
    std::optional<WindowId> open;         ///< set while jobs may run
    friend bool operator==(WindowRecord const&, WindowRecord const&) = default;
};

/// What the poller remembers of one site from poll to poll.
struct SiteRecord {
    WindowRecord window;
    plan::SiteState jobs;
    friend bool operator==(SiteRecord const&, SiteRecord const&) = default;
};

/// `{"window","evaluated_until","open_window","jobs"}`.
[[nodiscard]] json::Object to_json(SiteRecord const& site);
/// Reads the output of to_json. Errors go to `r`; `where` names the file in them.
[[nodiscard]] SiteRecord read_site_record(json::ObjectReader& r, std::string const& where);

}  // namespace curtail::poll
