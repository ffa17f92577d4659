// SPDX-License-Identifier: Apache-2.0
#include "bill/report/document_parts.hpp"

namespace curtail::report {

using json::Array;
using json::Object;

namespace {

Object curve_json(account::Curve const& curve, bool dots)
{
    using account::CurvePoint;
    auto const column = [&](double CurvePoint::*value, int digits) {
        return json::array_of(curve.points,
                              [&](CurvePoint const& p) { return rounded(p.*value, digits); });
    };
    Object out;
    if (!dots) out = {{"id", curve.id}, {"label", curve.label}};
    out.set("step", column(&CurvePoint::step, 2));
    out.set("t", column(&CurvePoint::t, 0));
    out.set("loss", column(&CurvePoint::loss, dots ? 3 : 4));
    if (!dots) out.set("ppl", column(&CurvePoint::perplexity, 3));
    return out;
}

}  // namespace

json::Value loss_json(account::Account const& a)
{
    auto const& loss = *a.loss;
    Object raw;
    for (auto const& curve : loss.raw) raw.set(curve.id, curve_json(curve, true));
    auto const final_json = [](account::FinalLoss const& f) {
        return Object{{"id", f.id},
                      {"label", f.label},
                      {"best_ppl", f.best_perplexity},
                      {"tail_loss", f.tail_loss},
                      {"tail_se", f.tail_error},
                      {"wall_s", f.wall_s},
                      {"steps", f.steps}};
    };
    return Object{
        {"tokens_per_step", loss.tokens_per_step.value},
        {"smoothing", loss.smoothing},
        {"tail_steps", loss.tail_steps},
        {"raw", std::move(raw)},
        {"curves", json::array_of(loss.curves, [](auto const& c) { return curve_json(c, false); })},
        {"final", json::array_of(loss.finals, final_json)}};
}

json::Value newest_held_out_json(account::HeldOut const& held_out)
{
    return Object{{"commit", held_out.commit},       {"newer_commit", held_out.newer},
                  {"followed", held_out.followed},   {"trained_tokens", held_out.trained.value},
                  {"loss", held_out.loss},           {"unigram_entropy", held_out.unigram_entropy},
                  {"tokens", held_out.tokens.value}, {"bits_per_byte", held_out.bits_per_byte}};
}

json::Value held_out_json(account::Account const& a)
{
    return json::array_of(a.followed, [](account::FollowedLoss const& followed) {
        auto const& line = followed.model.line;
        return Object{{"commit", line.commit.value},
                      {"site", followed.model.site.value},
                      {"trained_tokens", line.trained.value},
                      {"t", followed.at_s},
                      {"loss", line.loss},
                      {"se", line.standard_error},
                      {"unigram_entropy", line.unigram_entropy},
                      {"tokens", line.tokens.value},
                      {"bits_per_byte", line.bits_per_byte},
                      {"missing", line.is_evaluated() ? json::Value() : json::Value(line.missing)}};
    });
}

}  // namespace curtail::report
