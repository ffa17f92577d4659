// SPDX-License-Identifier: Apache-2.0
#include "run/journal/anchors.hpp"

namespace curtail::journal {

namespace {

void add(RunAnchors& anchors, SiteId const& site, protocol::JournalHeads const& heads,
         std::string const& by, bool fixes)
{
    for (auto const stream : all_streams)
        if (auto const head = heads.find(name(stream)); head != heads.end())
            anchors[{site, stream}].try_emplace({head->second.number},
                                                Anchor{head->second.sha256, by, fixes});
}

}  // namespace

void add_anchors(RunAnchors& anchors, CommitNumber commit,
                 std::map<SiteId, protocol::JournalHeads> const& heads)
{
    for (auto const& [site, streams] : heads)
        add(anchors, site, streams, "commit " + std::to_string(commit.value), true);
}

void add_anchors(RunAnchors& anchors, protocol::Closing const& closing)
{
    add(anchors, closing.site, closing.heads, "closing " + std::to_string(closing.number), false);
}

Anchors const& anchors_of(RunAnchors const& anchors, SiteId const& site, Stream stream)
{
    static Anchors const none;
    auto const found = anchors.find({site, stream});
    return found == anchors.end() ? none : found->second;
}

}  // namespace curtail::journal
