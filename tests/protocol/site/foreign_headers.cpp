// SPDX-License-Identifier: Apache-2.0
// Headers that no program of Curtail would write.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "scripted_site.hpp"
#include "simulator/edited_record.hpp"

namespace curtail::protocol {
namespace {

using simulator::edited_record;
using test::ScriptedSite;
using test::small_run;

// A run with pending headers of B that no program of Curtail would write.
class ForeignHeaders : public ScriptedSite {
  protected:
    explicit ForeignHeaders() : ScriptedSite(wide_run()) {}
    static RunSpec wide_run()
    {
        auto run = small_run();
        run.params.max_undecided = 100;
        return run;
    }
    // Adds a second site that joined long ago and wrote `headers` in a row. In their records, the
    // second text of `edit` replaces the first one.
    void add_departed_member(std::vector<Header> const& headers,
                             std::pair<std::string, std::string> const& edit = {})
    {
        (void)serve(Tick{});
        auto const parent =
            *decode_commit(objects.at("commits/00000002.json"), "commits/00000002.json");
        Process const other{{"B"}, 0x22};
        Intents intents;
        intents.admit = Admission{other, 1'000'000};
        intents.remove = {{MemberId{"A.00000011.2"}, Removal::silent}};
        auto const id = member_id(other, {3});
        auto const joined = next(run, parent, sha256(objects.at("commits/00000002.json")), {id, 1},
                                 from_unix_ms(1'600'000'000'000), {}, intents);
        objects["commits/00000003.json"] = encode(*joined).bytes;
        for (auto header : headers) {
            header.run = run.run;
            header.member = id;
            header.base_round = {1};
            objects[header_name(id, header.seq)] =
                edited_record(encode(header).bytes, edit.first, edit.second);
        }
        site = Site({{{"A"}, 0x33}, run, 0});
    }
    // The chain's decisions on them until the site has joined.
    std::vector<ContributionDecision> decided()
    {
        auto const outputs = serve(Tick{});
        EXPECT_TRUE(!outputs.empty() && std::holds_alternative<LoadModel>(outputs.back()))
            << exit_error(outputs).message();
        std::vector<ContributionDecision> all;
        for (auto const& [name, bytes] : objects) {
            if (name.rfind("commits/", 0) != 0) continue;
            auto const commit = decode_commit(bytes, name);
            all.insert(all.end(), commit->decided.begin(), commit->decided.end());
        }
        return all;
    }
};

TEST_F(ForeignHeaders, AHeaderThatFitsInNoCommitIsNeverDecidedAndBlocksNoSite)
{
    Header header;
    header.seq = {1};
    header.ranges = Ranges::between(1, 2);
    header.tokens = {8};
    header.delta = {{"d0", "deltas/1/x", 1, sha256("")}, 0.5};
    std::string wide;
    for (int i = 0; i < 1000; ++i) wide += fmt::format("[{},{}],", 2 * i, 2 * i + 1);
    wide.pop_back();
    for (auto const& [old, text] : {std::pair{exact(0.5), exact(std::nan(""))},
                                    {R"("steps":0)", R"("steps":9007199254740991)"},
                                    {"[1,2]", wide}}) {
        objects.clear();
        site = Site({{{"A"}, 0x11}, run, 0});
        add_departed_member({header}, {old, text});
        EXPECT_TRUE(decided().empty());
        EXPECT_NE(site.status().members.size(), 0U);
    }
}

TEST_F(ForeignHeaders, TheWidestHeadersWaitUntilTheRecordFits)
{
    std::vector<Header> headers;
    for (std::int64_t seq = 1; seq <= 160; ++seq) {
        Header h;
        h.seq = {seq};
        constexpr std::int64_t far = 9'000'000'000'000'000;
        for (std::int64_t i = 0; i < 256; ++i)
            h.ranges += Ranges::between(far + 2 * i, far + 2 * i + 1);
        headers.push_back(h);
    }
    add_departed_member(headers);
    auto const all = decided();
    EXPECT_GT(all.size(), 10U);
    for (auto const& d : all) EXPECT_EQ(d.refused, Refusal::wrong_run);
}

}  // namespace
}  // namespace curtail::protocol
