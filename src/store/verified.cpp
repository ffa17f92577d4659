// SPDX-License-Identifier: Apache-2.0
#include "store/verified.hpp"

#include <fmt/format.h>

#include <thread>

namespace curtail::store {
namespace {

tl::expected<Content, ReadFailure> read_once(ObjectStore& store, ObjectName const& name, Bytes size,
                                             Digest const& digest)
{
    auto const what = "cannot read " + name.text();
    auto const corrupt = [&](std::string why) {
        return tl::unexpected(
            ReadFailure{ReadFailure::Kind::corrupt, {ExitCode::data, what, std::move(why), {}}});
    };
    Content content;
    Sha256 hash;
    auto const there = store.read(name, size, [&](std::span<std::byte const> piece, Bytes whole) {
        content.reserve(static_cast<std::size_t>(whole.value));
        content.insert(content.end(), piece.begin(), piece.end());
        hash.update(piece);
    });
    if (!there && there.error().code == ExitCode::data) return corrupt(there.error().message());
    if (!there) return tl::unexpected(ReadFailure{ReadFailure::Kind::unavailable, there.error()});
    if (!*there)
        return tl::unexpected(ReadFailure{ReadFailure::Kind::missing,
                                          {ExitCode::data, what, "there is no such object", {}}});
    if (content.size() != static_cast<std::size_t>(size.value))
        return corrupt(
            fmt::format("it has {} bytes, the record says {}", content.size(), size.value));
    if (auto const found = hash.finish(); found != digest)
        return corrupt(
            fmt::format("its sha256 is {}, the record says {}", found.hex(), digest.hex()));
    return content;
}

}  // namespace

tl::expected<Content, ReadFailure> read_verified(ObjectStore& store, ObjectName const& name,
                                                 Bytes size, Digest const& digest, Millis pause)
{
    constexpr int tries = 3;
    for (int attempt = 1;; ++attempt) {
        auto content = read_once(store, name, size, digest);
        if (content || attempt == tries) return content;
        std::this_thread::sleep_for(pause);
    }
}

}  // namespace curtail::store
