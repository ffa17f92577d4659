// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "base/core/digest.hpp"

namespace curtail::bridge {

/// Bytes that this site gives to other sites. Nobody changes them.
struct OfferedPayload {
    std::int64_t bytes{};
    /// Copies the bytes from `offset` on to `place`. Returns false if they cannot be read. Is
    /// called from any thread, and owns or shares what it reads.
    std::function<bool(std::size_t offset, std::span<std::byte> place)> read;
};

/// Passes the bytes of an offer to `sink` in consecutive pieces. Returns whether they could be read
/// and have the digest.
[[nodiscard]] inline bool read_offered(OfferedPayload const& offered, Digest const& digest,
                                       std::function<void(std::span<std::byte const>)> const& sink)
{
    constexpr std::size_t most = std::size_t{1} << 20;
    auto const size = static_cast<std::size_t>(offered.bytes);
    std::vector<std::byte> piece(most);
    Sha256 hash;
    for (std::size_t offset = 0; offset < size; offset += piece.size()) {
        piece.resize(std::min(most, size - offset));
        if (!offered.read(offset, piece)) return false;
        hash.update(piece);
        sink(piece);
    }
    return hash.finish() == digest;
}

/// What this site gives to other sites, by digest. Thread-safe.
class Offers {
  public:
    void add(Digest const& digest, OfferedPayload offered)
    {
        std::lock_guard const lock(mutex_);
        offers_.insert_or_assign(digest, std::move(offered));
    }
    /// Replaces an offer. Does nothing if there is none with this digest.
    void replace(Digest const& digest, OfferedPayload offered)
    {
        std::lock_guard const lock(mutex_);
        if (auto const found = offers_.find(digest); found != offers_.end())
            found->second = std::move(offered);
    }
    void remove(Digest const& digest)
    {
        std::lock_guard const lock(mutex_);
        offers_.erase(digest);
    }
    /// Returns the offer with this digest and size.
    [[nodiscard]] std::optional<OfferedPayload> find(Digest const& digest, std::int64_t bytes) const
    {
        std::lock_guard const lock(mutex_);
        auto const found = offers_.find(digest);
        if (found == offers_.end() || found->second.bytes != bytes) return {};
        return found->second;
    }

  private:
    mutable std::mutex mutex_;
    std::map<Digest, OfferedPayload> offers_;
};

}  // namespace curtail::bridge
