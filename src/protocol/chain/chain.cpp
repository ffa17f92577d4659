// SPDX-License-Identifier: Apache-2.0
#include "protocol/chain/chain.hpp"

#include <fmt/format.h>

#include <unordered_set>

#include "protocol/chain/commit_reader.hpp"
#include "protocol/chain/read_ahead.hpp"
#include "protocol/chain/recompute.hpp"
#include "protocol/records/names.hpp"
#include "protocol/rules/check.hpp"

namespace curtail::chain {
namespace {

// Where a search for the newest commit begins.
CommitNumber start_of_search(RunObjects const& objects)
{
    return objects.cache() != nullptr ? objects.cache()->greatest_commit() : CommitNumber{0};
}

// The bytes of the newest commit in the cache. An earlier call has read them from this store.
std::optional<std::string> newest_in_cache(RunObjects const& objects, CommitNumber number)
{
    if (number.value == 0) return std::nullopt;
    auto const name = protocol::commit_name(number);
    auto bytes = objects.cache()->newest(name);
    if (!bytes) return std::nullopt;
    auto const commit = protocol::decode_commit(*bytes, name);
    return commit && commit->run == objects.run() ? std::move(bytes) : std::nullopt;
}

// Returns what speaks against this being the chain that this machine has read before. Returns an
// empty text if nothing does.
Result<std::string> compare_with_cache(RunObjects const& objects, CommitNumber newest)
{
    auto const number = start_of_search(objects);
    auto const seen = newest_in_cache(objects, number);
    if (!seen) return std::string();
    if (number > newest)
        return fmt::format(
            "this machine has once read commit {} from this store, and now the newest one is {}: "
            "newer commits were lost or removed",
            number.value, newest.value);
    auto const now = objects.record(protocol::commit_name(number));
    if (!now) return tl::unexpected(now.error());
    if (!*now || **now == *seen) return std::string();  // if it is missing, the chain has a gap
    return fmt::format(
        "this machine has once read another commit {} from this store: the run was started again, "
        "or its commits were replaced",
        number.value);
}

// The names of the headers in the order in which verification needs them.
std::vector<std::string> headers_of(std::vector<LinkedCommit> const& chain)
{
    std::vector<std::string> names;
    for (auto const& link : chain)
        for (auto const& d : link.commit.decided)
            if (!d.inlined) names.push_back(protocol::header_name(d.member, d.seq));
    return names;
}

// The payloads in a listing. Empty: there is no listing.
std::optional<std::unordered_set<std::string>> listed_payloads(RunObjects const& objects)
{
    std::unordered_set<std::string> names;
    auto const run = "runs/" + objects.run().value + "/";
    for (char const* kind : {"models", "deltas"}) {
        auto const folder = store::ObjectFolder::parse(run + kind);
        if (!folder) return std::nullopt;
        auto const listed =
            objects.store().list(*folder, "", [&](store::ListedObject const& object) {
                names.insert(object.name.substr(run.size()));
                return true;
            });
        if (!listed) return std::nullopt;
    }
    return names;
}

// The objects in the store, with fewer requests in a row than RunObjects::source() needs.
VerifySource quick_source(RunObjects const& objects, ReadAhead& headers)
{
    auto source = objects.source();
    source.record = [&](std::string const& name) { return headers.record(name); };
    if (auto listed = listed_payloads(objects))
        source.may_exist = [names = std::move(*listed)](std::string const& name) {
            return names.contains(name);
        };
    return source;
}

}  // namespace

Result<std::optional<protocol::Commit>> newest_commit(RunObjects const& objects)
{
    auto newest = search_newest(objects, start_of_search(objects));
    if (!newest) return tl::unexpected(newest.error());
    if (!*newest) return std::optional<protocol::Commit>{};
    auto& [commit, bytes] = **newest;
    if (objects.cache() != nullptr)
        objects.cache()->add(protocol::commit_name(commit.number), std::move(bytes));
    return std::optional(std::move(commit));
}

Result<std::vector<protocol::Commit>> read_chain(RunObjects const& objects, Check check)
{
    auto newest = search_end(objects, start_of_search(objects));
    if (!newest) return tl::unexpected(newest.error());
    if (!*newest) return std::vector<protocol::Commit>{};
    auto chain = read_commits(objects, std::move(**newest), UseCache::yes);
    if (!chain) return tl::unexpected(chain.error());
    if (check == Check::rules) {
        auto const run = read_run(objects.source());
        if (!run) return tl::unexpected(run.error());
        if (auto good = check_commits(*run, *chain); !good) return tl::unexpected(good.error());
    }
    std::vector<protocol::Commit> commits;
    commits.reserve(chain->size());
    for (auto& link : *chain) commits.push_back(std::move(link.commit));
    return commits;
}

Result<ChainSummary> verify_run(
    RunObjects const& objects, VerifyProgress const& progress,
    std::function<std::optional<std::int64_t>(protocol::RunSpec const&)> const& elements)
{
    auto newest = search_end(objects, {0});
    if (!newest) return tl::unexpected(newest.error());
    auto const run = read_run(objects.source());
    if (!run) return tl::unexpected(run.error());
    if (!*newest) return verify_chain(*run, {}, objects.source());
    auto warning = compare_with_cache(objects, (*newest)->commit.number);
    if (!warning) return tl::unexpected(warning.error());
    if (!warning->empty()) objects.cache()->clear();
    auto const chain = read_commits(objects, std::move(**newest), UseCache::no);
    if (!chain) return tl::unexpected(chain.error());
    ReadAhead headers(objects, headers_of(*chain));
    auto const source = quick_source(objects, headers);
    auto summary = verify_chain(*run, *chain, source, [&](std::int64_t done) {
        if (progress) progress("verifying", "commits", done, std::ssize(*chain));
    });
    if (!summary) return summary;
    summary->warning = std::move(*warning);
    auto const values = elements ? elements(run->run) : std::nullopt;
    if (!values) return summary;
    return recompute_models(objects, {run->run, *chain, *values, source.may_exist},
                            [&](std::int64_t done, std::int64_t total) {
                                if (progress) progress("recomputing", "merges", done, total);
                            })
        .map([&](auto models) {
            summary->models = std::move(models);
            return std::move(*summary);
        });
}

}  // namespace curtail::chain
