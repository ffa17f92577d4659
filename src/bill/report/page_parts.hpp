// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "bill/report/format.hpp"
#include "bill/report/table.hpp"

// The parts of the page, as HTML that needs no script. A script adds what moves.
namespace curtail::report {

/// The run's title, the main figures and their sources.
[[nodiscard]] Html headline_part(PageData const& data);

/// A section of the page.
struct Panel {
    std::string id;
    std::string number;  ///< before the title; may be empty
    std::string title;
    std::string link;  ///< text of the link in the top bar
    std::string question;
    Html body;
};
[[nodiscard]] Panel timeline_panel(PageData const& data);
[[nodiscard]] Panel loss_panel(PageData const& data);
[[nodiscard]] Panel time_panel(PageData const& data);
[[nodiscard]] Panel energy_panel(PageData const& data);
[[nodiscard]] Panel comparison_panel(PageData const& data);
[[nodiscard]] Panel audit_panel(PageData const& data);
[[nodiscard]] Panel rounds_panel(PageData const& data);
[[nodiscard]] Panel events_panel(PageData const& data);
[[nodiscard]] Panel facts_panel(PageData const& data);
/// The panel's body is empty if there are no notes.
[[nodiscard]] Panel notes_panel(PageData const& data);

/// The element that the script fills with a panel's charts and their legends.
[[nodiscard]] inline Html charts_place() { return element("div", {{"class", "charts"}}, ""); }

/// Whose power the bill counts, a line for each group of sites.
[[nodiscard]] Html power_lines(PageData const& data);

}  // namespace curtail::report
