// SPDX-License-Identifier: Apache-2.0
#include "storage/payload/payload.hpp"

#include <functional>
#include <numeric>
#include <stdexcept>

#include "base/core/large_memory.hpp"
#include "storage/tensors/head.hpp"
#include "storage/tensors/reader.hpp"

namespace curtail::payload {
namespace {

constexpr char const* format = "curtail.payload/1";

Result<void> check_attribute(tensors::TensorReader const& reader, std::string const& key,
                             std::string const& expected, std::string const& source)
{
    auto const* found = reader.attributes().find(key);
    auto const* text = found == nullptr ? nullptr : found->as_text();
    if (text != nullptr && *text == expected) return {};
    return fail(ExitCode::protocol, "cannot use payload " + source,
                key + " is " + (text == nullptr ? "missing" : *text) + ", expected " + expected);
}

void require_size_of(Layout const& layout, std::span<float const> values)
{
    if (values.size() != layout.elements())
        throw std::logic_error("payload and model differ in size");
}

}  // namespace

std::size_t Parameter::elements() const
{
    return static_cast<std::size_t>(
        std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>()));
}

std::size_t Layout::elements() const
{
    std::size_t sum = 0;
    for (auto const& parameter : parameters) sum += parameter.elements();
    return sum;
}

std::string head_of(Layout const& layout, std::string const& part)
{
    std::vector<tensors::TensorInfo> tensors;
    tensors.reserve(layout.parameters.size());
    for (auto const& parameter : layout.parameters)
        tensors.push_back({parameter.name, tensors::Dtype::float32, parameter.shape});
    return tensors::encode_head(tensors,
                                {{"format", format}, {"run", layout.run.value}, {"part", part}})
        .bytes;
}

Pieces EncodedPayload::pieces() const
{
    Pieces pieces{std::string_view(head)};
    pieces.add(std::as_bytes(values));
    return pieces;
}

EncodedPayload encode(Layout const& layout, std::string const& part, std::span<float const> values)
{
    require_size_of(layout, values);
    return {head_of(layout, part), values};
}

Result<Values> decode(Layout const& layout, std::string const& part, std::string_view bytes,
                      std::string const& source)
{
    auto values = std::make_shared<std::vector<float>>(large_vector<float>(layout.elements()));
    if (auto done = decode_into(*values, layout, part, bytes, source); !done)
        return tl::unexpected(done.error());
    return Values(std::move(values));
}

Result<void> decode_into(std::span<float> place, Layout const& layout, std::string const& part,
                         std::string_view bytes, std::string const& source)
{
    require_size_of(layout, place);
    auto const reader = tensors::TensorReader::from_view(std::as_bytes(std::span(bytes)), source);
    if (!reader) return tl::unexpected(reader.error());
    std::vector<std::pair<std::string, std::string>> attributes{{"format", format}, {"part", part}};
    // A fork takes over the weights and momentum of another run.
    if (part.starts_with('d')) attributes.emplace_back("run", layout.run.value);
    for (auto const& [key, expected] : attributes)
        if (auto good = check_attribute(*reader, key, expected, source); !good)
            return tl::unexpected(good.error());
    for (auto const& parameter : layout.parameters) {
        auto const info = reader->info(parameter.name);
        if (!info) return tl::unexpected(info.error());
        if (info->shape != parameter.shape)
            return fail(ExitCode::protocol, "cannot use payload " + source,
                        parameter.name + " has a different shape than in the run's model");
        auto const out = std::as_writable_bytes(place.first(parameter.elements()));
        auto read = reader->read_into(parameter.name, tensors::Dtype::float32, out);
        if (!read) return read;
        place = place.subspan(parameter.elements());
    }
    return {};
}

}  // namespace curtail::payload
