// SPDX-License-Identifier: Apache-2.0
#include "base/core/parallel_sha256.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace curtail {
namespace {

// Pieces that the caller's thread hashes, and pieces that the other thread hashes.
TEST(ParallelSha256, GivesTheDigestOfAllPiecesInTheirOrder)
{
    std::string text(3'000'000, ' ');
    for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * 2654435761U >> 9);
    auto const bytes = std::as_bytes(std::span(text));
    ParallelSha256 hash;
    std::size_t first = 0;
    for (std::size_t const size : {5UL, 1'000'000UL, 100UL, 0UL, 300'000UL, 1'699'895UL}) {
        hash.begin(bytes.subspan(first, size));
        hash.wait();
        first += size;
    }
    ASSERT_EQ(first, text.size());
    EXPECT_EQ(hash.finish(), sha256(text));
}

TEST(ParallelSha256, WaitsForItsThreadBeforeItEnds)
{
    std::vector<std::byte> const data(20'000'000);
    ParallelSha256 hash;
    hash.begin(data);
}

}  // namespace
}  // namespace curtail
