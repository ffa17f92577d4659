// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "bill/report/format.hpp"
#include "bill/report/table.hpp"

// The parts of the page, as HTML that needs no script. A script adds what moves.
namespace curtail::report {

/// The run's title, the main figures and their sources.
[[nodiscard]] Html headline_part(PageData const& data);

// The panels below their titles (page.cpp).
[[nodiscard]] Html timeline_panel(PageData const& data);
[[nodiscard]] Html loss_panel(PageData const& data);
[[nodiscard]] Html time_panel(PageData const& data);
[[nodiscard]] Html energy_panel(PageData const& data);
[[nodiscard]] Html comparison_panel(PageData const& data);
[[nodiscard]] Html audit_panel(PageData const& data);
/// Empty if there is no commit.
[[nodiscard]] Html work_panel(PageData const& data);
[[nodiscard]] Html rounds_panel(PageData const& data);
[[nodiscard]] Html events_panel(PageData const& data);
[[nodiscard]] Html facts_panel(PageData const& data);
/// Empty if there are no notes.
[[nodiscard]] Html notes_panel(PageData const& data);

/// The element that the script fills with a panel's charts and their legends.
[[nodiscard]] inline Html charts_place() { return element("div", {{"class", "charts"}}, ""); }

/// Whose power the bill counts, a line for each group of sites.
[[nodiscard]] Html power_lines(PageData const& data);

}  // namespace curtail::report
