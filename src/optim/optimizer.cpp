// SPDX-License-Identifier: Apache-2.0
#include "optim/optimizer.hpp"

#include <ATen/ops/zeros.h>

#include <map>

namespace curtail::optim {

namespace {

// The AdamW rate of a parameter; null for those that Muon trains.
double Rates::*adamw_rate(std::string const& name)
{
    static std::map<std::string, double Rates::*> const rates{
        {"transformer.wte.weight", &Rates::embedding},
        {"lm_head.weight", &Rates::head},
        {"resid_lambdas", &Rates::resid},
        {"x0_lambdas", &Rates::x0}};
    auto const it = rates.find(name);
    return it == rates.end() ? nullptr : it->second;
}

using TensorsByName = std::map<std::string, at::Tensor const*>;

// Why `given` does not fit an optimizer with the tensors `own`; empty if it fits.
std::string mismatch(TensorsByName const& given, std::vector<model::NamedTensor> const& own)
{
    if (given.size() != own.size())
        return "it holds " + std::to_string(given.size()) + " tensors, this model's has " +
               std::to_string(own.size());
    for (auto const& [name, tensor] : own) {
        auto const it = given.find(name);
        if (it == given.end()) return "it has no " + name;
        if (it->second->sizes() != tensor.sizes()) return name + " has a different shape";
    }
    return {};
}

}  // namespace

Optimizer::Optimizer(config::Model const& shape, config::Optimizer settings, Tokens batch_tokens)
    : shape_(shape),
      settings_(settings),
      batch_tokens_(batch_tokens),
      places_(model::parameter_places(shape))
{
    std::map<std::vector<std::int64_t>, std::vector<std::size_t>> matrices;
    for (std::size_t i = 0; i < places_.size(); ++i) {
        auto const& [name, sides, offset] = places_[i];
        if (auto const rate = adamw_rate(name))
            adamw_.push_back({i, rate, AdamW(at::zeros(sides, at::TensorOptions(at::kFloat)))});
        else matrices[sides].push_back(i);
    }
    auto const products = settings_.muon_bfloat16 ? at::kBFloat16 : at::kFloat;
    for (auto& [sides, members] : matrices) {
        Muon muon(static_cast<std::int64_t>(members.size()), sides[0], sides[1], products);
        muon_.push_back({std::move(members), std::move(muon)});
    }
}

void Optimizer::step(model::Parameters& weights, model::Parameters const& gradients, Progress at)
{
    auto const now = rates(at);
    ++steps_;
    for (auto& [member, rate, adamw] : adamw_)
        adamw.step(weights.named()[member].tensor, gradients.named()[member].tensor, now.*rate,
                   steps_);
    std::vector<at::Tensor> w;
    std::vector<at::Tensor> g;
    for (auto& group : muon_) {
        w.clear();
        g.clear();
        for (auto i : group.members) {
            w.push_back(weights.named()[i].tensor);
            g.push_back(gradients.named()[i].tensor);
        }
        group.muon.step(w, g, {now.muon, now.momentum, now.weight_decay});
    }
}

OptimizerState Optimizer::state() const
{
    OptimizerState state{steps_, {}};
    for (auto const& [member, rate, adamw] : adamw_) {
        state.tensors.push_back({places_[member].name + "/exp_avg", adamw.exp_avg()});
        state.tensors.push_back({places_[member].name + "/exp_avg_sq", adamw.exp_avg_sq()});
    }
    for (auto const& group : muon_)
        for (std::size_t k = 0; k < group.members.size(); ++k) {
            auto const& name = places_[group.members[k]].name;
            auto const slice = static_cast<std::int64_t>(k);
            state.tensors.push_back({name + "/momentum_buffer", group.muon.momentum()[slice]});
            state.tensors.push_back(
                {name + "/second_momentum_buffer", group.muon.second_momentum()[slice]});
        }
    return state;
}

Result<void> Optimizer::restore(OptimizerState const& from)
{
    TensorsByName given;
    for (auto const& [name, tensor] : from.tensors) given[name] = &tensor;
    auto const own = state().tensors;
    auto const why = from.steps < 0 ? "its step number is negative" : mismatch(given, own);
    if (!why.empty())
        return fail(ExitCode::data, "cannot restore the optimizer", why,
                    "use a state of the same model, or start without one");
    for (auto const& [name, tensor] : own) tensor.copy_(*given.at(name));
    steps_ = from.steps;
    return {};
}

void Optimizer::reset()
{
    for (auto const& [name, tensor] : state().tensors) tensor.zero_();
    steps_ = 0;
}

}  // namespace curtail::optim
