// SPDX-License-Identifier: Apache-2.0
#include "status/chain_view.hpp"

#include <fmt/format.h>

#include "rounds/names.hpp"
#include "status/run_objects.hpp"

namespace curtail::status {
namespace {

/// Reads records of one run.
class Reader {
  public:
    Reader(store::ObjectStore& objects, RunId const& run) : source_(source_of(objects, run)) {}

    [[nodiscard]] Result<std::optional<std::string>> get(std::string const& name) const
    {
        return source_.record(name);
    }

    [[nodiscard]] Result<std::optional<rounds::Commit>> commit(CommitNumber number) const
    {
        auto const name = rounds::commit_name(number);
        auto const bytes = get(name);
        if (!bytes) return tl::unexpected(bytes.error());
        if (!*bytes) return std::optional<rounds::Commit>{};
        auto commit = rounds::decode_commit(**bytes, name);
        if (!commit) return tl::unexpected(commit.error());
        return std::optional(std::move(*commit));
    }

    /// Doubling, then halving: the chain has no gaps. Nothing: there is not even number 1.
    [[nodiscard]] Result<std::optional<rounds::Commit>> newest() const
    {
        std::optional<rounds::Commit> best;
        std::int64_t there = 0;
        std::int64_t absent = 0;
        while (absent == 0 || absent - there > 1) {
            auto const next =
                absent != 0 ? there + (absent - there) / 2 : std::max<std::int64_t>(1, there * 2);
            auto found = commit({next});
            if (!found) return found;
            if (!*found) {
                absent = next;
                continue;
            }
            there = next;
            best = std::move(*found);
        }
        return best;
    }

    /// A header or lease: nothing is told by a damaged one, so `notes` takes it and the value is
    /// empty. Nothing: it is not there.
    template <class Record>
    [[nodiscard]] Result<std::optional<std::optional<Record>>> side_record(
        std::string const& name, Result<Record> (*decode)(std::string_view, std::string const&),
        std::vector<std::string>& notes) const
    {
        std::optional<std::optional<Record>> found;
        auto const bytes = get(name);
        if (!bytes && bytes.error().code != ExitCode::protocol)
            return tl::unexpected(bytes.error());
        if (bytes && !*bytes) return found;
        auto record = bytes ? decode(**bytes, name) : Result<Record>(tl::unexpect, bytes.error());
        if (record) found.emplace(std::move(*record));
        else found.emplace(std::nullopt);
        if (!record) notes.push_back("unreadable: " + record.error().message());
        return found;
    }

    [[nodiscard]] Result<MemberView> member(rounds::Member const& row,
                                            std::vector<std::string>& notes) const
    {
        constexpr std::int64_t most = 16;
        MemberView view{row, {}};
        for (Seq seq = row.seq.next(); seq.value <= row.seq.value + most; seq = seq.next()) {
            auto const name = rounds::header_name(row.id, seq);
            auto header = side_record(name, rounds::decode_header, notes);
            if (!header) return tl::unexpected(header.error());
            if (!*header) break;
            if (**header) view.pending.push_back(std::move(***header));
        }
        return view;
    }

    [[nodiscard]] Result<std::optional<rounds::Lease>> newest_lease(
        Round round, std::vector<std::string>& notes) const
    {
        constexpr std::int64_t most = 10'000;
        std::optional<rounds::Lease> newest;
        for (std::int64_t k = 1; k < most; ++k) {
            auto const name = rounds::lease_name(round, k);
            auto lease = side_record(name, rounds::decode_lease, notes);
            if (!lease) return tl::unexpected(lease.error());
            if (!*lease) break;
            if (**lease) newest = std::move(**lease);
        }
        return newest;
    }

