// SPDX-License-Identifier: Apache-2.0
#include "status/work_view.hpp"

namespace curtail::status {

std::vector<account::StepWork> WorkView::all() const
{
    std::vector<account::StepWork> work;
    for (auto const& steps : sites)
        for (auto const& step : steps) work.push_back({step.time, step.duration, step.tokens});
    return work;
}

WorkView read_work(config::Run const& run)
{
    WorkView view;
    for (auto const& site : run.sites) {
        auto const path = run.site_folder(site.site) / "metrics.jsonl";
        auto file = runlog::read_newest_metrics(path, account::speed_window);
        if (!file) view.notes.push_back(file.error().message());
        view.sites.push_back(file ? std::move(file->steps) : std::vector<runlog::StepMetrics>{});
    }
    return view;
}

}  // namespace curtail::status
