// SPDX-License-Identifier: Apache-2.0
#include "protocol/rules/skips.hpp"

#include <algorithm>
#include <map>

namespace curtail::protocol {
namespace {

constexpr std::int64_t times_until_aside = 3;

using Key = std::pair<SiteId, std::int64_t>;  // site and times, as Commit::skips is sorted
using Table = std::map<Key, Ranges>;

Table table_of(Commit const& commit)
{
    Table table;
    for (auto const& s : commit.skips) table[{s.site, s.times}] = s.blocks;
    return table;
}

// Keeps the lowest ranges, because grants begin with the lowest blocks.
void bound(Table& table, std::size_t limit)
{
    std::vector<std::int64_t> begins;
    for (auto const& [key, blocks] : table)
        for (auto const& range : blocks.list()) begins.push_back(range.begin);
    if (begins.size() <= limit) return;
    std::nth_element(begins.begin(), begins.begin() + static_cast<std::ptrdiff_t>(limit),
                     begins.end());
    auto const kept = Ranges::between(0, begins[limit]);
    for (auto& [key, blocks] : table) blocks = blocks & kept;
}

void put_table(RunSpec const& run, Table& table, Commit& commit)
{
    bound(table, run.limits.skipped_ranges);
    commit.skips.clear();
    for (auto const& [key, blocks] : table)
        if (!blocks.empty()) commit.skips.push_back({key.first, key.second, blocks});
}

Ranges skipped_by(SiteId const& site, Commit const& commit)
{
    Ranges all;
    for (auto const& s : commit.skips)
        if (s.site == site) all += s.blocks;
    return all;
}

// Those of `blocks` that have been skipped often enough.
Ranges ripe(SiteId const& site, Ranges const& blocks, Table const& table)
{
    Ranges found;
    for (auto const& [key, skipped] : table)
        if (key.first != site || key.second >= times_until_aside) found += skipped & blocks;
    return found;
}

}  // namespace

std::int64_t aside_limit(RunSpec const& run)
{
    if (run.params.max_aside > 0) return run.params.max_aside;
    return std::max<std::int64_t>(1, run.stream_blocks() / 1000);
}

bool is_aside_full(RunSpec const& run, Commit const& commit)
{
    return commit.aside.count() >= aside_limit(run) ||
           commit.aside.list().size() >= run.limits.aside_ranges;
}

void count_skipped(RunSpec const& run, SiteId const& site, Ranges const& blocks, Commit& commit)
{
    if (blocks.empty()) return;
    auto table = table_of(commit);
    auto first_time = blocks;
    for (auto times = times_until_aside; times >= 1; --times) {
        auto const again = table[{site, times}] & blocks;
        table[{site, times}] -= again;
        table[{site, std::min(times + 1, times_until_aside)}] += again;
        first_time -= again;
    }
    table[{site, 1}] += first_time;
    auto const room = aside_limit(run) - commit.aside.count();
    auto const fit = ripe(site, blocks, table).lowest(std::max<std::int64_t>(0, room));
    auto const set_aside = lowest_within(fit, commit.aside, run.limits.aside_ranges);
    commit.aside += set_aside;
    for (auto& [key, skipped] : table) skipped -= set_aside;
    put_table(run, table, commit);
}

void forget_skips(RunSpec const& run, Ranges const& included, Commit& commit)
{
    auto table = table_of(commit);
    for (auto& [key, blocks] : table) blocks -= included;
    put_table(run, table, commit);
}

Ranges better_elsewhere(SiteId const& site, Commit const& commit,
                        std::vector<Member> const& members)
{
    auto const own = skipped_by(site, commit);
    Ranges untried;
    if (own.empty()) return untried;
    for (auto const& m : members)
        if (m.site != site) untried += own - skipped_by(m.site, commit);
    return untried;
}

}  // namespace curtail::protocol
