// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "base/core/digest.hpp"

namespace curtail {

/// Bytes that lie in several places of memory and together are one text or object. Does not own the
/// memory. Copying copies only the list of places.
class Pieces {
  public:
    Pieces() = default;
    Pieces(std::span<std::byte const> bytes) { add(bytes); }
    Pieces(std::vector<std::byte> const& bytes) { add(bytes); }
    Pieces(std::string_view text) { add(std::as_bytes(std::span(text))); }

    void add(std::span<std::byte const> bytes);  ///< appends `bytes`; ignores an empty span
    [[nodiscard]] std::size_t size() const { return size_; }  ///< in bytes
    [[nodiscard]] bool empty() const { return size_ == 0; }
    [[nodiscard]] std::vector<std::span<std::byte const>> const& list() const& { return list_; }
    void list() const&& = delete;  ///< the list would not outlive the temporary object
    /// Returns up to `count` bytes from `offset` on; fewer at the end, none behind it.
    [[nodiscard]] Pieces slice(std::size_t offset, std::size_t count) const;
    /// Copies bytes from `offset` on into `out`. Returns how many: fewer than `out` has only at the
    /// end.
    std::size_t copy(std::size_t offset, std::span<std::byte> out) const;

  private:
    std::vector<std::span<std::byte const>> list_;
    std::size_t size_{0};
};

[[nodiscard]] Digest sha256_of(Pieces const& pieces);

}  // namespace curtail
