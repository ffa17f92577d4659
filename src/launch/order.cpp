// SPDX-License-Identifier: Apache-2.0
#include "launch/order.hpp"

#include "core/digest.hpp"
#include "core/json.hpp"

namespace curtail::launch {

std::string folder_mark(std::filesystem::path const& run_folder)
{
    std::error_code error;
    auto const path = std::filesystem::weakly_canonical(run_folder, error);
    return sha256((error ? run_folder : path).string()).hex().substr(0, 8);
}

std::string job_name(JobOrder const& order)
{
    return "curtail." + order.run.value + "." + order.site.value + "." + order.mark;
}

std::string comment_text(JobOrder const& order, Comment const& comment)
{
    return json::to_string(json::Object{{"run", order.run.value},
                                        {"site", order.site.value},
                                        {"folder", order.mark},
                                        {"window", comment.window.value},
                                        {"intent", comment.intent.value}});
}

Claim read_comment(JobOrder const& order, std::string const& text)
{
    auto const value = json::parse(text, "job comment", json::Dialect::strict, json::record_limits);
    if (!value || value->as_object() == nullptr) return {};
    json::ObjectReader r(*value, "job comment");
    auto const run = r.text("run");
    auto const site = r.text("site");
    auto const folder = r.text("folder");
    Comment comment{{r.text("window")}, {r.text("intent")}};
    if (r.finish() || comment.intent.value.empty()) return {};
    bool const ours = run == order.run.value && site == order.site.value && folder == order.mark;
    return {ours ? Claim::Owner::us : Claim::Owner::another, std::move(comment)};
}

}  // namespace curtail::launch
