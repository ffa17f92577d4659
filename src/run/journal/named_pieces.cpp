// SPDX-License-Identifier: Apache-2.0
#include "run/journal/named_pieces.hpp"

namespace curtail::journal {

namespace {

void add(RunNamedPieces& named, SiteId const& site, protocol::JournalHeads const& heads,
         std::string const& by, bool fixes)
{
    for (auto const stream : all_streams)
        if (auto const head = heads.find(name(stream)); head != heads.end())
            named[{site, stream}].try_emplace({head->second.number},
                                              NamedPiece{head->second.sha256, by, fixes});
}

}  // namespace

void add_named_pieces(RunNamedPieces& named, CommitNumber commit,
                      std::map<SiteId, protocol::JournalHeads> const& heads)
{
    for (auto const& [site, streams] : heads)
        add(named, site, streams, "commit " + std::to_string(commit.value), true);
}

void add_named_pieces(RunNamedPieces& named, protocol::Closing const& closing)
{
    add(named, closing.site, closing.heads, "closing " + std::to_string(closing.number), false);
}

NamedPieces const& named_pieces_of(RunNamedPieces const& named, SiteId const& site, Stream stream)
{
    static NamedPieces const none;
    auto const found = named.find({site, stream});
    return found == named.end() ? none : found->second;
}

}  // namespace curtail::journal
