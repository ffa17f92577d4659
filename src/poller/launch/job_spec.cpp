// SPDX-License-Identifier: Apache-2.0
#include "poller/launch/job_spec.hpp"

#include "base/core/digest.hpp"
#include "base/core/json.hpp"

namespace curtail::launch {

std::string hash_path(std::filesystem::path const& run_folder)
{
    std::error_code error;
    auto const path = std::filesystem::weakly_canonical(run_folder, error);
    return sha256((error ? run_folder : path).string()).hex().substr(0, 8);
}

std::string job_name(JobSpec const& spec)
{
    return "curtail." + spec.run.value + "." + spec.site.value + "." + spec.folder_id;
}

std::string comment_text(JobSpec const& spec, Comment const& comment)
{
    return json::to_string(json::Object{{"run", spec.run.value},
                                        {"site", spec.site.value},
                                        {"folder", spec.folder_id},
                                        {"window", comment.window.value},
                                        {"intent", comment.intent.value}});
}

ParsedComment parse_comment(JobSpec const& spec, std::string const& text)
{
    using Owner = ParsedComment::Owner;
    auto const value = json::parse(text, "job comment", json::Dialect::strict, json::record_limits);
    if (!value || value->as_object() == nullptr) return {};
    json::ObjectReader r(*value, "job comment");
    auto const run = r.text("run");
    auto const site = r.text("site");
    auto const folder = r.text("folder");
    Comment comment{{r.text("window")}, {r.text("intent")}};
    if (r.finish() || comment.intent.value.empty()) return {};
    bool const ours = run == spec.run.value && site == spec.site.value && folder == spec.folder_id;
    return {ours ? Owner::ours : Owner::other, std::move(comment)};
}

}  // namespace curtail::launch
