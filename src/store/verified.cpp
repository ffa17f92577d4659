// SPDX-License-Identifier: Apache-2.0
#include "store/verified.hpp"

#include <fmt/format.h>

#include <thread>

namespace curtail::store {
namespace {

tl::unexpected<ReadFailure> failure(ReadFailure::Cause cause, ObjectName const& name,
                                    std::string why)
{
    return tl::unexpected(
        ReadFailure{cause, {ExitCode::data, "cannot read " + name.text(), std::move(why), {}}});
}

// How the content differs from the record; empty: not at all.
std::string difference(std::size_t found_size, Digest const& found, Bytes size,
                       Digest const& digest)
{
    if (found_size != static_cast<std::size_t>(size.value))
        return fmt::format("it has {} bytes, the record says {}", found_size, size.value);
    if (found != digest)
        return fmt::format("its sha256 is {}, the record says {}", found.hex(), digest.hex());
    return {};
}

tl::expected<Content, ReadFailure> read_once(ObjectStore& store, ObjectName const& name, Bytes size,
                                             Digest const& digest, Call const& call)
{
    using Cause = ReadFailure::Cause;
    Content content;
    Sha256 hash;
    auto const found = store.read(
        name, size,
        [&](std::span<std::byte const> piece, Bytes whole) {
            content.reserve(static_cast<std::size_t>(whole.value));
            content.insert(content.end(), piece.begin(), piece.end());
            hash.update(piece);
        },
        call);
    if (!found && found.error().code == ExitCode::data)
        return failure(Cause::corrupt, name, found.error().message());
    if (!found) return tl::unexpected(ReadFailure{Cause::unavailable, found.error()});
    if (!*found) return failure(Cause::missing, name, "there is no such object");
    auto why = difference(content.size(), hash.finish(), size, digest);
    if (!why.empty()) return failure(Cause::corrupt, name, std::move(why));
    return content;
}

}  // namespace

tl::expected<Content, ReadFailure> read_verified(ObjectStore& store, ObjectName const& name,
                                                 Bytes size, Digest const& digest, Millis pause,
                                                 Call const& call)
{
    constexpr int tries = 3;
    for (int attempt = 1;; ++attempt) {
        auto content = read_once(store, name, size, digest, call);
        if (content || attempt == tries || call.is_over()) return content;
        std::this_thread::sleep_for(pause);
    }
}

}  // namespace curtail::store
