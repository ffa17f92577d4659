// SPDX-License-Identifier: Apache-2.0
// What became of the sites' work.
#include <gmock/gmock.h>

#include "base/core/columns.hpp"
#include "base/core/files.hpp"
#include "base/core/text.hpp"
#include "bill/account/synthetic_run.hpp"
#include "bill/status/documents.hpp"
#include "bill/status/text.hpp"
#include "support/temporary_folder.hpp"

namespace curtail::status {
namespace {

using testing::HasSubstr;

// A run whose commits refuse all work of SPP_TX, three seconds after the newest one.
class Work : public testing::Test {
  protected:
    Work() { account::test::write_synthetic_run(folder_.path(), {.refuses = true}); }
    [[nodiscard]] Overview overview() const
    {
        auto const run = config::read_run(folder_ / "run.json").value();
        return read_overview(run, store::open_store(run.store).map([](auto store) {
            return std::shared_ptr<store::ObjectStore>(std::move(store));
        }),
                             parse_time("2026-11-21T09:03:31.050Z").value());
    }
    curtail::test::TemporaryFolder folder_;
};

TEST_F(Work, OfEachSiteIsShown)
{
    auto const text = in_terminal_columns(overview_text(overview()));
    EXPECT_THAT(text, HasSubstr("\nwarning   SPP_TX has trained on 399,360 tokens, and the model "
                                "includes no work\n"
                                "          of the site\n"
                                "warning   SPP_TX is in quarantine until 2026-11-21T09:03:43"));
    EXPECT_THAT(
        text, HasSubstr("  site         trained  in the model    lost  refused  clipped  removed\n"
                        "  CAISO_NORTH   421888        421888       0        0        0        0\n"
                        "  SPP_TX        399360             0  399360       25        0        5\n"
                        "  NEM_SA        628736        628736       0        0       24        0\n"
                        "  all sites    1449984       1050624  399360       25       24        5\n"
                        "lost      SPP_TX, 3.0 s ago at commit 63: the delta was missing or "
                        "damaged\n          (20480 tokens)\n"));
    for (auto const line : split(text, '\n'))
        EXPECT_TRUE(width_of(line) <= terminal_columns || line.find("file://") != line.npos)
            << line;
}

TEST_F(Work, OfEachSiteIsInTheDocument)
{
    auto const document = json::to_string(*overview_json(overview()).find("work"));
    EXPECT_THAT(
        document,
        HasSubstr(
            R"({"site":"SPP_TX","trained_tokens":399360,"is_at_least":false,"included_tokens":0,)"
            R"("refused_tokens":399360,"dropped_tokens":0,"waiting_tokens":399360,"refused":25,)"
            R"("clipped":0,"removed":5,"last_included":null,"last_loss":{"time":)"
            R"("2026-11-21T09:03:28.050Z","why":"the delta was missing or damaged","commit":63,)"
            R"("tokens":20480},"quarantine":{"until":"2026-11-21T09:03:43.050Z",)"
            R"("reason":"digest"}})"));
    EXPECT_THAT(document, HasSubstr(R"("warnings":["SPP_TX has trained)"));
}

TEST_F(Work, IsUnknownIfACommitIsMissing)
{
    std::filesystem::remove(folder_ / "store/runs/demo/commits/00000009.json");
    auto const shown = overview();
    EXPECT_FALSE(shown.work);
    EXPECT_TRUE(overview_json(shown).find("work")->is_null());
    EXPECT_THAT(overview_text(shown), HasSubstr("note: the sites' work is unknown: "));
    EXPECT_THAT(overview_text(shown), HasSubstr("commit    63 (merge"));
}

// Another owner's site that has published nothing: its log is not on this machine.
TEST_F(Work, OfASiteWithoutALogIsKnownFromTheCommits)
{
    std::filesystem::remove_all(folder_ / "sites/SPP_TX");
    std::filesystem::remove_all(folder_ / "sites/NEM_SA");
    std::filesystem::remove_all(folder_ / "poller");
    auto const text = overview_text(overview());
    EXPECT_THAT(text,
                HasSubstr("SPP_TX was removed, or its work refused, 30 times, and the model"));
    EXPECT_THAT(
        text,
        HasSubstr("  SPP_TX             -             0  >399360       25        0        5\n"
                  "  NEM_SA             -        628736        -        0       24        0\n"
                  "  all sites    >421888       1050624  >399360       25       24        5\n"));
}

}  // namespace
}  // namespace curtail::status
