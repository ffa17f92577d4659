// SPDX-License-Identifier: Apache-2.0
#include "protocol/records/record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>

namespace curtail::protocol {
namespace {

template <class Bits>
std::optional<Bits> bits_from(std::string_view text)
{
    bool const lower_hex = text.find_first_not_of("0123456789abcdef") == text.npos;
    if (text.size() != sizeof(Bits) * 2 || !lower_hex) return std::nullopt;
    Bits bits = 0;
    std::from_chars(text.data(), text.data() + text.size(), bits, 16);
    return bits;
}

}  // namespace

Member const* Commit::find(MemberId const& id) const
{
    auto const it = std::ranges::find(members, id, &Member::id);
    return it == members.end() ? nullptr : &*it;
}

std::vector<PartRef> Commit::payloads() const
{
    std::vector<PartRef> parts{model.weights};
    if (outer) parts.push_back(outer->momentum);
    return parts;
}

std::string exact(double value)
{
    return fmt::format("{:016x}", std::bit_cast<std::uint64_t>(value));
}
std::string exact(float value)
{
    return fmt::format("{:08x}", std::bit_cast<std::uint32_t>(value));
}

std::optional<double> double_from_exact(std::string_view text)
{
    auto const bits = bits_from<std::uint64_t>(text);
    return bits ? std::optional(std::bit_cast<double>(*bits)) : std::nullopt;
}

std::optional<float> float_from_exact(std::string_view text)
{
    auto const bits = bits_from<std::uint32_t>(text);
    return bits ? std::optional(std::bit_cast<float>(*bits)) : std::nullopt;
}

char const* to_text(Refusal reason)
{
    static constexpr char const* words[] = {"nan",      "digest",    "norm",      "stale",
                                            "not-held", "wrong-run", "bad-tokens"};
    return words[static_cast<int>(reason)];
}

char const* to_text(Removal reason)
{
    static constexpr char const* words[] = {"left", "silent", "succeeded", "quarantined",
                                            "complete"};
    return words[static_cast<int>(reason)];
}

char const* to_text(Commit::Kind kind)
{
    static constexpr char const* words[] = {"genesis", "roster", "merge"};
    return words[static_cast<int>(kind)];
}

char const* to_text(Outer::Type type)
{
    return type == Outer::Type::average ? "average" : "nesterov";
}

}  // namespace curtail::protocol
