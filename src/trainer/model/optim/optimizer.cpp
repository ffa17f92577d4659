// SPDX-License-Identifier: Apache-2.0
#include "trainer/model/optim/optimizer.hpp"

#include <ATen/ops/ones.h>
#include <ATen/ops/rsub.h>
#include <ATen/ops/zeros.h>
#include <c10/core/InferenceMode.h>

#include <map>
#include <stdexcept>

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

}  // namespace

Optimizer::Optimizer(config::Model const& shape, config::OptimizerSettings settings,
                     Tokens batch_tokens, std::vector<ParameterRange> ranges, c10::Device device)
    : shape_(shape),
      settings_(settings),
      batch_tokens_(batch_tokens),
      ranges_(std::move(ranges)),
      steps_(at::zeros({}, at::TensorOptions(at::kFloat).device(device))),
      places_(model::parameter_places(shape))
{
    std::map<std::vector<std::int64_t>, std::vector<std::size_t>> matrices;
    for (std::size_t i = 0; i < ranges_.size(); ++i) {
        auto const& place = places_.at(ranges_[i].parameter);
        if (auto const rate = adamw_rate(place.name))
            adamw_.push_back({i, rate, AdamW(at::zeros({ranges_[i].count}, steps_.options()))});
        else matrices[place.shape].push_back(i);
    }
    auto const products = settings_.muon_bfloat16 ? at::kBFloat16 : at::kFloat;
    for (auto& [sides, members] : matrices) {
        Muon muon(static_cast<std::int64_t>(members.size()), sides[0], sides[1], products, device);
        muon_.push_back({std::move(members), std::move(muon)});
    }
}

at::Tensor Optimizer::step(std::span<at::Tensor const> weights,
                           std::span<at::Tensor const> gradients, BudgetProgress progress,
                           double lr_share, StepMask const& mask)
{
    auto now = rates(progress);
    for (auto* const rate : {&now.muon, &now.head, &now.embedding, &now.resid, &now.x0})
        *rate *= lr_share;
    began_ = began(progress);
    ++begun_steps_;
    return apply(weights, gradients, now, mask);
}

void Optimizer::try_step(std::span<at::Tensor const> weights, std::span<at::Tensor const> gradients)
{
    // With the rates of a real step, because weight decay needs memory too.
    (void)apply(weights, gradients, rates({0, 1}), {at::ones({}, steps_.options())});
}

at::Tensor Optimizer::apply(std::span<at::Tensor const> weights,
                            std::span<at::Tensor const> gradients, Rates const& rates,
                            StepMask const& mask)
{
    if (weights.size() != ranges_.size() || gradients.size() != ranges_.size())
        throw std::invalid_argument("a step needs one tensor for each range");
    c10::InferenceMode const no_autograd;
    if (mask.skip.defined()) steps_.add_(at::rsub(mask.skip, 1));
    else steps_.add_(1);
    auto squares = at::zeros({}, steps_.options().dtype(at::kDouble));
    for (auto& [member, rate, adamw] : adamw_)
        squares.add_(adamw.step(weights[member], gradients[member], rates.*rate, steps_, mask));
    std::vector<at::Tensor> w;
    std::vector<at::Tensor> g;
    for (auto& group : muon_) {
        w.clear();
        g.clear();
        for (auto const member : group.members) {
            auto const& sides = places_[ranges_[member].parameter].shape;
            w.push_back(weights[member].view(sides));
            g.push_back(gradients[member].view(sides));
        }
        squares.add_(group.muon.step(w, g, {rates.muon, rates.momentum, rates.weight_decay}, mask));
    }
    return squares;
}

// A state that was restored began, as far as is known, where its steps alone would have led from.
double Optimizer::began(BudgetProgress progress) const
{
    return began_.value_or(progress.position - static_cast<double>(begun_steps_));
}

Rates Optimizer::rates(BudgetProgress progress) const
{
    auto rates = rates_at(progress, shape_, settings_, batch_tokens_);
    double const factor = warm_up(begun_steps_, began(progress));
    for (auto* const rate :
         {&rates.lr_factor, &rates.muon, &rates.head, &rates.embedding, &rates.resid, &rates.x0})
        *rate *= factor;
    return rates;
}

std::vector<Optimizer::StatePart> Optimizer::parts() const
{
    std::vector<StatePart> parts;
    for (auto const& [member, rate, adamw] : adamw_) {
        auto const& place = places_[ranges_[member].parameter];
        auto const first = ranges_[member].offset - place.offset;
        parts.push_back({place.name + "/exp_avg", place.shape, first, adamw.exp_avg()});
        parts.push_back({place.name + "/exp_avg_sq", place.shape, first, adamw.exp_avg_sq()});
    }
    for (auto const& group : muon_)
        for (std::size_t k = 0; k < group.members.size(); ++k) {
            auto const& name = places_[ranges_[group.members[k]].parameter].name;
            auto const slice = static_cast<std::int64_t>(k);
            auto const add = [&](char const* part, at::Tensor tensor) {
                parts.push_back({name + part, tensor.sizes().vec(), 0, std::move(tensor)});
            };
            add("/momentum_buffer", group.muon.momentum()[slice]);
            add("/second_momentum_buffer", group.muon.second_momentum()[slice]);
        }
    return parts;
}

void Optimizer::reset()
{
    for (auto const& part : parts()) part.tensor.zero_();
    set_steps(0);
}

std::int64_t Optimizer::steps() const { return static_cast<std::int64_t>(steps_.item<float>()); }

void Optimizer::set_steps(std::int64_t steps)
{
    steps_.fill_(steps);
    begun_steps_ = steps;
    began_.reset();
}

}  // namespace curtail::optim
