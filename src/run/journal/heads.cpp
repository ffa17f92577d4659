// SPDX-License-Identifier: Apache-2.0
#include "run/journal/heads.hpp"

#include "base/core/files.hpp"
#include "run/journal/local_file.hpp"

namespace curtail::journal {

HeadFiles head_files(config::Run const& run, SiteId const& site)
{
    HeadFiles files;
    for (auto const stream : all_streams)
        files.emplace_back(StreamId{run.run, site, stream},
                           head_file(local_file(run, site, stream)));
    return files;
}

std::filesystem::path head_file(std::filesystem::path const& file)
{
    return file.parent_path() / (file.stem().string() + ".published");
}

protocol::JournalHeads read_heads(HeadFiles const& files)
{
    protocol::JournalHeads heads;
    for (auto const& [id, path] : files) {
        auto const text = read_file_if_exists(path, header_limit).value_or(std::nullopt);
        auto const tip = text ? decode_tip(id, *text) : std::nullopt;
        if (tip) heads[name(id.stream)] = {tip->header.number.value, tip->digest};
    }
    return heads;
}

}  // namespace curtail::journal
