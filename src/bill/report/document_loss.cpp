// SPDX-License-Identifier: Apache-2.0
#include "bill/report/document_parts.hpp"

namespace curtail::report {

using json::Array;
using json::Object;

namespace {

Object curve_json(account::Curve const& curve, bool dots)
{
    Object out;
    if (!dots) {
        out.set("id", curve.id);
        out.set("label", curve.label);
    }
    out.set("step", rounded(curve.step, 2));
    out.set("t", rounded(curve.t, 0));
    out.set("loss", rounded(curve.loss, dots ? 3 : 4));
    if (!dots) out.set("ppl", rounded(curve.perplexity, 3));
    return out;
}

Object final_json(account::FinalLoss const& f)
{
    return {{"id", f.id},
            {"label", f.label},
            {"best_ppl", f.best_perplexity},
            {"tail_loss", f.tail_loss},
            {"tail_se", f.tail_error},
            {"wall_s", f.wall_s},
            {"steps", f.steps}};
}

}  // namespace

json::Value loss_json(account::Account const& a)
{
    auto const& loss = *a.loss;
    Object raw;
    for (auto const& curve : loss.raw) raw.set(curve.id, curve_json(curve, true));
    Array curves, finals;
    for (auto const& curve : loss.curves) curves.emplace_back(curve_json(curve, false));
    for (auto const& f : loss.finals) finals.emplace_back(final_json(f));
    Object out{{"tokens_per_step", loss.tokens_per_step.value},
               {"smoothing", loss.smoothing},
               {"tail_steps", loss.tail_steps}};
    out.set("raw", std::move(raw));
    out.set("curves", std::move(curves));
    out.set("final", std::move(finals));
    return out;
}

json::Value held_out_json(account::Account const& a)
{
    Array points;
    for (auto const& [model, at_s] : a.followed) {
        auto const& line = model.line;
        points.emplace_back(
            Object{{"commit", line.commit.value},
                   {"site", model.site.value},
                   {"trained_tokens", line.trained.value},
                   {"t", at_s},
                   {"loss", line.loss},
                   {"se", line.standard_error},
                   {"unigram_entropy", line.unigram_entropy},
                   {"tokens", line.tokens.value},
                   {"bits_per_byte", line.bits_per_byte},
                   {"missing", line.is_evaluated() ? json::Value() : json::Value(line.missing)}});
    }
    return points;
}

}  // namespace curtail::report
