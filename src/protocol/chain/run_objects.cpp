// SPDX-License-Identifier: Apache-2.0
#include "protocol/chain/run_objects.hpp"

#include <limits>

#include "protocol/records/names.hpp"

namespace curtail::chain {
namespace {

constexpr Bytes record_limit{static_cast<std::int64_t>(protocol::record_bytes_limit)};
constexpr Bytes any_size{std::numeric_limits<std::int64_t>::max()};

// What a store calls bad data is a damaged object of a run.
tl::unexpected<Error> as_damage(Error error)
{
    if (error.code == ExitCode::data) error.code = ExitCode::protocol;
    return tl::unexpected(std::move(error));
}

tl::unexpected<store::ReadFailure> bad_name(Error error)
{
    return tl::unexpected(store::ReadFailure{store::ReadFailure::Cause::corrupt, std::move(error)});
}

}  // namespace

Result<store::ObjectName> object_name(RunId const& run, std::string_view relative)
{
    return store::ObjectName::parse("runs/" + run.value + "/" + std::string(relative));
}

Result<bool> RunObjects::exists(std::string const& name) const
{
    auto const object = object_name(run_, name);
    if (!object) return tl::unexpected(object.error());
    auto const info = store_.stat(*object, call_);
    if (!info) return as_damage(info.error());
    return info->has_value();
}

Result<std::optional<std::string>> RunObjects::record(std::string const& name) const
{
    auto const object = object_name(run_, name);
    if (!object) return tl::unexpected(object.error());
    auto const content = store_.get(*object, record_limit, call_);
    if (!content) return as_damage(content.error());
    if (!*content) return std::optional<std::string>{};
    return std::optional(std::string(store::text_of(**content)));
}

Result<std::optional<protocol::RunSpec>> RunObjects::spec() const
{
    auto const bytes = record(protocol::run_name);
    if (!bytes) return tl::unexpected(bytes.error());
    if (!*bytes) return std::optional<protocol::RunSpec>{};
    return protocol::decode_run(**bytes).map([](auto&& run) { return std::optional(run); });
}

Result<std::optional<protocol::Commit>> RunObjects::commit(CommitNumber number) const
{
    auto const name = protocol::commit_name(number);
    auto const bytes = record(name);
    if (!bytes) return tl::unexpected(bytes.error());
    if (!*bytes) return std::optional<protocol::Commit>{};
    return protocol::decode_commit(**bytes, name).map([](auto&& c) { return std::optional(c); });
}

Result<std::optional<PayloadFacts>> RunObjects::payload_facts(std::string const& name) const
{
    auto const object = object_name(run_, name);
    if (!object) return tl::unexpected(object.error());
    Sha256 hash;
    PayloadFacts facts;
    auto const found = store_.read(*object, any_size, [&](std::span<std::byte const> piece, Bytes) {
        hash.update(piece);
        facts.bytes += static_cast<std::int64_t>(piece.size());
    });
    if (!found) return as_damage(found.error());
    if (!*found) return std::optional<PayloadFacts>{};
    facts.sha256 = hash.finish();
    return std::optional(facts);
}

tl::expected<store::Content, store::ReadFailure> RunObjects::payload(protocol::PartRef const& part,
                                                                     CallLimits const& call) const
{
    auto const object = object_name(run_, part.name);
    if (!object) return bad_name(object.error());
    return store::read_verified(store_, *object, Bytes{part.bytes}, part.sha256, Millis{100}, call);
}

tl::expected<void, store::ReadFailure> RunObjects::payload(
    protocol::PartRef const& part, std::function<void()> const& begin,
    std::function<void(std::span<std::byte const> piece)> const& sink, CallLimits const& call) const
{
    auto const object = object_name(run_, part.name);
    if (!object) return bad_name(object.error());
    return store::read_verified(store_, *object, Bytes{part.bytes}, part.sha256, begin, sink,
                                Millis{100}, call);
}

VerifySource RunObjects::source() const
{
    return {[objects = *this](std::string const& name) { return objects.record(name); },
            [objects = *this](std::string const& name) { return objects.payload_facts(name); }};
}

}  // namespace curtail::chain
