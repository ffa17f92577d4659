// SPDX-License-Identifier: Apache-2.0
#include "protocol/records/ranges.hpp"

#include <algorithm>
#include <optional>

namespace curtail::protocol {
namespace {

constexpr std::int64_t block_limit = std::int64_t{1} << 53;

// The kth border of a list of ranges: even k begins a range, odd k ends one.
std::int64_t border(std::vector<BlockRange> const& list, std::size_t k)
{
    if (k / 2 == list.size()) return INT64_MAX;
    return k % 2 == 0 ? list[k / 2].begin : list[k / 2].end;
}

std::optional<BlockRange> pair_from_json(json::Value const& value)
{
    auto const* pair = value.as_array();
    if (pair == nullptr || pair->size() != 2) return std::nullopt;
    auto const* begin = (*pair)[0].as_integer();
    auto const* end = (*pair)[1].as_integer();
    if (begin == nullptr || end == nullptr) return std::nullopt;
    return BlockRange{*begin, *end};
}

}  // namespace

Ranges::Ranges(std::initializer_list<BlockRange> ranges)
{
    for (auto const& range : ranges) *this += between(range.begin, range.end);
}

Ranges Ranges::between(std::int64_t begin, std::int64_t end)
{
    Ranges r;
    if (begin < end) r.list_.push_back({begin, end});
    return r;
}

std::int64_t Ranges::count() const
{
    std::int64_t n = 0;
    for (auto const& range : list_) n += range.end - range.begin;
    return n;
}

bool Ranges::contains(Ranges const& other) const { return (other - *this).empty(); }

bool Ranges::overlaps(Ranges const& other) const { return !(*this & other).empty(); }

Ranges Ranges::lowest(std::int64_t n) const
{
    Ranges out;
    for (auto const& range : list_) {
        if (n <= 0) break;
        auto const take = std::min(n, range.end - range.begin);
        out.list_.push_back({range.begin, range.begin + take});
        n -= take;
    }
    return out;
}

Ranges lowest_within(Ranges const& added, Ranges const& set, std::size_t limit)
{
    if ((set + added).list_.size() <= limit) return added;
    Ranges part;
    for (auto const& range : added.list_) {
        auto more = part;
        more.list_.push_back(range);
        if ((set + more).list_.size() > limit) break;
        part = std::move(more);
    }
    return part;
}

// Walks the borders of both sets in order.
template <class Keep>
Ranges Ranges::combine(Ranges const& a, Ranges const& b, Keep keep)
{
    Ranges out;
    out.list_.reserve(a.list_.size() + b.list_.size());
    std::size_t i = 0;  // borders passed: an odd number inside a range
    std::size_t j = 0;
    bool inside = false;
    for (;;) {
        auto const at = std::min(border(a.list_, i), border(b.list_, j));
        if (at == INT64_MAX) return out;
        if (border(a.list_, i) == at) ++i;
        if (border(b.list_, j) == at) ++j;
        bool const now = keep(i % 2 == 1, j % 2 == 1);
        if (now && !inside) out.list_.push_back({at, at});
        if (!now && inside) out.list_.back().end = at;
        inside = now;
    }
}

Ranges operator+(Ranges const& a, Ranges const& b)
{
    if (a.empty()) return b;
    if (b.empty()) return a;
    return Ranges::combine(a, b, [](bool x, bool y) { return x || y; });
}

Ranges operator-(Ranges const& a, Ranges const& b)
{
    if (a.empty() || b.empty()) return a;
    return Ranges::combine(a, b, [](bool x, bool y) { return x && !y; });
}

Ranges operator&(Ranges const& a, Ranges const& b)
{
    if (a.empty() || b.empty()) return {};
    return Ranges::combine(a, b, [](bool x, bool y) { return x && y; });
}

json::Value Ranges::to_json() const
{
    return json::array_of(list_, [](BlockRange const& range) {
        return json::Array{range.begin, range.end};
    });
}

std::string Ranges::to_string() const
{
    std::string out;
    for (auto const& range : list_)
        out += (out.empty() ? "[" : "+[") + std::to_string(range.begin) + "," +
               std::to_string(range.end) + ")";
    return out.empty() ? "-" : out;
}

Result<Ranges> ranges_from_json(json::Value const& value, std::string const& where)
{
    auto const bad = [&](std::string why) {
        return fail(ExitCode::protocol, "refused " + where, std::move(why));
    };
    auto const* list = value.as_array();
    if (list == nullptr) return bad("ranges must be a list");
    if (list->size() > ranges_limit)
        return bad("more than " + std::to_string(ranges_limit) + " ranges");
    Ranges out;
    out.list_.reserve(list->size());
    std::int64_t last = -1;
    for (auto const& element : *list) {
        auto const range = pair_from_json(element);
        if (!range) return bad("a range must be two integers");
        if (range->begin < 0 || range->begin >= range->end || range->end > block_limit)
            return bad("a range must satisfy 0 <= begin < end <= 2^53");
        if (range->begin <= last) return bad("ranges must be sorted, disjoint and maximal");
        last = range->end;
        out.list_.push_back(*range);
    }
    return out;
}

}  // namespace curtail::protocol
