// SPDX-License-Identifier: Apache-2.0
#include "trainer/model/pass_memory.hpp"

#include <algorithm>

#include "trainer/model/head.hpp"

namespace curtail::model {
namespace {

constexpr std::int64_t factor_bytes = 4;  // type_of_sums() of all types but double

}  // namespace

Bytes pass_memory(config::Model const& m, c10::ScalarType type, std::int64_t rows,
                  Activations activations, bool on_gpu)
{
    auto const element = static_cast<std::int64_t>(c10::elementSize(type));
    auto const tokens = rows * m.sequence;
    auto const kept = activations == Activations::keep ? m.layers : 1;
    auto const qkv = m.width + 2 * m.kv_heads * m.head_size();
    auto const factors = 2 + 2 * m.heads + m.kv_heads;
    // LayerActivations without the input.
    auto const layer = element * (7 * m.width + qkv) + factor_bytes * factors;
    // The inputs of the layers, the embedding, the output, and two derivatives of the stream; the
    // scratch of a layer, and what its attention creates in the backward pass.
    auto const streams = m.layers + 5;
    auto const scratch = 12 * m.width;
    auto const per_token = kept * layer + element * (streams * m.width + scratch);
    auto const logits = std::min(tokens, logits_tokens(m.padded_vocabulary(), on_gpu));
    // On a GPU, ATen's operators compute the cross entropy with four temporary tensors, if they
    // replace our kernel. A training must not run out of memory for that.
    auto const per_logit = element + (on_gpu ? 4 * factor_bytes : 0);
    return Bytes{tokens * per_token + logits * m.padded_vocabulary() * per_logit};
}

}  // namespace curtail::model
