// SPDX-License-Identifier: Apache-2.0
#include "base/core/pieces.hpp"

#include <algorithm>
#include <cstring>

namespace curtail {

void Pieces::add(std::span<std::byte const> bytes)
{
    if (bytes.empty()) return;
    list_.push_back(bytes);
    size_ += bytes.size();
}

Pieces Pieces::slice(std::size_t offset, std::size_t count) const
{
    Pieces result;
    for (auto const& piece : list_) {
        if (result.size() == count) break;
        if (offset >= piece.size()) {
            offset -= piece.size();
            continue;
        }
        result.add(piece.subspan(offset, std::min(piece.size() - offset, count - result.size())));
        offset = 0;
    }
    return result;
}

std::size_t Pieces::copy(std::size_t offset, std::span<std::byte> out) const
{
    std::size_t copied = 0;
    auto const part = slice(offset, out.size());
    for (auto const& piece : part.list()) {
        std::memcpy(out.data() + copied, piece.data(), piece.size());
        copied += piece.size();
    }
    return copied;
}

Digest sha256_of(Pieces const& pieces)
{
    Sha256 hash;
    for (auto const& piece : pieces.list()) hash.update(piece);
    return hash.finish();
}

}  // namespace curtail
