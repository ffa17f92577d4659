// SPDX-License-Identifier: Apache-2.0
#include "storage/tensors/tensor_info.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "base/core/text.hpp"

namespace curtail::tensors {
namespace {

struct DtypeTraits {
    char const* name;
    std::size_t bytes;
};

DtypeTraits const& traits_of(Dtype dtype)
{
    static constexpr std::array<DtypeTraits, 6> traits{
        {{"float32", 4}, {"float64", 8}, {"int32", 4}, {"int64", 8}, {"uint16", 2}, {"uint8", 1}}};
    return traits.at(static_cast<std::size_t>(dtype));
}

bool is_printable(std::string_view text)
{
    return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < '\x7f'; });
}

}  // namespace

std::size_t size_of(Dtype dtype) { return traits_of(dtype).bytes; }
char const* name_of(Dtype dtype) { return traits_of(dtype).name; }

std::int64_t TensorInfo::elements() const
{
    std::int64_t product = 1;
    for (auto const dimension : shape) product *= dimension;
    return product;
}

std::int64_t TensorInfo::bytes() const
{
    return elements() * static_cast<std::int64_t>(size_of(dtype));
}

std::string content_line(TensorInfo const& info)
{
    return fmt::format("{} {} [{}]\n", info.name, name_of(info.dtype), fmt::join(info.shape, ","));
}

bool is_tensor_name(std::string_view name)
{
    if (name.size() > 255) return false;
    auto const parts = split(name, '/');
    return std::all_of(parts.begin(), parts.end(), [](std::string_view part) {
        return !part.empty() && part != "." && part != ".." && is_printable(part);
    });
}

bool is_valid_shape(Shape const& shape, Dtype dtype)
{
    if (shape.size() > static_cast<std::size_t>(max_rank)) return false;
    auto bytes = static_cast<std::int64_t>(size_of(dtype));
    for (auto const dimension : shape)
        if (dimension < 0 ||
            __builtin_mul_overflow(bytes, std::max<std::int64_t>(1, dimension), &bytes))
            return false;
    return true;
}

}  // namespace curtail::tensors
