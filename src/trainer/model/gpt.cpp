// SPDX-License-Identifier: Apache-2.0
#include "trainer/model/gpt.hpp"

#include <ATen/ops/empty.h>
#include <c10/core/InferenceMode.h>

#include <stdexcept>
#include <utility>

#include "trainer/model/rotary.hpp"
#include "trainer/model/sums.hpp"

namespace curtail::model {
namespace {

void check(bool good, char const* rule)
{
    if (!good) throw std::invalid_argument(rule);
}

void check_input(config::Model const& shape, at::Tensor const& input)
{
    check(input.dim() == 2 && input.scalar_type() == at::kLong && input.is_contiguous(),
          "input must be a contiguous (B, T) of int64");
    check(input.size(1) <= shape.sequence, "input has more positions than the model");
}

void check_target(at::Tensor const& input, at::Tensor const& target)
{
    check(target.sizes() == input.sizes() && target.scalar_type() == at::kLong &&
              target.is_contiguous(),
          "target must have the shape and type of input");
}

void notify(std::function<void(std::size_t)> const& observer, std::size_t section)
{
    if (observer) observer(section);
}

}  // namespace

Gpt::Gpt(Parameters weights, Activations activations)
    : Gpt(std::move(weights),
          Operators{kernels_for(weights.flat().scalar_type(), weights.flat().device().type())},
          activations)
{
}

// `weights` is a reference, so that the constructor above may still read what it moves.
Gpt::Gpt(Parameters&& weights, Operators operators, Activations activations)
    : weights_(std::move(weights)),
      gradients_(weights_.shape(),
                 weights_.flat().options().dtype(type_of_sums(weights_.flat().scalar_type()))),
      operators_(std::move(operators)),
      tables_(rotary_tables(weights_.shape().sequence, weights_.shape().head_size(),
                            weights_.flat().options())),
      activations_(activations),
      training_(empty_training())
{
}

Gpt::Training Gpt::empty_training() const
{
    auto const layers = static_cast<std::size_t>(shape().layers);
    Training empty;
    empty.inputs.resize(layers);
    empty.layers.resize(activations_ == Activations::keep ? layers : 1);
    return empty;
}

LayerActivations& Gpt::activations_of(std::int64_t layer)
{
    auto const index = static_cast<std::size_t>(layer);
    auto& activations =
        activations_ == Activations::keep ? training_.layers[index] : training_.layers.front();
    activations.input = training_.inputs[index];
    return activations;
}

void Gpt::zero_gradients() { gradients_.flat().zero_(); }

LayerContext Gpt::context(at::Tensor const& x0, std::int64_t sequence, LayerScratch& scratch) const
{
    return {*operators_.kernels,
            operators_.attention,
            tables_,
            {shape().heads, shape().kv_heads, shape().head_size()},
            sequence,
            x0,
            scratch};
}

at::Tensor Gpt::forward(at::Tensor const& input) const
{
    NormalizationResult embedding;
    operators_.kernels->embed(weights_.embedding(), input.view({-1}), embedding);
    LayerScratch scratch;
    LayerActivations shared;
    auto const with = context(embedding.y, input.size(1), scratch);
    at::Tensor output = embedding.y;
    at::Tensor spare;
    for (std::int64_t layer = 0; layer < shape().layers; ++layer) {
        shared.input = std::exchange(output, spare);
        layer_forward(with, layer_parameters(weights_, layer), shared, output);
        if (layer > 0) spare = shared.input;  // the first input is x0, which all layers read
    }
    NormalizationResult last;
    operators_.kernels->normalize(output, last);
    return last.y;
}

void Gpt::training_forward(at::Tensor const& input, PassObserver const& observer)
{
    notify(observer.before_use, section_of(-1));
    auto& kept = training_;
    if (kept.output.defined() && kept.output.size(0) != input.numel()) kept = empty_training();
    operators_.kernels->embed(weights_.embedding(), input.view({-1}), kept.embedding);
    auto const with = context(kept.embedding.y, input.size(1), kept.scratch);
    kept.inputs.front() = kept.embedding.y;
    for (std::int64_t layer = 0; layer < shape().layers; ++layer) {
        auto const next = static_cast<std::size_t>(layer) + 1;
        auto& output = next < kept.inputs.size() ? kept.inputs[next] : kept.output;
        notify(observer.before_use, section_of(layer));
        layer_forward(with, layer_parameters(weights_, layer), activations_of(layer), output);
    }
    operators_.kernels->normalize(kept.output, kept.last);
    notify(observer.before_use, section_of(shape().layers));
}

void Gpt::training_backward(at::Tensor const& input, at::Tensor const& dy,
                            PassObserver const& observer)
{
    notify(observer.gradients_complete, section_of(shape().layers));
    auto& kept = training_;
    if (!kept.dx.defined()) {
        kept.dx = at::empty(dy.sizes(), dy.options());
        kept.dx0 = at::empty(dy.sizes(), dy.options());
    }
    kept.dx.zero_();
    kept.dx0.zero_();
    operators_.kernels->normalize_backward(dy, kept.last, kept.dx);
    auto const with = context(kept.embedding.y, input.size(1), kept.scratch);
    for (auto layer = shape().layers - 1; layer >= 0; --layer) {
        auto const weights = layer_parameters(weights_, layer);
        auto& of_layer = activations_of(layer);
        // Those of the last layer are still there from the forward pass.
        if (activations_ == Activations::recompute && layer + 1 < shape().layers)
            layer_activations(with, weights, of_layer, kept.output);
        layer_backward(with, weights, layer_parameters(gradients_, layer), of_layer,
                       {kept.dx, kept.dx0});
        notify(observer.gradients_complete, section_of(layer));
    }
    kept.dx.add_(kept.dx0);  // the first layer's input is x0
    operators_.kernels->embed_backward(kept.dx, kept.embedding, input.view({-1}),
                                       gradients_.embedding());
    notify(observer.gradients_complete, section_of(-1));
}

at::Tensor Gpt::enqueue_gradients(at::Tensor const& input, at::Tensor const& target, double scale,
                                  PassObserver const& observer)
{
    check_input(shape(), input);
    check_target(input, target);
    c10::InferenceMode const no_autograd;
    training_forward(input, observer);
    auto const ids = target.view({-1});
    auto const loss =
        head_loss(*operators_.kernels, training_.last.y, weights_.head(), {ids, shape().vocabulary},
                  scale, gradients_.head(), training_.head);
    training_backward(input, loss.dx, observer);
    return loss.losses.sum(at::kDouble);
}

at::Tensor Gpt::logits(at::Tensor const& input) const
{
    check_input(shape(), input);
    c10::InferenceMode const no_autograd;
    return softcapped_logits(forward(input), weights_.head(), shape().vocabulary)
        .view({input.size(0), input.size(1), -1});
}

at::Tensor Gpt::last_logits(at::Tensor const& input) const
{
    check_input(shape(), input);
    c10::InferenceMode const no_autograd;
    auto const x =
        forward(input).view({input.size(0), input.size(1), -1}).select(1, -1).contiguous();
    return softcapped_logits(x, weights_.head(), shape().vocabulary);
}

at::Tensor Gpt::token_losses(at::Tensor const& input, at::Tensor const& target) const
{
    check_input(shape(), input);
    check_target(input, target);
    c10::InferenceMode const no_autograd;
    auto const ids = target.view({-1});
    return head_losses(*operators_.kernels, forward(input), weights_.head(),
                       {ids, shape().vocabulary})
        .view(input.sizes());
}

}  // namespace curtail::model
