// SPDX-License-Identifier: Apache-2.0
#include "programs/poll/sites.hpp"

#include <strings.h>

#include <algorithm>

#include "base/core/clock.hpp"
#include "base/core/text.hpp"
#include "run/permission/operator_hold.hpp"
#include "run/permission/watch.hpp"

namespace curtail::programs {
namespace {

config::Site const* find_ignoring_case(config::Run const& run, std::string const& name)
{
    if (auto const* exact = run.find_site({name})) return exact;
    auto const found = std::ranges::find_if(run.sites, [&](auto const& site) {
        return strcasecmp(site.site.value.c_str(), name.c_str()) == 0;
    });
    return found == run.sites.end() ? nullptr : &*found;
}

}  // namespace

Result<std::vector<config::Site const*>> choose_sites(config::Run const& run,
                                                      std::vector<std::string> const& names)
{
    auto const known = run.site_names();
    std::vector<config::Site const*> chosen;
    for (auto const& name : names.empty() ? known : names) {
        auto const* site = run.find_site({name});
        if (site == nullptr)
            return fail(ExitCode::usage, "site " + printable(name),
                        "run " + run.run.value + " has no such site", suggest_name(name, known));
        if (std::ranges::find(chosen, site) == chosen.end()) chosen.push_back(site);
    }
    return chosen;
}

Result<config::Site const*> find_site_of_job(config::Run const& run, std::string const& name)
{
    if (auto const* site = find_ignoring_case(run, name)) return site;
    return fail(ExitCode::usage,
                "run " + run.run.value + " has no site \"" + printable(name) + "\"", "",
                suggest_name(name, run.site_names()) +
                    " (a job script takes the site as its second argument)");
}

Result<void> print_job_line(config::Run const& run, JobQuestion const& question,
                            Console const& console)
{
    auto const found = find_site_of_job(run, question.site);
    if (!found) return tl::unexpected(found.error());
    auto const* site = *found;
    auto const subject = permission::subject_of(run.run, site->site);
    if (auto const hold =
            permission::find_operator_hold(run.hold_folders, subject, SystemClock{}.now()))
        return fail(ExitCode::temporary, "this job may not train", permission::to_text(*hold),
                    "ask the operators of this machine");
    auto const requirement = question.without_poller   ? permission::Requirement::never
                             : question.intent.empty() ? permission::Requirement::if_served
                                                       : permission::Requirement::always;
    auto const reading =
        permission::read_permission(run.site_folder(site->site), run.run, site->site);
    if (auto may = permission::check_start(requirement, reading, SystemClock{}.now()); !may)
        return may;
    console.print(site->site.value + " " + std::to_string(site->ranks) + " " +
                  permission::to_text(requirement) + "\n");
    return {};
}

}  // namespace curtail::programs
