// SPDX-License-Identifier: Apache-2.0
#include "bill/status/chain_view.hpp"

#include <fmt/format.h>

#include "protocol/chain/chain.hpp"
#include "protocol/chain/pending.hpp"
#include "protocol/records/names.hpp"
#include "protocol/records/reading.hpp"
#include "protocol/records/terms.hpp"

namespace curtail::status {
namespace {

Millis elapsed(Time since, Time now) { return std::max(Millis{0}, now - since); }

std::string count_text(std::int64_t n, char const* noun)
{
    return fmt::format("{} {}{}", n, noun, n == 1 ? "" : "s");
}

void add_notes(ChainView& view, std::vector<std::string> const& unreadable)
{
    for (auto const& message : unreadable) view.notes.push_back("unreadable: " + message);
}

// The round begins with the commit that made its model: the newest merge, or the genesis.
Result<void> read_round_start(chain::RunObjects const& objects, ChainView& view)
{
    view.round_began = view.tip.time;
    if (view.tip.recent.empty() || view.tip.recent.back().number == view.tip.number) return {};
    auto const merge = objects.commit(view.tip.recent.back().number);
    if (!merge) return tl::unexpected(merge.error());
    if (*merge) view.round_began = (*merge)->time;
    return {};
}

Result<void> read_pending(chain::RunObjects const& objects, ChainView& view)
{
    for (auto const& row : view.tip.members) {
        auto pending = chain::pending_headers(objects, row);
        if (!pending) return tl::unexpected(pending.error());
        add_notes(view, pending->unreadable);
        view.members.push_back({row, std::move(pending->headers)});
    }
    auto leases = chain::leases(objects, view.tip.round);
    if (!leases) return tl::unexpected(leases.error());
    add_notes(view, leases->unreadable);
    view.lease = std::move(leases->newest);
    return {};
}

// While a newer commit makes another model, the one of `tip` may be deleted.
Result<void> look_for_model(chain::RunObjects const& objects, ChainView& view)
{
    for (auto const& part : view.tip.payloads()) {
        auto const there = objects.exists(part.name);
        if (!there) return tl::unexpected(there.error());
        if (*there) continue;
        auto const newer = objects.exists(protocol::commit_name(view.tip.number.next()));
        if (!newer) return tl::unexpected(newer.error());
        if (!*newer)
            view.notes.push_back(fmt::format(
                "missing: {}, a part of the newest model; a site that has a copy stores it again, "
                "or run `curtail-store repair` there",
                part.name));
    }
    return {};
}

std::string pending_text(std::vector<protocol::Header> const& pending)
{
    std::int64_t blocks = 0;
    for (auto const& header : pending) blocks += header.ranges.count();
    return fmt::format("waits for a merge to include {} ({}){}",
                       count_text(std::ssize(pending), "contribution"), count_text(blocks, "block"),
                       pending.back().leaving ? "; it has left the run" : "");
}

std::string suspect_text(protocol::Member const& row, Time now)
{
    return fmt::format(
        "was last seen {} ago and missed {}; the next commit may remove it and free {}",
        format_duration(elapsed(row.seen, now)), count_text(row.missed, "merge"),
        count_text(row.held.count(), "block"));
}

std::string training_text(ChainView const& view, Time now)
{
    auto const& params = view.run.params;
    bool const lone = view.members.size() == 1;
    auto const interval = lone ? params.checkpoint_interval : params.round_time;
    auto const passed = elapsed(view.round_began, now);
    auto const next = lone ? std::string("checkpoint")
                           : fmt::format("contribution to round {}", view.tip.round.value);
    if (passed < interval)
        return fmt::format("is training; its next {} is due in {}", next,
                           format_duration(interval - passed));
    return fmt::format("is training; its next {} is {} overdue", next,
                       format_duration(passed - interval));
}

std::string member_text(ChainView const& view, MemberView const& member, Time now)
{
    if (!member.pending.empty()) return pending_text(member.pending);
    if (protocol::is_suspect(view.run.params, member.row, now))
        return suspect_text(member.row, now);
    if (member.row.held.empty())
        return "has no blocks left to train; waits until other members finish or are removed";
    return training_text(view, now);
}

Activity merging(protocol::Lease const& lease, Round round, Time now)
{
    auto const left = lease.duration - elapsed(lease.time, now);
    if (left > Millis{0})
        return {lease.member.value, fmt::format("is merging round {}; its lease ends in {}",
                                                round.value, format_duration(left))};
    return {lease.member.value,
            fmt::format("was to merge round {}; its lease ended {} ago, so any member may merge",
                        round.value, format_duration(-left))};
}

}  // namespace

Result<std::optional<ChainView>> read_chain_view(chain::RunObjects const& objects)
{
    auto spec = objects.spec();
    if (!spec) return tl::unexpected(spec.error());
    if (!*spec) return std::optional<ChainView>{};
    auto tip = chain::newest_commit(objects);
    if (!tip) return tl::unexpected(tip.error());
    if (!*tip) return std::optional<ChainView>{};
    ChainView view{.run = protocol::in_force(**spec, **tip), .tip = std::move(**tip)};
    if (auto read = read_round_start(objects, view); !read) return tl::unexpected(read.error());
    if (auto read = read_pending(objects, view); !read) return tl::unexpected(read.error());
    if (auto looked = look_for_model(objects, view); !looked) return tl::unexpected(looked.error());
    return std::optional(std::move(view));
}

std::vector<Activity> activities(ChainView const& view, Time now)
{
    if (view.tip.complete) return {{"run", "is complete: the model includes every block"}};
    if (view.members.empty())
        return {{"run", fmt::format("is paused; the next site to start continues from commit {}",
                                    view.tip.number.value)}};
    std::vector<Activity> all;
    if (view.lease) all.push_back(merging(*view.lease, view.tip.round, now));
    for (auto const& member : view.members)
        all.push_back({member.row.id.value, member_text(view, member, now)});
    return all;
}

}  // namespace curtail::status
