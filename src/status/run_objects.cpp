// SPDX-License-Identifier: Apache-2.0
#include "status/run_objects.hpp"

#include <limits>
#include <utility>

#include "rounds/names.hpp"

namespace curtail::status {
namespace {

constexpr Bytes record_limit{static_cast<std::int64_t>(rounds::record_bytes_limit)};
constexpr Bytes any_size{std::numeric_limits<std::int64_t>::max()};

/// What a store calls bad data is, in a run, a broken object.
Error judged(Error error)
{
    if (error.code == ExitCode::data) error.code = ExitCode::protocol;
    return error;
}

Result<std::optional<std::string>> read_record(store::ObjectStore& objects, RunId const& run,
                                               std::string const& name)
{
    auto const object = object_of(run, name);
    if (!object) return tl::unexpected(object.error());
    auto const content = objects.get(*object, record_limit);
    if (!content) return tl::unexpected(judged(content.error()));
    if (!*content) return std::optional<std::string>{};
    return std::optional(std::string(store::text_of(**content)));
}

Result<std::optional<rounds::PayloadFacts>> read_facts(store::ObjectStore& objects,
                                                       RunId const& run, std::string const& name)
{
    auto const object = object_of(run, name);
    if (!object) return tl::unexpected(object.error());
    Sha256 hash;
    rounds::PayloadFacts facts;
    auto const there =
        objects.read(*object, any_size, [&](std::span<std::byte const> piece, Bytes) {
            hash.update(piece);
            facts.bytes += static_cast<std::int64_t>(piece.size());
        });
    if (!there) return tl::unexpected(judged(there.error()));
    if (!*there) return std::optional<rounds::PayloadFacts>{};
    facts.sha256 = hash.finish();
    return std::optional(facts);
}

Result<bool> has_commit(store::ObjectStore& objects, RunId const& run, CommitNumber number)
{
    auto const object = object_of(run, rounds::commit_name(number));
    if (!object) return tl::unexpected(object.error());
    auto const there = objects.stat(*object);
    if (!there) return tl::unexpected(judged(there.error()));
    return there->has_value();
}

/// A chain ends where the next number is absent. A commit lost from its middle would make it look
/// shorter, not broken. While sites train, "absent" may be the old answer of a client's cache: it
/// is asked for again once a later one shows, and the look goes on from there.
Result<void> no_gap(store::ObjectStore& objects, RunId const& run)
{
    constexpr std::int64_t look_ahead = 1000;
    constexpr std::int64_t greatest = 99'999'999;
    CommitNumber absent{0};
    for (CommitNumber number{1};
         number.value <= std::min(greatest, absent.value + look_ahead) || absent.value == 0;
         number = number.next()) {
        auto const there = has_commit(objects, run, number);
        if (!there) return tl::unexpected(there.error());
        if (!*there && absent.value == 0) absent = number;
        if (!*there || absent.value == 0) continue;
        auto const now = has_commit(objects, run, absent);
        if (!now) return tl::unexpected(now.error());
        if (!*now)
            return fail(
                ExitCode::protocol,
                "the run in the store is not sound: " + rounds::commit_name(absent),
                "there is no such object, but " + rounds::commit_name(number) + " is there");
        number = std::exchange(absent, {0});
    }
    return {};
}

}  // namespace

Result<store::ObjectName> object_of(RunId const& run, std::string_view relative)
{
    return store::ObjectName::parse("runs/" + run.value + "/" + std::string(relative));
}

rounds::VerifySource source_of(store::ObjectStore& objects, RunId const& run)
{
    return {[&objects, run](std::string const& name) { return read_record(objects, run, name); },
            [&objects, run](std::string const& name) { return read_facts(objects, run, name); }};
}

Result<rounds::ChainSummary> verify_run(store::ObjectStore& objects, RunId const& run)
{
    if (auto gap = no_gap(objects, run); !gap) return tl::unexpected(gap.error());
    return rounds::verify(source_of(objects, run));
}

}  // namespace curtail::status
