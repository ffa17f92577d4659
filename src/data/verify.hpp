// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>

#include "data/manifest.hpp"
#include "data/progress.hpp"

namespace curtail::data {

/// A file of a prepared folder that differs from the manifest.
struct BadFile {
    std::string file;
    std::string why;
    friend bool operator==(BadFile const&, BadFile const&) = default;
};

/// The result of checking a prepared folder.
struct Verification {
    Manifest manifest;
    std::vector<BadFile> bad;  ///< the tokenizer first, then shards in stream order
    [[nodiscard]] bool good() const { return bad.empty(); }
};

/// Checks tokenizer and every shard against the manifest and collects all bad files. `progress`
/// counts shards. Fails if the manifest is missing or unreadable.
[[nodiscard]] Result<Verification> verify(std::filesystem::path const& folder,
                                          ProgressCallback const& progress = {});

}  // namespace curtail::data
