// SPDX-License-Identifier: Apache-2.0
#include "run/config/run_spec.hpp"

#include <fmt/format.h>

#include <cmath>

namespace curtail::config {
namespace {

json::Object model_of(Model const& m)
{
    return {{"layers", m.layers},     {"width", m.width},       {"heads", m.heads},
            {"kv_heads", m.kv_heads}, {"sequence", m.sequence}, {"vocabulary", m.vocabulary}};
}

protocol::InnerOptimizer optimizer_of(Run const& run)
{
    auto const& o = run.optimizer;
    double const rule = std::sqrt(ratio(run.training.batch_tokens, Tokens{1 << 19}));
    return {.batch_tokens = run.training.batch_tokens,
            .schedule = o.schedule,
            .lr_scale = o.lr_scale.value_or(rule),
            .weight_decay = o.weight_decay,
            .warmdown = o.warmdown,
            .final_lr = o.final_lr,
            .muon_bfloat16 = o.muon_bfloat16};
}

}  // namespace

protocol::RunSpec make_run_spec(Run const& run, Digest const& manifest,
                                std::int64_t blocks_per_epoch, std::vector<std::string> parameters)
{
    protocol::RunSpec spec;
    spec.run = run.run;
    spec.model = model_of(run.model);
    spec.manifest = manifest;
    spec.blocks_per_epoch = blocks_per_epoch;
    spec.epochs = run.data.epochs;
    spec.budget = run.training.budget;
    spec.seed = run.seed;
    spec.optimizer = optimizer_of(run);
    spec.outer = run.outer;
    spec.tensors = std::move(parameters);
    spec.params = run.rounds;
    for (auto const& site : run.sites) spec.sites.push_back(site.site);
    return spec;
}

std::optional<std::int64_t> parameters_of(protocol::RunSpec const& spec)
{
    auto const at = [&](char const* key) { return spec.model.integer_at(key).value_or(0); };
    Model const model{"",
                      at("layers"),
                      at("width"),
                      at("heads"),
                      at("kv_heads"),
                      at("sequence"),
                      at("vocabulary")};
    if (broken_rule(model) || json::canonical(model_of(model)) != json::canonical(spec.model))
        return std::nullopt;
    return model.parameters();
}

std::optional<Error> check_budget(Run const& run, std::int64_t blocks_per_epoch)
{
    if (!run.training.budget) return std::nullopt;
    auto const budget = *run.training.budget;
    auto const block = run.rounds.block_tokens;
    auto const needed = protocol::blocks_for(budget, block);
    auto const blocks = blocks_per_epoch * run.data.epochs;
    if (needed <= blocks) return std::nullopt;
    auto const epochs = (needed + blocks_per_epoch - 1) / blocks_per_epoch;
    auto const* key = run.training.tokens_per_parameter ? "tokens_per_parameter" : "tokens";
    return Error{
        ExitCode::config, fmt::format("{}: training.{}", run.file.string(), key),
        fmt::format("the budget is {} tokens, but the data have {}: {} epochs of {} blocks of {} "
                    "tokens",
                    budget.value, (blocks * block).value, run.data.epochs, blocks_per_epoch,
                    block.value),
        epochs <= protocol::max_epochs
            ? fmt::format("raise data.epochs to {}, prepare more text, or lower the budget", epochs)
            : "prepare more text, or lower the budget"};
}

}  // namespace curtail::config
