// SPDX-License-Identifier: Apache-2.0
#include "payload/payload.hpp"

#include <functional>
#include <numeric>
#include <stdexcept>

#include "tensors/reader.hpp"
#include "tensors/writer.hpp"

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

Result<void> read_parameter(tensors::TensorReader const& reader, Parameter const& parameter,
                            std::span<float> out, std::string const& source)
{
    auto const info = reader.info(parameter.name);
    if (!info) return tl::unexpected(info.error());
    if (info->shape != parameter.shape)
        return fail(ExitCode::protocol, "cannot use payload " + source,
                    parameter.name + " has a different shape than in the run's model");
    return reader.read_into(parameter.name, tensors::Dtype::float32, std::as_writable_bytes(out));
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

Result<std::string> encode(Layout const& layout, std::string const& part,
                           std::span<float const> values)
{
    if (values.size() != layout.elements())
        throw std::logic_error("payload and model differ in size");
    tensors::TensorWriter writer;
    writer.attribute("format", format);
    writer.attribute("run", layout.run.value);
    writer.attribute("part", part);
    for (auto const& parameter : layout.parameters) {
        writer.add(parameter.name, parameter.shape, values.first(parameter.elements()));
        values = values.subspan(parameter.elements());
    }
    return writer.encode();
}

Result<Values> decode(Layout const& layout, std::string const& part, std::string_view bytes,
                      std::string const& source)
{
    auto const reader = tensors::TensorReader::from_bytes(std::string(bytes), source);
    if (!reader) return tl::unexpected(reader.error());
    for (auto const& [key, expected] : {std::pair<std::string, std::string>{"format", format},
                                        {"run", layout.run.value},
                                        {"part", part}})
        if (auto good = check_attribute(*reader, key, expected, source); !good)
            return tl::unexpected(good.error());
    auto values = std::make_shared<std::vector<float>>(layout.elements());
    std::span<float> rest(*values);
    for (auto const& parameter : layout.parameters) {
        auto const out = rest.first(parameter.elements());
        if (auto read = read_parameter(*reader, parameter, out, source); !read)
            return tl::unexpected(read.error());
        rest = rest.subspan(parameter.elements());
    }
    return Values(std::move(values));
}

}  // namespace curtail::payload
