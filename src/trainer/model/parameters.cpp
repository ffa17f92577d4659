// SPDX-License-Identifier: Apache-2.0
#include "trainer/model/parameters.hpp"

#include <ATen/ops/zeros.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "trainer/model/sums.hpp"

namespace curtail::model {
std::int64_t ParameterPlace::numel() const
{
    return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

std::vector<ParameterPlace> parameter_places(config::Model const& m)
{
    std::vector<ParameterPlace> places;
    std::int64_t offset = 0;
    auto const add = [&](std::string name, std::vector<std::int64_t> shape) {
        places.push_back({std::move(name), std::move(shape), offset});
        offset += places.back().numel();
    };
    std::int64_t const kv = m.kv_heads * m.head_size();
    add("transformer.wte.weight", {m.padded_vocabulary(), m.width});
    for (std::int64_t layer = 0; layer < m.layers; ++layer) {
        auto const block = "transformer.h." + std::to_string(layer);
        add(block + ".attn.c_q.weight", {m.width, m.width});
        add(block + ".attn.c_k.weight", {kv, m.width});
        add(block + ".attn.c_v.weight", {kv, m.width});
        add(block + ".attn.c_proj.weight", {m.width, m.width});
        add(block + ".mlp.c_fc.weight", {4 * m.width, m.width});
        add(block + ".mlp.c_proj.weight", {m.width, 4 * m.width});
    }
    add("lm_head.weight", {m.padded_vocabulary(), m.width});
    add("resid_lambdas", {m.layers});
    add("x0_lambdas", {m.layers});
    return places;
}

Parameters::Parameters(config::Model const& shape, at::TensorOptions options)
    : Parameters(shape, at::zeros({shape.parameters()}, options))
{
}

Parameters::Parameters(config::Model const& shape, at::Tensor flat)
    : shape_(shape), flat_(std::move(flat))
{
    auto const places = parameter_places(shape);
    if (places.back().offset + places.back().numel() != flat_.numel())
        throw std::logic_error("parameters do not fill the flat buffer");
    for (auto const& place : places)
        named_.push_back(
            {place.name, flat_.narrow(0, place.offset, place.numel()).view(place.shape)});
    for (std::size_t first = 1; first + 6 < places.size(); first += 6) {
        auto const begin = places[first].offset;  // of q, which k and v follow
        auto const qkv = flat_.narrow(0, begin, places[first + 3].offset - begin);
        auto const* const m = &named_[first];
        blocks_.push_back({qkv.view({-1, shape.width}), m[3].tensor, m[4].tensor, m[5].tensor});
    }
    embedding_ = named_.front().tensor;
    head_ = get("lm_head.weight");
    scalars_ = flat_.narrow(0, flat_.numel() - 2 * shape.layers, 2 * shape.layers)
                   .to(type_of_sums(flat_.scalar_type()))
                   .view({2, shape.layers});
}

Parameters Parameters::clone() const
{
    return Parameters(shape_, flat_.clone()).with_scalars_of(*this);
}

Parameters Parameters::to(c10::Device device, at::ScalarType type) const
{
    return Parameters(shape_, flat_.to(device, type, false, true)).with_scalars_of(*this);
}

Parameters Parameters::with_scalars_of(Parameters const& other) &&
{
    set(numel() - scalars_.numel(), other.scalars_.view({-1}));
    return std::move(*this);
}

at::Tensor Parameters::range(std::int64_t offset, std::int64_t count) const
{
    auto const first = numel() - scalars_.numel();
    return offset < first ? flat_.narrow(0, offset, count)
                          : scalars_.view({-1}).narrow(0, offset - first, count);
}

void Parameters::set(std::int64_t offset, at::Tensor const& values) const
{
    auto const in_buffer = flat_.narrow(0, offset, values.numel());
    in_buffer.copy_(values);
    auto const used = range(offset, values.numel());
    if (!used.is_alias_of(in_buffer)) used.copy_(values);
}

void Parameters::require_floats_on_cpu() const
{
    if (flat_.is_cpu() && flat_.scalar_type() == at::kFloat) return;
    throw std::logic_error(std::string("cannot read the parameters as numbers: they are ") +
                           c10::toString(flat_.scalar_type()) + " on " + flat_.device().str() +
                           "; convert them to float32 on the CPU first");
}

std::span<float> Parameters::values()
{
    require_floats_on_cpu();
    return {flat_.mutable_data_ptr<float>(), static_cast<std::size_t>(flat_.numel())};
}

std::span<float const> Parameters::values() const
{
    require_floats_on_cpu();
    return {flat_.const_data_ptr<float>(), static_cast<std::size_t>(flat_.numel())};
}

at::Tensor const& Parameters::get(std::string_view name) const
{
    auto const it = std::find_if(named_.begin(), named_.end(),
                                 [&](NamedTensor const& n) { return n.name == name; });
    if (it == named_.end()) throw std::out_of_range("no parameter " + std::string(name));
    return it->tensor;
}

}  // namespace curtail::model
