// SPDX-License-Identifier: Apache-2.0
#include "maintain/copy.hpp"

#include <fmt/format.h>

#include <thread>

#include "maintain/copy_list.hpp"
#include "rounds/names.hpp"

namespace curtail::maintain {
namespace {

using Cause = store::ReadFailure::Cause;

constexpr int tries = 5;
constexpr Millis pause{200};

// Writes the objects of a copy.
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
        auto const run = to_.record(rounds::run_name);
        if (!run) return tl::unexpected(run.error());
        if (*run && **run != list_.run) return differs(rounds::run_name);
        auto const newest = chain::search_newest(to_, {0});
        if (!newest) return tl::unexpected(newest.error());
        if (!*newest) return {};
        there_ = (*newest)->commit.number;
        if (there_.value > std::ssize(list_.chain))
            return fail(ExitCode::protocol, "cannot copy run " + from_.run().value,
                        fmt::format("the destination has commit {}, and the source ends with {}",
                                    there_.value, list_.chain.size()),
                        "copy in the other direction, or to an empty folder or prefix");
        auto const& ours = list_.chain[static_cast<std::size_t>(there_.value) - 1];
        if (sha256((*newest)->bytes) != ours.sha256) return differs(rounds::commit_name(there_));
        return {};
    }

    Result<void> payloads()
    {
        std::int64_t total = 0;
        for (auto const& part : list_.payloads) total += part.bytes;
        std::int64_t done = 0;
        for (auto const& part : list_.payloads) {
            report({"payloads", done, total});
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

    Result<void> headers()
    {
        for (auto const& header : list_.headers) {
            report({"headers", summary_.headers, std::ssize(list_.headers)});
            if (auto copied = this->header(header); !copied) return copied;
            ++summary_.headers;
        }
        return {};
    }

    Result<void> commits()
    {
        for (auto const& [commit, digest] : list_.chain) {
            report({"commits", summary_.commits, std::ssize(list_.chain)});
            auto const bytes = rounds::encode(commit).bytes;
            auto const name = rounds::commit_name(commit.number);
            // Records are canonical, so this never fails.
            if (sha256(bytes) != digest) throw std::logic_error(name + " cannot be encoded");
            if (auto copied = record(name, bytes, commit.number <= there_); !copied) return copied;
            ++summary_.commits;
            summary_.newest = commit.number;
        }
        return {};
    }

    Result<void> run() { return record(rounds::run_name, list_.run, false); }

    [[nodiscard]] CopySummary const& summary() const { return summary_; }

  private:
    void report(CopyProgress const& progress) const
    {
        if (progress_) progress_(progress);
    }

    [[nodiscard]] tl::unexpected<Error> differs(std::string const& name) const
    {
        return fail(ExitCode::protocol, "cannot copy run " + from_.run().value,
                    name + " in the destination differs from that of the source",
                    "the destination has another run of this name, or sites have trained with it: "
                    "copy to an empty folder or prefix");
    }

    void wrote(std::size_t bytes)
    {
        ++summary_.written;
        summary_.bytes += Bytes{static_cast<std::int64_t>(bytes)};
    }

    // `missing` and `corrupt` are faults of the source, `unavailable` is one of either store.
    tl::expected<void, store::ReadFailure> payload(rounds::PartRef const& part)
    {
        auto const there = is_there(part);
        if (!there) return unavailable(there.error());
        if (*there) {
            ++summary_.found;
            ++summary_.payloads;
            return {};
        }
        auto const content = from_.payload(part);
        if (!content) return tl::unexpected(content.error());
        auto const name = chain::object_name(from_.run(), part.name);
        if (!name) return unavailable(name.error());
        if (auto put = to_.store().put(*name, *content); !put) return unavailable(put.error());
        wrote(content->size());
        ++summary_.payloads;
        return {};
    }

    static tl::unexpected<store::ReadFailure> unavailable(Error const& error)
    {
        return tl::unexpected(store::ReadFailure{Cause::unavailable, error});
    }

    Result<bool> is_there(rounds::PartRef const& part)
    {
        auto const name = chain::object_name(from_.run(), part.name);
        if (!name) return tl::unexpected(name.error());
        auto const info = to_.store().stat(*name);
        if (!info) return tl::unexpected(info.error());
        if (!*info || (*info)->size.value != part.bytes) return false;
        auto const facts = to_.payload_facts(part.name);
        if (!facts) return tl::unexpected(facts.error());
        return *facts && (*facts)->sha256 == part.sha256;
    }

    Result<void> header(RecordToCopy const& header)
    {
        auto const there = to_.record(header.name);
        if (!there) return tl::unexpected(there.error());
        if (*there && sha256(**there) == header.sha256) {
            ++summary_.found;
            return {};
        }
        if (*there) return differs(header.name);
        if (!header.bytes.empty()) return record(header.name, header.bytes, false);
        auto const bytes = from_.record(header.name);
        if (!bytes) return tl::unexpected(bytes.error());
        if (!*bytes || sha256(**bytes) != header.sha256)
            return fail(ExitCode::protocol, "cannot copy " + header.name,
                        *bytes ? "its digest differs from the one in the chain" : "it is missing",
                        "verify the source with `curtail-store verify`");
        return record(header.name, **bytes, false);
    }

    // Creates a record, unless the destination has it. `expected`: it probably has.
    Result<void> record(std::string const& name, std::string const& bytes, bool expected)
    {
        for (int attempt = 1; attempt <= tries; ++attempt) {
            if (!expected || attempt > 1) {
                auto const created = create(name, bytes);
                if (!created) return tl::unexpected(created.error());
                if (*created) return {};
            }
            auto const there = has(name, bytes);
            if (!there) return tl::unexpected(there.error());
            if (*there) return {};
            if (attempt > 1) std::this_thread::sleep_for(pause);
        }
        return fail(ExitCode::temporary, "cannot write " + name, "the store does not answer",
                    "repeat the copy to resume it");
    }

    // False: the record existed, or there was no answer.
    Result<bool> create(std::string const& name, std::string const& bytes)
    {
        auto const object = chain::object_name(from_.run(), name);
        if (!object) return tl::unexpected(object.error());
        auto const outcome = to_.store().create(*object, store::bytes_of(bytes));
        if (!outcome) return tl::unexpected(outcome.error());
        bool const created = *outcome == store::CreateOutcome::created;
        if (created) wrote(bytes.size());
        return created;
    }

    // Whether the destination has the record. Fails if it has other bytes.
    Result<bool> has(std::string const& name, std::string const& bytes)
    {
        auto const there = to_.record(name);
        if (!there) return tl::unexpected(there.error());
        if (!*there) return false;
        if (**there != bytes) return differs(name);
        ++summary_.found;
        return true;
    }

    chain::RunObjects const& from_;
    chain::RunObjects to_;
    CopyList const& list_;
    std::function<void(CopyProgress const&)> const& progress_;
    CommitNumber there_{0};  // the newest commit in the destination before the copy
    CopySummary summary_;
};

Result<CopySummary> copy_list(chain::RunObjects const& from, store::ObjectStore& to,
                              CopyList const& list,
                              std::function<void(CopyProgress const&)> const& progress)
{
    Copier copier(from, to, list, progress);
    return copier.check_destination()
        .and_then([&] { return copier.payloads(); })
        .and_then([&] { return copier.headers(); })
        .and_then([&] { return copier.commits(); })
        .and_then([&] { return copier.run(); })
        .map([&] { return copier.summary(); });
}

}  // namespace

Result<CopySummary> copy_run(chain::RunObjects const& from, store::ObjectStore& to,
                             std::function<void(CopyProgress const&)> const& progress)
{
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

}  // namespace curtail::maintain
