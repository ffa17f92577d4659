// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>

#include "trainer/data/manifest.hpp"
#include "trainer/data/progress.hpp"

namespace curtail::data {

/// One file of a data folder. This file is missing, damaged or different from the manifest.
struct BadFile {
    std::string file;
    std::string why;
    friend bool operator==(BadFile const&, BadFile const&) = default;
};

/// The result of checking a data folder.
struct Verification {
    Manifest manifest;
    std::vector<BadFile> bad;  ///< the tokenizer first, then training shards, then held-out shards
    [[nodiscard]] bool good() const { return bad.empty(); }
};

/// Compares the tokenizer and every shard of a data folder with the manifest, and collects all bad
/// files. `progress` counts shards. Fails with `no_input` if the manifest is missing and with
/// `data` if it is damaged.
[[nodiscard]] Result<Verification> verify(std::filesystem::path const& folder,
                                          ProgressCallback const& progress = {});

}  // namespace curtail::data
