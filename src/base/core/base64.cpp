// SPDX-License-Identifier: Apache-2.0
#include "base/core/base64.hpp"

#include <openssl/evp.h>

#include <algorithm>
#include <limits>
#include <stdexcept>

namespace curtail {
namespace {

constexpr std::string_view alphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

// OpenSSL counts bytes in an int.
int checked_size(std::size_t size)
{
    if (size > std::numeric_limits<int>::max() / 2)
        throw std::length_error("base64 of more than 1 GiB");
    return static_cast<int>(size);
}

}  // namespace

std::string to_base64(std::span<unsigned char const> bytes)
{
    // One more byte: EVP_EncodeBlock ends its output with a NUL.
    std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');
    int const length = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()), bytes.data(),
                                       checked_size(bytes.size()));
    text.resize(static_cast<std::size_t>(length));
    return text;
}

std::string to_base64(std::string_view bytes)
{
    return to_base64(std::span(reinterpret_cast<unsigned char const*>(bytes.data()), bytes.size()));
}

std::optional<std::string> from_base64(std::string_view text)
{
    // EVP_DecodeBlock trims whitespace and does not check where padding stands.
    if (text.size() % 4 != 0) return std::nullopt;
    auto const end = text.find_last_not_of('=') + 1;  // 0 if there is no other character
    auto const padding = text.size() - end;
    if (padding > 2 || text.find_first_not_of(alphabet) < end) return std::nullopt;
    std::string bytes(text.size() / 4 * 3, '\0');
    if (EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()),
                        reinterpret_cast<unsigned char const*>(text.data()),
                        checked_size(text.size())) < 0)
        return std::nullopt;
    bytes.resize(bytes.size() - padding);
    return bytes;
}

}  // namespace curtail