  private:
    rounds::VerifySource source_;
};

Millis since(Time then, Time now) { return std::max(Millis{0}, now - then); }

std::string blocks_text(std::int64_t n) { return fmt::format("{} block{}", n, n == 1 ? "" : "s"); }

/// Of one member while it has nothing that waits for a decision.
std::string what_it_does(ChainView const& view, rounds::Member const& row, Time now)
{
    auto const& params = view.run.params;
    bool const lone = view.members.size() == 1;
    if (row.held.empty())
        return "has nothing left to train; waits for others to finish or to be removed";
    auto const interval = lone ? params.checkpoint_interval : params.round_time;
    auto const elapsed = since(view.round_began, now);
    auto const next = lone ? std::string("checkpoint")
                           : "contribution to round " + std::to_string(view.tip.round.value);
    if (elapsed < interval)
        return fmt::format("trains; its next {} is due in {}", next,
                           format_duration(interval - elapsed));
    return fmt::format("trains; its next {} is {} overdue", next,
                       format_duration(elapsed - interval));
}

Waiting of_member(ChainView const& view, MemberView const& member, Time now)
{
    auto const& params = view.run.params;
    auto const unseen = since(member.row.seen, now);
    std::string what;
    if (!member.pending.empty()) {
        std::int64_t blocks = 0;
        for (auto const& header : member.pending) blocks += header.ranges.count();
        what = fmt::format("waits for a merge that takes {} contribution{} ({}){}",
                           member.pending.size(), member.pending.size() == 1 ? "" : "s",
                           blocks_text(blocks), member.pending.back().leaving ? "; has left" : "");
    } else if (member.row.missed >= params.max_missed || unseen > params.drop_after + params.skew) {
        what = fmt::format(
            "was last seen {} ago and has missed {} merges; the next writer removes it and frees "
            "{}",
            format_duration(unseen), member.row.missed, blocks_text(member.row.held.count()));
    } else {
        what = what_it_does(view, member.row, now);
    }
    return {member.row.id.value, std::move(what)};
}

}  // namespace

Result<std::optional<ChainView>> read_chain_view(store::ObjectStore& objects, RunId const& run)
{
    Reader const reader(objects, run);
    auto const bytes = reader.get(rounds::run_name);
    if (!bytes) return tl::unexpected(bytes.error());
    if (!*bytes) return std::optional<ChainView>{};
    auto spec = rounds::decode_run(**bytes);
    if (!spec) return tl::unexpected(spec.error());
    auto tip = reader.newest();
    if (!tip) return tl::unexpected(tip.error());
    if (!*tip) return std::optional<ChainView>{};
    ChainView view{std::move(*spec), std::move(**tip), {}, {}, {}, {}};
    view.round_began = view.tip.time;
    if (!view.tip.recent.empty() && view.tip.recent.back().number != view.tip.number) {
        auto const merge = reader.commit(view.tip.recent.back().number);
        if (!merge) return tl::unexpected(merge.error());
        if (*merge) view.round_began = (*merge)->time;
    }
    for (auto const& row : view.tip.members) {
        auto member = reader.member(row, view.notes);
        if (!member) return tl::unexpected(member.error());
        view.members.push_back(std::move(*member));
    }
    auto lease = reader.newest_lease(view.tip.round, view.notes);
    if (!lease) return tl::unexpected(lease.error());
    view.lease = std::move(*lease);
    return std::optional(std::move(view));
}

std::vector<Waiting> who_waits(ChainView const& view, Time now)
{
    if (view.tip.complete)
        return {{"run", "is complete: every block of the stream is in the model"}};
    if (view.members.empty())
        return {{"run", fmt::format("rests; the next site to start goes on from commit {}",
                                    view.tip.number.value)}};
    std::vector<Waiting> all;
    if (view.lease) {
        auto const age = since(view.lease->time, now);
        auto const left = view.lease->lease - age;
        all.push_back(
            {view.lease->member.value,
             left > Millis{0}
                 ? fmt::format("merges round {}; its lease ends in {}", view.tip.round.value,
                               format_duration(left))
                 : fmt::format(
                       "was to merge round {}; its lease ended {} ago, anybody may take over",
                       view.tip.round.value, format_duration(-left))});
    }
    for (auto const& member : view.members) all.push_back(of_member(view, member, now));
    return all;
}

}  // namespace curtail::status
