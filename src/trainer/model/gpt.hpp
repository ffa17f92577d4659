// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "trainer/model/head.hpp"
#include "trainer/model/kernels/kernels.hpp"
#include "trainer/model/layer.hpp"
#include "trainer/model/parameters.hpp"

namespace curtail::model {

/// What a backward pass does for a layer's activations (LayerActivations).
enum class Activations {
    keep,      ///< reads those that the forward pass has kept
    recompute  ///< computes them again from the layer's input: less memory, the same gradients
};

/// What a caller does during a forward and backward pass, for example to exchange parameters with
/// other ranks. Both functions get the index of a section of the parameters: 0 for the head, then
/// the layers from the last to the first, then all other parameters. Both may be empty.
struct PassObserver {
    /// Called before the pass reads the weights of a section for the first time.
    std::function<void(std::size_t section)> before_use{};
    /// Called when the pass has added everything to the gradients of a section.
    std::function<void(std::size_t section)> gradients_complete{};
};

/// The implementations with which a model computes.
struct Operators {
    std::unique_ptr<Kernels const> kernels;
    GpuAttention attention{GpuAttention::flash};
};

/// nanochat's GPT (docs/model.md): its weights, gradients in the same layout, and the forward and
/// backward pass. It computes in the type and on the device of the weights: double, float32 or
/// bfloat16, on a CPU or a GPU. The gradients of bfloat16 weights are float32.
///
/// `input` and `target` are contiguous tensors (B, T) of int64 token ids on that device. B, the
/// number of rows, is not limited. T, the number of tokens in a row, is at most the model's
/// sequence length. V below is the size of the vocabulary. Targets of -1 are ignored. The functions
/// throw if an id is out of range (not on a GPU, where checking would wait for the device), or if a
/// tensor has another type or shape. Logits and losses depend only on the weights and the rows, not
/// on earlier calls.
class Gpt {
  public:
    /// Uses kernels_for() the weights' type and device.
    explicit Gpt(Parameters weights, Activations activations = Activations::keep);
    Gpt(Parameters&& weights, Operators operators, Activations activations = Activations::keep);

    [[nodiscard]] config::Model const& shape() const { return weights_.shape(); }
    [[nodiscard]] Parameters& weights() { return weights_; }
    [[nodiscard]] Parameters const& weights() const { return weights_; }
    [[nodiscard]] Parameters& gradients() { return gradients_; }
    [[nodiscard]] Parameters const& gradients() const { return gradients_; }

    /// Returns the logits (B, T, V).
    [[nodiscard]] at::Tensor logits(at::Tensor const& input) const;
    /// Returns the logits (B, V) of the last position of each row.
    [[nodiscard]] at::Tensor last_logits(at::Tensor const& input) const;
    /// Returns the losses (B, T) in nats. The loss of an ignored target is 0.
    [[nodiscard]] at::Tensor token_losses(at::Tensor const& input, at::Tensor const& target) const;
    /// Multiplies the sum of the losses by `scale`, and adds the derivative of the product to the
    /// gradients. Returns the sum of the losses without the factor `scale`, a double scalar on the
    /// device. Let `scale` be 1 / n, where n is the number of targets in the whole step on all
    /// ranks. Then the gradients, summed over micro-batches and ranks, are those of the step's mean
    /// loss. Does not wait for the device; on a CPU, the result is ready on return.
    at::Tensor enqueue_gradients(at::Tensor const& input, at::Tensor const& target, double scale,
                                 PassObserver const& observer = {});
    void zero_gradients();
    /// Frees the memory that training passes keep for the next one. Call it after a pass that an
    /// exception has ended.
    void free_activations() { training_ = empty_training(); }

  private:
    /// What the backward pass reads, and memory for both passes. Kept from batch to batch.
    struct Training {
        NormalizationResult embedding;
        std::vector<at::Tensor> inputs;  ///< of the layers
        /// The values of all layers. With Activations::recompute, only those of the layer computed
        /// last.
        std::vector<LayerActivations> layers;
        NormalizationResult last;
        at::Tensor output;  ///< of the last layer; later scratch of layer_activations()
        LayerScratch scratch;
        HeadScratch head;
        at::Tensor dx, dx0;
    };
    [[nodiscard]] LayerContext context(at::Tensor const& x0, std::int64_t sequence,
                                       LayerScratch& scratch) const;
    /// Returns the normalized output of the last layer: (N, C) for N = B T tokens and the width C.
    [[nodiscard]] at::Tensor forward(at::Tensor const& input) const;
    [[nodiscard]] Training empty_training() const;
    /// Returns the activations of a layer. Their input is that layer's.
    LayerActivations& activations_of(std::int64_t layer);
    void training_forward(at::Tensor const& input, PassObserver const& observer);
    void training_backward(at::Tensor const& input, at::Tensor const& dy,
                           PassObserver const& observer);
    /// Returns the section of a layer, or of `shape().layers` for the head, or -1 for the rest.
    [[nodiscard]] std::size_t section_of(std::int64_t layer) const
    {
        return static_cast<std::size_t>(shape().layers - layer);
    }

    Parameters weights_;
    Parameters gradients_;
    Operators operators_;
    RotaryTables tables_;
    Activations activations_;
    Training training_;
};

}  // namespace curtail::model
