// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/core/files.hpp"
#include "support/temporary_folder.hpp"
#include "trainer/data/shards.hpp"

namespace curtail::data {

/// Makes a data folder without a tokenizer. Token i of its training split is i mod 1000.
inline Manifest make_counting_folder(std::filesystem::path const& folder, std::int64_t tokens,
                                     std::int64_t shard_tokens)
{
    std::vector<Token> all(static_cast<std::size_t>(tokens));
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<Token>(i % 1'000);
    Manifest manifest;
    manifest.vocabulary_size = 1'000;
    ShardWriter train(folder, {Split::train, {}, 1'000}, shard_tokens);
    for (std::size_t at = 0; at < all.size(); at += 7)
        if (!train.add(std::span(all).subspan(at, std::min<std::size_t>(7, all.size() - at)), 20))
            std::abort();
    manifest.train = train.finish().value();
    if (!write_file(folder / manifest_file, json::to_pretty(manifest.to_json()))) std::abort();
    return manifest;
}

}  // namespace curtail::data
