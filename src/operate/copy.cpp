// SPDX-License-Identifier: Apache-2.0
#include "operate/copy.hpp"

#include <fmt/format.h>

#include <atomic>
#include <mutex>
#include <set>

#include "operate/copy_journals.hpp"
#include "operate/copy_list.hpp"
#include "operate/destination.hpp"
#include "protocol/chain/in_parallel.hpp"
#include "protocol/records/names.hpp"

namespace curtail::operate {
namespace {

using Cause = store::ReadFailure::Cause;

// Writes the objects of a copy, stage by stage.
class Copier {
  public:
    Copier(chain::RunObjects const& from, store::ObjectStore& to, CopyList const& list,
           std::function<void(CopyProgress const&)> const& progress)
        : from_(from), to_(to, from.run()), list_(list), progress_(progress)
    {
    }

    // Fails if the destination has another run of this name, or a later state of this one.
    Result<void> check_destination()
    {
        auto const run = to_.objects().record(protocol::run_name);
        if (!run) return tl::unexpected(run.error());
        if (*run && **run != list_.run) return to_.differs(protocol::run_name);
        auto const newest = chain::search_newest(to_.objects(), {0});
        if (!newest) return tl::unexpected(newest.error());
        if (!*newest) return {};
        there_ = (*newest)->commit.number;
        if (there_.value > std::ssize(list_.chain))
            return fail(ExitCode::protocol, "cannot copy run " + from_.run().value,
                        fmt::format("the destination has commit {}, and the source ends with {}",
                                    there_.value, list_.chain.size()),
                        "copy in the other direction, or to an empty folder or prefix");
        auto const& ours = list_.chain[static_cast<std::size_t>(there_.value) - 1];
        if (sha256((*newest)->bytes) != ours.sha256)
            return to_.differs(protocol::commit_name(there_));
        return {};
    }

    Result<void> payloads()
    {
        std::int64_t total = 0;
        for (auto const& part : list_.payloads) total += part.bytes;
        std::int64_t done = 0;
        for (auto const& part : list_.payloads) {
            report({"payloads", "bytes", done, total});
            if (auto copied = payload(part); !copied) return tl::unexpected(copied.error().error);
            done += part.bytes;
        }
        for (auto const& part : list_.pending) {
            auto const copied = payload(part);
            if (!copied && copied.error().cause == Cause::unavailable)
                return tl::unexpected(copied.error().error);
            if (!copied) ++summary_.left_out;
        }
        return {};
    }

    // Their order does not matter.
    Result<void> headers()
    {
        auto const there = listed_headers();
        return all("headers", list_.headers.size(), [&](std::size_t i) {
            auto const& header = list_.headers[i];
            return this->header(header, there.count(header.name) > 0);
        });
    }

    // Copies the journals of all sites that the run has ever had.
    Result<void> journals()
    {
        std::set<SiteId> sites;
        for (auto const& link : list_.chain)
            sites.insert(link.commit.terms.sites.begin(), link.commit.terms.sites.end());
        auto const copied =
            copy_journals(from_, to_.objects().store(), {sites.begin(), sites.end()},
                          {std::ssize(list_.chain)}, [&](std::int64_t done, std::int64_t total) {
                              report({"journals", "streams", done, total});
                          });
        if (!copied) return tl::unexpected(copied.error());
        journals_ = *copied;
        return {};
    }

    Result<void> commits()
    {
        // What is there may be compared in any order. What is missing is written in order.
        std::vector<char> right(list_.chain.size(), 0);
        auto compared = all("commits", static_cast<std::size_t>(there_.value), [&](std::size_t i) {
            return to_.has(name_of(i), list_.chain[i].sha256).map([&](bool has) {
                right[i] = has ? 1 : 0;
            });
        });
        if (!compared) return compared;
        for (std::size_t i = 0; i < list_.chain.size(); ++i) {
            if (right[i] != 0) continue;
            report({"commits", "objects", static_cast<std::int64_t>(i), std::ssize(list_.chain)});
            auto const encoded = protocol::encode(list_.chain[i].commit);
            // Records are canonical, so this never happens.
            if (encoded.sha256 != list_.chain[i].sha256) throw std::logic_error(name_of(i));
            if (auto copied = to_.record(name_of(i), encoded.bytes); !copied) return copied;
        }
        return {};
    }

    Result<void> run() { return to_.record(protocol::run_name, list_.run); }

    [[nodiscard]] CopySummary summary() const
    {
        auto summary = summary_;
        auto const counts = to_.counts();
        summary.newest = list_.chain.back().commit.number;
        summary.commits = std::ssize(list_.chain);
        summary.headers = std::ssize(list_.headers);
        summary.pieces = journals_.pieces;
        summary.damaged_pieces = journals_.damaged;
        summary.written = counts.written + journals_.written;
        summary.bytes = counts.bytes + journals_.bytes;
        summary.found = counts.found + journals_.pieces - journals_.written;
        return summary;
    }

