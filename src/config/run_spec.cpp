// SPDX-License-Identifier: Apache-2.0
#include "config/run_spec.hpp"

#include <cmath>

namespace curtail::config {
namespace {

json::Object model_of(Model const& m)
{
    return {{"layers", m.layers},     {"width", m.width},       {"heads", m.heads},
            {"kv_heads", m.kv_heads}, {"sequence", m.sequence}, {"vocabulary", m.vocabulary}};
}

json::Object optimizer_of(Run const& run)
{
    auto const& o = run.optimizer;
    double const rule = std::sqrt(ratio(run.training.batch_tokens, Tokens{1 << 19}));
    return {{"batch_tokens", run.training.batch_tokens.value},
            {"schedule_tokens", o.schedule.value},
            {"lr_scale", rounds::exact(o.lr_scale.value_or(rule))},
            {"weight_decay", rounds::exact(o.weight_decay)},
            {"warmdown", rounds::exact(o.warmdown)},
            {"final_lr", rounds::exact(o.final_lr)},
            {"muon_precision", o.muon_bfloat16 ? "bfloat16" : "float32"}};
}

}  // namespace

rounds::RunSpec make_run_spec(Run const& run, Digest const& manifest, std::int64_t blocks_per_epoch,
                              std::vector<std::string> parameters)
{
    rounds::RunSpec spec;
    spec.run = run.run;
    spec.model = model_of(run.model);
    spec.manifest = manifest;
    spec.blocks_per_epoch = blocks_per_epoch;
    spec.epochs = run.data.epochs;
    spec.seed = run.seed;
    spec.optimizer = optimizer_of(run);
    spec.outer = run.outer;
    spec.parts = {{"0", std::move(parameters)}};
    spec.params = run.rounds;
    for (auto const& site : run.sites) spec.sites.push_back(site.site);
    return spec;
}

}  // namespace curtail::config
