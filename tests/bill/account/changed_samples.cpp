// SPDX-License-Identifier: Apache-2.0
// Somebody changes samples in local files that no commit fixes. The poller logs the samples and the
// decisions that it made with them. So the samples have to fit the phases of the window.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "bill/account/account_of.hpp"
#include "bill/account/figures.hpp"
#include "bill/account/published_run.hpp"
#include "support/temporary_folder.hpp"

namespace curtail::account {
namespace {

using test::JournalContent;

class ChangedSamples : public testing::Test {
  protected:
    Account account(JournalContent const& content)
    {
        run_.keep_local(content);
        return account_of(load_run(run_.run_file()).value());
    }
    // Multiplies up to an hour of samples by 20, or divides them, where that changes whether they
    // are below the threshold. Returns what it did.
    std::string change(JournalContent& content, std::mt19937_64& random) const
    {
        auto stream = content.begin();
        std::advance(stream, random() % content.size());
        while (stream->first.second != journal::Stream::signals)
            if (++stream == content.end()) stream = content.begin();
        auto& pieces = stream->second;
        auto& lines = pieces[random() % pieces.size()].lines;
        auto const from = random() % lines.size();
        double const factor = random() % 2 == 0 ? 20 : 0.05;
        std::string what;
        for (auto i = from; i < std::min(lines.size(), from + 12); ++i) {
            auto sample = *json::parse(lines[i], "line").value().as_object();
            auto const intensity = sample.number_at("intensity_gco2_per_kwh").value_or(0);
            auto const changed = std::min(intensity * factor, 4'000.0);
            if ((intensity < 100) == (changed < 100)) continue;
            what += fmt::format("{} {} from {} to {}; ", sample.text_at("region"),
                                sample.text_at("time"), intensity, changed);
            sample.set("intensity_gco2_per_kwh", changed);
            lines[i] = json::to_string(sample);
        }
        return what;
    }

    curtail::test::TemporaryFolder folder_;
    test::PublishedTestRun run_{folder_.path()};
};

TEST_F(ChangedSamples, ThatCrossAThresholdAreMarked)
{
    auto const clean = account(run_.content());
    EXPECT_TRUE(clean.doubts.empty());
    constexpr int seeds = 40;
    int crossed = 0;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        std::mt19937_64 random(seed);
        auto content = run_.content();
        auto const what = change(content, random);
        if (what.empty()) continue;
        ++crossed;
        EXPECT_THAT(account(content).notes,
                    testing::Contains(testing::Pair("Decisions and samples differ",
                                                    testing::HasSubstr("poller events.jsonl"))))
            << "seed " << seed << ": " << what;
    }
    EXPECT_GT(crossed, seeds / 4);
}

}  // namespace
}  // namespace curtail::account
