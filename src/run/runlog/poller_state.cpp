// SPDX-License-Identifier: Apache-2.0
#include "run/runlog/poller_state.hpp"

#include "base/core/json.hpp"
#include "base/core/text.hpp"

namespace curtail::runlog {
namespace {

// The object `value`, or an empty one if it is none.
json::Object object_in(json::Value const* value)
{
    auto const* object = value != nullptr ? value->as_object() : nullptr;
    return object != nullptr ? *object : json::Object{};
}

json::Array list_at(json::Object const& object, char const* key)
{
    auto const* found = object.find(key);
    auto const* list = found != nullptr ? found->as_array() : nullptr;
    return list != nullptr ? *list : json::Array{};
}

PollerSite site_in(json::Object const& stored)
{
    PollerSite site;
    site.site = {printable(stored.text_at("site"))};
    auto const window = object_in(stored.find("window"));
    site.window = printable(window.text_at("phase"));
    site.closing_since = window.time_at("closing_since");
    site.evaluated_until = stored.time_at("evaluated_until");
    site.polled = stored.time_at("polled");
    site.operators = printable(stored.text_at("operators"));
    site.hold = printable(object_in(stored.find("hold")).text_at("why"));
    auto const jobs = object_in(stored.find("jobs"));
    for (auto const& value : list_at(jobs, "jobs")) {
        auto const job = object_in(&value);
        site.jobs.push_back({printable(job.text_at("id")), job.time_at("running_since"),
                             job.time_at("asked_since").has_value()});
    }
    auto const* intent = jobs.find("intent");
    site.submitting = intent != nullptr && intent->as_object() != nullptr;
    site.failures = static_cast<int>(jobs.integer_at("failures").value_or(0));
    site.retry_at = jobs.time_at("retry_at");
    site.failure = printable(jobs.text_at("failure"));
    return site;
}

}  // namespace

Result<std::optional<std::vector<PollerSite>>> read_poller_sites(std::filesystem::path const& path)
{
    auto const state = json::parse_file_if_exists(path);
    if (!state) return tl::unexpected(state.error());
    if (!*state) return std::optional<std::vector<PollerSite>>{};
    std::vector<PollerSite> sites;
    for (auto const& site : list_at(object_in(&**state), "sites"))
        sites.push_back(site_in(object_in(&site)));
    return std::optional(std::move(sites));
}

}  // namespace curtail::runlog
