#include "status/run_objects.hpp"

#include <limits>

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

Result<std::optional<std::string>> read_record(store::ObjectStore& objects, RunId const& run, std::string const& name)
{
    auto const object = object_of(run, name);
    if (!object) return tl::unexpected(object.error());
    auto const content = objects.get(*object, record_limit);
    if (!content) return tl::unexpected(judged(content.error()));
    if (!*content) return std::optional<std::string>{};
    return std::optional(std::string(store::text_of(**content)));
}

Result<std::optional<rounds::PayloadFacts>> read_facts(store::ObjectStore& objects, RunId const& run, std::string const& name)
{
    auto const object = object_of(run, name);
    if (!object) return tl::unexpected(object.error());
    Sha256 hash;
    rounds::PayloadFacts facts;
    auto const there = objects.read(*object, any_size, [&](std::span<std::byte const> piece, Bytes) {
        hash.update(piece);
        facts.bytes += static_cast<std::int64_t>(piece.size());
    });
    if (!there) return tl::unexpected(judged(there.error()));
    if (!*there) return std::optional<rounds::PayloadFacts>{};
    facts.sha256 = hash.finish();
    return std::optional(facts);
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
    auto summary = rounds::verify(source_of(objects, run));
    if (!summary) return summary;
    // A chain ends where the next number is absent. A commit lost from its middle would make it look shorter, not broken.
    constexpr int look_ahead = 1000;
    auto const tip = summary->tip.number;
    auto number = tip.next();
    for (int i = 0; i < look_ahead; ++i) {
        number = number.next();
        if (number.value > 99'999'999) break;
        auto const object = object_of(run, rounds::commit_name(number));
        if (!object) return tl::unexpected(object.error());
        auto const there = objects.stat(*object);
        if (!there) return tl::unexpected(judged(there.error()));
        if (*there)
            return fail(ExitCode::protocol, "the run in the store is not sound: " + rounds::commit_name(tip.next()),
                        "there is no such object, but " + rounds::commit_name(number) + " is there");
    }
    return summary;
}

}  // namespace curtail::status
