// SPDX-License-Identifier: Apache-2.0
#include "programs/poll/sites.hpp"

#include <strings.h>

#include <algorithm>

#include "base/core/clock.hpp"
#include "base/core/text.hpp"
#include "run/permission/watch.hpp"

namespace curtail::programs {
namespace {

std::vector<std::string> site_names(config::Run const& run)
{
    std::vector<std::string> names;
    for (auto const& site : run.sites) names.push_back(site.site.value);
    return names;
}

config::Site const* find_ignoring_case(config::Run const& run, std::string const& name)
{
    if (auto const* exact = run.find_site({name})) return exact;
    auto const found = std::find_if(run.sites.begin(), run.sites.end(), [&](auto const& site) {
        return strcasecmp(site.site.value.c_str(), name.c_str()) == 0;
    });
    return found == run.sites.end() ? nullptr : &*found;
}

permission::Requirement need_of(JobQuestion const& question)
{
    if (question.without_poller) return permission::Requirement::never;
    return question.intent.empty() ? permission::Requirement::if_served
                                   : permission::Requirement::always;
}

}  // namespace

Result<std::vector<config::Site const*>> choose_sites(config::Run const& run,
                                                      std::vector<std::string> const& names)
{
    auto const known = site_names(run);
    std::vector<config::Site const*> chosen;
    for (auto const& name : names.empty() ? known : names) {
        auto const* site = run.find_site({name});
        if (site == nullptr)
            return fail(ExitCode::usage, "site " + printable(name),
                        "run " + run.run.value + " has no such site", suggest_name(name, known));
        if (std::find(chosen.begin(), chosen.end(), site) == chosen.end()) chosen.push_back(site);
    }
    return chosen;
}

Result<void> print_job_line(config::Run const& run, JobQuestion const& question,
                            Console const& console)
{
    auto const* site = find_ignoring_case(run, question.site);
    if (site == nullptr)
        return fail(ExitCode::usage,
                    "run " + run.run.value + " has no site \"" + printable(question.site) + "\"",
                    "",
                    suggest_name(question.site, site_names(run)) +
                        " (a job script takes the site as its second argument)");
    auto const need = need_of(question);
    auto const reading =
        permission::read_permission(run.site_folder(site->site), run.run, site->site);
    if (auto may = permission::check_start(need, reading, SystemClock{}.now()); !may) return may;
    console.print(site->site.value + " " + std::to_string(site->ranks) + " " +
                  permission::to_text(need) + "\n");
    return {};
}

}  // namespace curtail::programs
