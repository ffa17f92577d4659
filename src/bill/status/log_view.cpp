// SPDX-License-Identifier: Apache-2.0
#include "bill/status/log_view.hpp"

namespace curtail::status {

std::vector<account::StepWork> LogView::work() const
{
    std::vector<account::StepWork> work;
    for (auto const& site : sites) {
        if (!site) continue;
        for (auto const& step : site->metrics)
            work.push_back({step.time, step.duration, step.tokens});
    }
    return work;
}

std::vector<std::string> LogView::notes() const
{
    std::vector<std::string> notes;
    for (auto const& site : sites) {
        if (!site) {
            notes.push_back(site.error().message());
            continue;
        }
        for (auto const& problem : account::publication_of(*site).problems)
            notes.push_back("damaged journal: " + problem);
    }
    return notes;
}

LogView read_logs(config::Run const& run, journal::LogReader const& reader)
{
    return {account::read_all_site_logs(run, reader)};
}

}  // namespace curtail::status
