#include "launch/order.hpp"

#include "core/json.hpp"

namespace curtail::launch {

std::string job_name(JobOrder const& order) { return "curtail-" + order.run.value + "-" + order.site.value; }

std::string comment_text(JobOrder const& order, Comment const& comment)
{
    return json::to_string(json::Object{
        {"run", order.run.value}, {"site", order.site.value}, {"window", comment.window.value}, {"intent", comment.intent.value}});
}

Comment read_comment(JobOrder const& order, std::string const& text)
{
    auto const value = json::parse(text, "job comment", json::Dialect::strict, json::record_limits);
    if (!value || value->as_object() == nullptr) return {};
    json::ObjectReader r(*value, "job comment");
    auto const run = r.text("run");
    auto const site = r.text("site");
    Comment comment{{r.text("window")}, {r.text("intent")}};
    if (r.finish() || run != order.run.value || site != order.site.value) return {};
    return comment;
}

}  // namespace curtail::launch
