// SPDX-License-Identifier: Apache-2.0
#include "storage/tensors/writer.hpp"

#include <bit>
#include <stdexcept>

#include "base/core/digest.hpp"
#include "storage/tensors/head.hpp"

namespace curtail::tensors {

static_assert(std::endian::native == std::endian::little, "tensor files copy elements from memory");

void TensorWriter::add(std::string name, Dtype dtype, Shape shape, std::span<std::byte const> bytes)
{
    if (!is_tensor_name(name)) throw std::invalid_argument("bad tensor name \"" + name + "\"");
    if (!is_valid_shape(shape, dtype))
        throw std::invalid_argument("tensor " + name + " has a bad shape");
    TensorInfo info{name, dtype, std::move(shape)};
    if (static_cast<std::int64_t>(bytes.size()) != info.bytes())
        throw std::invalid_argument("tensor " + name + " has " + std::to_string(bytes.size()) +
                                    " bytes, its shape needs " + std::to_string(info.bytes()));
    if (!entries_.emplace(name, Entry{std::move(info), bytes}).second)
        throw std::invalid_argument("tensor " + name + " was already added");
}

void TensorWriter::attribute(std::string name, json::Value value)
{
    if (!is_tensor_name(name) || name == content_attribute)
        throw std::invalid_argument("bad attribute name \"" + name + "\"");
    if (value.as_text() == nullptr && !value.as_number())
        throw std::invalid_argument("attribute " + name + " is a " + value.type_name());
    attributes_.insert_or_assign(std::move(name), std::move(value));
}

std::string TensorWriter::encode() const
{
    // So that vector instructions work on a mapped or copied file.
    constexpr std::int64_t alignment = 64;
    std::vector<TensorInfo> infos;
    Sha256 hash;
    for (auto const& [name, entry] : entries_) {
        infos.push_back(entry.info);
        hash.update(content_line(entry.info));
        hash.update(entry.bytes);
    }
    auto attributes = json::Object::of_distinct({attributes_.begin(), attributes_.end()});
    attributes.set(content_attribute, hash.finish().hex());
    auto head = encode_head(infos, attributes, alignment);
    auto file = std::move(head.bytes);
    file.reserve(static_cast<std::size_t>(head.file_bytes));
    auto offset = head.offsets.begin();
    for (auto const& [name, entry] : entries_) {
        file.resize(static_cast<std::size_t>(*offset++));
        file.append(reinterpret_cast<char const*>(entry.bytes.data()), entry.bytes.size());
    }
    return file;
}

}  // namespace curtail::tensors
