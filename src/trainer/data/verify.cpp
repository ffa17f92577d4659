// SPDX-License-Identifier: Apache-2.0
#include "trainer/data/verify.hpp"

#include "base/core/files.hpp"
#include "trainer/data/shards.hpp"
#include "trainer/data/tokenizer.hpp"

namespace curtail::data {
namespace {

// Explains how the tokenizer file differs from the manifest. The text is empty if it matches.
std::string tokenizer_defect(std::filesystem::path const& folder, Manifest const& manifest)
{
    auto const bytes = read_file(folder / tokenizer_file, max_tokenizer_bytes);
    if (!bytes) return bytes.error().why;
    if (auto const found = sha256(*bytes); found != manifest.tokenizer_digest)
        return digest_mismatch(manifest.tokenizer_digest, found);
    auto const tokenizer = Tokenizer::parse(*bytes, tokenizer_file);
    if (!tokenizer) return tokenizer.error().why;
    if (tokenizer->vocabulary_size() != manifest.vocabulary_size)
        return "it has " + std::to_string(tokenizer->vocabulary_size()) + " tokens";
    return {};
}

}  // namespace

Result<Verification> verify(std::filesystem::path const& folder, ProgressCallback const& progress)
{
    auto manifest = read_manifest(folder);
    if (!manifest) return tl::unexpected(manifest.error());
    Verification verification{std::move(*manifest), {}};
    auto const& names = verification.manifest;
    if (auto why = tokenizer_defect(folder, names); !why.empty())
        verification.bad.push_back({tokenizer_file, std::move(why)});
    double done = 0;
    auto const total =
        static_cast<double>(names.train.shards.size() + names.held_out.shards.size());
    for (auto const split : {Split::train, Split::held_out})
        for (auto const& entry : names.split(split).shards) {
            ShardLabel const label{split, names.tokenizer_digest, names.vocabulary_size};
            if (auto const shard = read_shard(folder, entry, label); !shard)
                verification.bad.push_back({entry.file, shard.error().why});
            if (progress) progress(++done, total);
        }
    return verification;
}

}  // namespace curtail::data
