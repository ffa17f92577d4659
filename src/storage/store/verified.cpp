// SPDX-License-Identifier: Apache-2.0
#include "storage/store/verified.hpp"

#include <fmt/format.h>

#include <thread>

#include "base/core/parallel_sha256.hpp"

namespace curtail::store {
namespace {

tl::unexpected<ReadFailure> failure(ReadFailure::Cause cause, ObjectName const& name,
                                    std::string why)
{
    return tl::unexpected(
        ReadFailure{cause, {ExitCode::data, "cannot read " + name.text(), std::move(why), {}}});
}

tl::expected<void, ReadFailure> read_once(
    ObjectStore& store, ObjectName const& name, Bytes size, Digest const& digest,
    std::function<void(std::span<std::byte const> piece)> const& sink, CallLimits const& call)
{
    using Cause = ReadFailure::Cause;
    std::size_t bytes = 0;
    ParallelSha256 hash;
    auto const take = [&](std::span<std::byte const> piece, Bytes) {
        bytes += piece.size();
        hash.begin(piece);
        sink(piece);
        hash.wait();
    };
    auto const found = store.read(name, size, take, call);
    if (!found && found.error().code == ExitCode::data)
        return failure(Cause::corrupt, name, found.error().message());
    if (!found) return tl::unexpected(ReadFailure{Cause::unavailable, found.error()});
    if (!*found) return failure(Cause::missing, name, "there is no such object");
    if (bytes != static_cast<std::size_t>(size.value))
        return failure(Cause::corrupt, name,
                       fmt::format("it has {} bytes, the record says {}", bytes, size.value));
    if (auto const hashed = hash.finish(); hashed != digest)
        return failure(
            Cause::corrupt, name,
            fmt::format("its sha256 is {}, the record says {}", hashed.hex(), digest.hex()));
    return {};
}

}  // namespace

tl::expected<void, ReadFailure> read_verified(
    ObjectStore& store, ObjectName const& name, Bytes size, Digest const& digest,
    std::function<void()> const& begin,
    std::function<void(std::span<std::byte const> piece)> const& sink, Millis pause,
    CallLimits const& call)
{
    constexpr int tries = 3;
    for (int attempt = 1;; ++attempt) {
        begin();
        auto read = read_once(store, name, size, digest, sink, call);
        if (read || attempt == tries || call.is_over()) return read;
        std::this_thread::sleep_for(pause);
    }
}

tl::expected<Content, ReadFailure> read_verified(ObjectStore& store, ObjectName const& name,
                                                 Bytes size, Digest const& digest, Millis pause,
                                                 CallLimits const& call)
{
    Content content;
    auto const begin = [&] {
        content.clear();
        content.reserve(static_cast<std::size_t>(size.value));
    };
    auto const sink = [&](std::span<std::byte const> piece) {
        content.insert(content.end(), piece.begin(), piece.end());
    };
    auto const read = read_verified(store, name, size, digest, begin, sink, pause, call);
    if (!read) return tl::unexpected(read.error());
    return content;
}

}  // namespace curtail::store
