// SPDX-License-Identifier: Apache-2.0
#include "train/payload.hpp"

#include "model/parameters.hpp"
#include "tensors/tensor_file.hpp"

namespace curtail::train {
namespace {

constexpr char const* payload_format = "curtail.payload/1";

Result<void> check_attribute(tensors::TensorReader const& reader, std::string const& key,
                             std::string const& wanted, std::string const& source)
{
    auto const* found = reader.attributes().find(key);
    auto const* text = found == nullptr ? nullptr : found->as_text();
    if (text != nullptr && *text == wanted) return {};
    return fail(ExitCode::protocol, "cannot use payload " + source,
                key + " is " + (text == nullptr ? "missing" : *text) + ", expected " + wanted);
}

}  // namespace

std::size_t PayloadLayout::values() const
{
    return places.empty() ? 0
                          : static_cast<std::size_t>(places.back().offset + places.back().numel());
}

Result<std::string> encode_payload(PayloadLayout const& layout, std::string const& part,
                                   std::span<float const> values)
{
    if (values.size() != layout.values())
        throw std::logic_error("payload of another size than the model");
    tensors::TensorWriter writer;
    writer.attribute("format", payload_format);
    writer.attribute("run", layout.run.value);
    writer.attribute("part", part);
    for (auto const& place : layout.places)
        writer.add(place.name, place.shape,
                   values.subspan(static_cast<std::size_t>(place.offset),
                                  static_cast<std::size_t>(place.numel())));
    return writer.encode();
}

Result<Values> decode_payload(PayloadLayout const& layout, std::string const& part,
                              std::string_view bytes, std::string const& source)
{
    auto const reader = tensors::TensorReader::from_bytes(std::string(bytes), source);
    if (!reader) return tl::unexpected(reader.error());
    for (auto const& [key, wanted] : {std::pair<std::string, std::string>{"format", payload_format},
                                      {"run", layout.run.value},
                                      {"part", part}})
        if (auto good = check_attribute(*reader, key, wanted, source); !good)
            return tl::unexpected(good.error());
    auto values = std::make_shared<std::vector<float>>(layout.values());
    for (auto const& place : layout.places) {
        auto const info = reader->info(place.name);
        if (!info) return tl::unexpected(info.error());
        if (info->shape != place.shape)
            return fail(ExitCode::protocol, "cannot use payload " + source,
                        place.name + " has another shape than the run's model");
        auto const slice = std::span(*values).subspan(static_cast<std::size_t>(place.offset),
                                                      static_cast<std::size_t>(place.numel()));
        if (auto read = reader->read_into(place.name, tensors::Dtype::float32,
                                          std::as_writable_bytes(slice));
            !read)
            return tl::unexpected(read.error());
    }
    return Values(std::move(values));
}

}  // namespace curtail::train
