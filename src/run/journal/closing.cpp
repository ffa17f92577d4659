// SPDX-License-Identifier: Apache-2.0
#include "run/journal/closing.hpp"

#include "protocol/chain/chain.hpp"
#include "protocol/records/names.hpp"
#include "run/journal/plan.hpp"

namespace curtail::journal {
namespace {

Result<PieceNumber> newest_number(chain::RunObjects const& objects, SiteId const& site)
{
    return find_newest(
        [&](PieceNumber n) { return objects.exists(protocol::closing_name(site, n.value)); });
}

}  // namespace

Result<std::optional<protocol::Closing>> newest_closing(store::ObjectStore& store, RunId const& run,
                                                        SiteId const& site, CallLimits const& call)
{
    chain::RunObjects const objects(store, run, nullptr, call);
    auto const number = find_newest(
        [&](PieceNumber n) { return objects.exists(protocol::closing_name(site, n.value)); });
    if (!number) return tl::unexpected(number.error());
    if (number->value == 0) return std::optional<protocol::Closing>{};
    auto const name = protocol::closing_name(site, number->value);
    auto const bytes = objects.record(name);
    if (!bytes) return tl::unexpected(bytes.error());
    if (!*bytes) return std::optional<protocol::Closing>{};
    auto closing = protocol::decode_closing(**bytes, name);
    if (!closing) return tl::unexpected(closing.error());
    if (closing->run != run || closing->site != site)
        return fail(ExitCode::protocol, "refused record " + name, "it belongs to another run");
    return std::optional(std::move(*closing));
}

bool is_damaged(Error const& error)
{
    return error.code == ExitCode::protocol || error.code == ExitCode::data;
}

bool fits(std::optional<protocol::CommitRef> const& commit, std::vector<Digest> const& commits)
{
    if (!commit) return true;
    auto const number = static_cast<std::size_t>(commit->number.value);
    return number <= commits.size() && commits[number - 1] == commit->sha256;
}

Result<void> close_journal(store::ObjectStore& store, RunId const& run, SiteId const& site,
                           protocol::JournalHeads const& heads, Time now, CallLimits const& call)
{
    chain::RunObjects const objects(store, run, nullptr, call);
    auto const number = newest_number(objects, site);
    if (!number) return tl::unexpected(number.error());
    // A damaged closing is followed by a good one.
    auto const last = newest_closing(store, run, site, call);
    if (!last && !is_damaged(last.error())) return tl::unexpected(last.error());
    if (last && *last && (*last)->heads == heads) return {};
    auto const commit = chain::newest_commit({store, run, nullptr, call});
    if (!commit) return tl::unexpected(commit.error());
    protocol::Closing closing{run, site, number->value + 1, {}, heads, now};
    if (*commit) closing.commit = {(*commit)->number, protocol::encode(**commit).sha256};
    auto const name = chain::object_name(run, protocol::closing_name(site, closing.number));
    if (!name) return tl::unexpected(name.error());
    auto const bytes = protocol::encode(closing).bytes;
    auto const created = store.create(*name, store::bytes_of(bytes), call);
    // If another poller was faster, the next pass compares again.
    return created ? Result<void>{} : tl::unexpected(created.error());
}

}  // namespace curtail::journal
