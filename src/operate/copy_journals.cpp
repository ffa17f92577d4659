// SPDX-License-Identifier: Apache-2.0
#include "operate/copy_journals.hpp"

#include <mutex>
#include <optional>

#include "protocol/chain/in_parallel.hpp"
#include "protocol/records/names.hpp"
#include "run/journal/stream_objects.hpp"

namespace curtail::operate {
namespace {

// The store outlives the pointer.
std::shared_ptr<store::ObjectStore> borrowed(store::ObjectStore& store)
{
    return {std::shared_ptr<void>(), &store};
}

// Copies one stream.
class StreamCopier {
  public:
    StreamCopier(chain::RunObjects const& from, store::ObjectStore& to, journal::StreamId const& id)
        : id_(id), from_(borrowed(from.store()), id), to_(borrowed(to), id), store_(to)
    {
    }

    Result<JournalCopy> run()
    {
        for (journal::PieceNumber number{1}; number <= journal::last_piece;
             number = number.next()) {
            auto const bytes = read(number);
            if (!bytes) return tl::unexpected(bytes.error());
            if (!*bytes) break;
            if (auto copied = piece(number, **bytes); !copied)
                return tl::unexpected(copied.error());
            ++copied_.pieces;
            if (!journal::decode(id_, number, **bytes)) ++copied_.damaged;
        }
        return copied_;
    }

  private:
    // Reads a piece that seems damaged again, because a transfer may damage bytes.
    Result<std::optional<std::string>> read(journal::PieceNumber number) const
    {
        constexpr int tries = 3;
        for (int i = 1;; ++i) {
            auto bytes = from_.bytes(number);
            if (i == tries || !bytes || !*bytes || journal::decode(id_, number, **bytes))
                return bytes;
        }
    }

    Result<void> piece(journal::PieceNumber number, std::string const& bytes)
    {
        auto const there = to_.bytes(number);
        if (!there && there.error().code != ExitCode::data) return tl::unexpected(there.error());
        if (there && !*there) return create(number, bytes);
        if (there && **there == bytes) return {};
        if (there && journal::decode(id_, number, **there))
            return fail(ExitCode::protocol, "cannot copy run " + id_.run.value,
                        "the destination has another piece " + std::to_string(number.value) +
                            " of " + id_.text(),
                        "sites have trained with the destination: copy to an empty folder or "
                        "prefix");
        auto const name = journal::piece_name(id_, number);
        if (!name) return tl::unexpected(name.error());
        return store_.put(*name, store::bytes_of(bytes)).map([&] { count(bytes); });
    }

    Result<void> create(journal::PieceNumber number, std::string const& bytes)
    {
        auto const created = to_.create(number, bytes);
        if (!created) return tl::unexpected(created.error());
        if (*created != store::CreateOutcome::created)
            return fail(ExitCode::temporary, "cannot write a piece of " + id_.text(),
                        "the store does not answer, or another program writes it",
                        "repeat the copy to resume it");
        count(bytes);
        return {};
    }

    void count(std::string const& bytes)
    {
        ++copied_.written;
        copied_.bytes += Bytes{std::ssize(bytes)};
    }

    journal::StreamId id_;
    journal::StreamObjects from_;
    journal::StreamObjects to_;
    store::ObjectStore& store_;
    JournalCopy copied_;
};

// Copies the closings of a site's journal, up to the first that names a later commit than `newest`.
Result<void> copy_closings(chain::RunObjects const& from, chain::RunObjects const& to,
                           SiteId const& site, CommitNumber newest)
{
    for (std::int64_t number = 1;; ++number) {
        auto const name = protocol::closing_name(site, number);
        auto const bytes = from.record(name);
        if (!bytes) return tl::unexpected(bytes.error());
        if (!*bytes) return {};
        auto const closing = protocol::decode_closing(**bytes, name);
        if (!closing) return tl::unexpected(closing.error());
        if (closing->commit && closing->commit->number > newest) return {};
        auto const there = to.record(name);
        if (!there) return tl::unexpected(there.error());
        if (*there == *bytes) continue;
        if (*there)
            return fail(ExitCode::protocol, "cannot copy run " + from.run().value,
                        "the destination has another " + name,
                        "sites have trained with the destination: copy to an empty folder or "
                        "prefix");
        auto const created = chain::object_name(from.run(), name).and_then([&](auto const& object) {
            return to.store().create(object, store::bytes_of(**bytes));
        });
        if (!created) return tl::unexpected(created.error());
        if (*created != store::CreateOutcome::created)
            return fail(ExitCode::temporary, "cannot write " + name,
                        "the store does not answer, or another program writes it",
                        "repeat the copy to resume it");
    }
}

}  // namespace

Result<JournalCopy> copy_journals(
    chain::RunObjects const& from, store::ObjectStore& to, std::vector<SiteId> const& sites,
    CommitNumber newest, std::function<void(std::int64_t done, std::int64_t total)> const& progress)
{
    std::vector<journal::StreamId> streams;
    for (auto const& site : sites)
        for (auto const stream : journal::all_streams)
            streams.push_back({from.run(), site, stream});
    chain::RunObjects const destination(to, from.run());
    for (auto const& site : sites)
        if (auto copied = copy_closings(from, destination, site, newest); !copied)
            return tl::unexpected(copied.error());
    std::mutex mutex;
    std::int64_t done = 0;
    JournalCopy sum;
    std::optional<Error> error;
    chain::in_parallel(streams.size(), 1, [&](std::size_t i) {
        auto const copied = StreamCopier(from, to, streams[i]).run();
        std::lock_guard const guard(mutex);
        if (copied) {
            sum.pieces += copied->pieces;
            sum.damaged += copied->damaged;
            sum.written += copied->written;
            sum.bytes += copied->bytes;
        } else if (!error) error = copied.error();
        if (progress) progress(++done, std::ssize(streams));
    });
    if (error) return tl::unexpected(*error);
    return sum;
}

}  // namespace curtail::operate
