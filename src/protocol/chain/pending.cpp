// SPDX-License-Identifier: Apache-2.0
#include "protocol/chain/pending.hpp"

#include "protocol/records/names.hpp"

namespace curtail::chain {
namespace {

template <class Record>
using Decode = Result<Record> (*)(std::string_view bytes, std::string const& name);

// Calls `take` with the record `name` or, if it is damaged, adds to `unreadable`. False: no such
// record.
template <class Record, class Take>
Result<bool> read(RunObjects const& objects, std::string const& name, Decode<Record> decode,
                  std::vector<std::string>& unreadable, Take take)
{
    auto const bytes = objects.record(name);
    if (bytes && !*bytes) return false;
    auto record = bytes ? decode(**bytes, name) : Result<Record>(tl::unexpect, bytes.error());
    if (record) take(std::move(*record));
    else if (protocol::is_bad_record(record.error().code))
        unreadable.push_back(record.error().message());
    else return tl::unexpected(record.error());
    return true;
}

}  // namespace

Result<PendingHeaders> pending_headers(RunObjects const& objects, protocol::Member const& member)
{
    constexpr std::int64_t most = 16;
    PendingHeaders pending;
    for (Seq seq = member.seq.next(); seq.value <= member.seq.value + most; seq = seq.next()) {
        auto const more = read<protocol::Header>(
            objects, protocol::header_name(member.id, seq),
            [](auto bytes, auto const& name) { return protocol::decode_header(bytes, name); },
            pending.unreadable, [&](protocol::Header&& h) { pending.headers.push_back(h); });
        if (!more) return tl::unexpected(more.error());
        if (!*more) break;
    }
    return pending;
}

Result<Leases> leases(RunObjects const& objects, Round round)
{
    constexpr std::int64_t most = 10'000;
    Leases found;
    for (std::int64_t k = 1; k < most; ++k) {
        auto const more = read(objects, protocol::lease_name(round, k), protocol::decode_lease,
                               found.unreadable, [&](protocol::Lease&& l) { found.newest = l; });
        if (!more) return tl::unexpected(more.error());
        if (!*more) break;
    }
    return found;
}

}  // namespace curtail::chain