  private:
    [[nodiscard]] std::string name_of(std::size_t i) const
    {
        return protocol::commit_name(list_.chain[i].commit.number);
    }

    void report(CopyProgress const& progress) const
    {
        if (progress_) progress_(progress);
    }

    // Calls `act` with 0 to `count` - 1, in several threads. Ends with the first error.
    Result<void> all(char const* stage, std::size_t count,
                     std::function<Result<void>(std::size_t i)> const& act) const
    {
        std::mutex mutex;
        std::int64_t done = 0;
        Result<void> result;
        std::atomic<bool> failed{false};
        chain::in_parallel(count, 16, [&](std::size_t i) {
            if (failed) return;
            auto const acted = act(i);
            std::lock_guard const guard(mutex);
            if (result) result = acted;
            failed = !result;
            report({stage, "objects", ++done, static_cast<std::int64_t>(count)});
        });
        return result;
    }

    // `missing` and `corrupt` are faults of the source, `unavailable` is one of either store.
    tl::expected<void, store::ReadFailure> payload(protocol::PartRef const& part)
    {
        auto const there = to_.has(part);
        if (!there) return unavailable(there.error());
        if (!*there) {
            auto const content = from_.payload(part);
            if (!content) return tl::unexpected(content.error());
            if (auto put = to_.put(part, *content); !put) return unavailable(put.error());
        }
        ++summary_.payloads;
        return {};
    }

    static tl::unexpected<store::ReadFailure> unavailable(Error const& error)
    {
        return tl::unexpected(store::ReadFailure{Cause::unavailable, error});
    }

    // Names of headers in the destination; a hint.
    [[nodiscard]] std::set<std::string> listed_headers()
    {
        std::set<std::string> names;
        auto const run = "runs/" + from_.run().value + "/";
        auto const folder = store::ObjectFolder::parse(run + "contrib");
        if (!folder) return names;
        (void)to_.objects().store().list(*folder, "", [&](store::ListedObject const& object) {
            names.insert(object.name.substr(run.size()));
            return true;
        });
        return names;
    }

    Result<void> header(RecordToCopy const& header, bool expected)
    {
        if (expected) {
            auto const there = to_.has(header.name, header.sha256);
            if (!there) return tl::unexpected(there.error());
            if (*there) return {};
        }
        if (!header.bytes.empty()) return to_.record(header.name, header.bytes);
        auto const bytes = from_.record(header.name);
        if (!bytes) return tl::unexpected(bytes.error());
        if (*bytes && sha256(**bytes) == header.sha256) return to_.record(header.name, **bytes);
        return fail(ExitCode::protocol, "cannot copy " + header.name,
                    *bytes ? "its digest differs from the one in the chain" : "it is missing",
                    "verify the source with `curtail-store verify`");
    }

    chain::RunObjects const& from_;
    Destination to_;
    CopyList const& list_;
    std::function<void(CopyProgress const&)> const& progress_;
    CommitNumber there_{0};  // the newest commit in the destination before the copy
    CopySummary summary_;
    JournalCopy journals_;
};

Result<CopySummary> copy_list(chain::RunObjects const& from, store::ObjectStore& to,
                              CopyList const& list,
                              std::function<void(CopyProgress const&)> const& progress)
{
    Copier copier(from, to, list, progress);
    return copier.check_destination()
        .and_then([&] { return copier.payloads(); })
        .and_then([&] { return copier.headers(); })
        .and_then([&] { return copier.journals(); })
        .and_then([&] { return copier.commits(); })
        .and_then([&] { return copier.run(); })
        .map([&] { return copier.summary(); });
}

}  // namespace

Result<CopySummary> copy_run(chain::RunObjects const& from, store::ObjectStore& to,
                             std::function<void(CopyProgress const&)> const& progress)
{
    constexpr int tries = 5;
    for (int attempt = 1;; ++attempt) {
        auto const list = list_copy(from);
        if (!list) return tl::unexpected(list.error());
        auto summary = copy_list(from, to, *list, progress);
        auto const next = chain::read_commit(from, list->chain.back().commit.number.next());
        if (!next) return tl::unexpected(next.error());
        if (summary) {
            summary->source_has_grown = next->has_value();
            return summary;
        }
        // While sites train, they delete payloads that were still kept when the copy began.
        bool const damaged = summary.error().code == ExitCode::data;
        if (!damaged) return summary;
        if (*next && attempt < tries) continue;
        auto error = summary.error();
        error.code = ExitCode::protocol;
        error.remedy = "verify the source with `curtail-store verify`";
        return tl::unexpected(std::move(error));
    }
}

}  // namespace curtail::operate
