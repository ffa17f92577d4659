// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <utility>
#include <vector>

#include "protocol/records/record.hpp"
#include "run/config/run.hpp"
#include "run/journal/piece.hpp"

// What a site knows of its own journal without asking the store.
namespace curtail::journal {

/// The files in which the writers of a site's streams remember the newest pieces.
using HeadFiles = std::vector<std::pair<StreamId, std::filesystem::path>>;
[[nodiscard]] HeadFiles head_files(config::Run const& run, SiteId const& site);

/// Returns the path of the file in which the writer of the stream in `file` remembers its newest
/// piece.
[[nodiscard]] std::filesystem::path head_file(std::filesystem::path const& file);

/// Reads these files. Leaves out a stream whose file is missing, damaged or not readable.
[[nodiscard]] protocol::JournalHeads read_heads(HeadFiles const& files);

}  // namespace curtail::journal
