// SPDX-License-Identifier: Apache-2.0
// Somebody changes a finished run's evidence, with all digests that need no key. The bill stays the
// same, or says where it cannot be trusted.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "base/core/files.hpp"
#include "bill/account/account_of.hpp"
#include "bill/account/figures.hpp"
#include "bill/account/published_run.hpp"
#include "bill/report/document.hpp"
#include "support/temporary_folder.hpp"

namespace curtail::account {
namespace {

using journal::Stream;
using test::JournalContent;
using Lines = std::vector<std::string>;
using StreamKey = JournalContent::key_type;

std::int64_t seeds()
{
    char const* const stated = std::getenv("CURTAIL_TEST_MUTATIONS");
    return stated != nullptr ? std::atoll(stated) : 40;
}

// Changes lines of a log. `description` says how.
class Mutator {
  public:
    explicit Mutator(std::int64_t seed) : random_(static_cast<std::uint64_t>(seed)) {}

    std::string change(Lines& lines)
    {
        switch (below(6)) {
            case 0:
                return drop(lines);
            case 1:
                return duplicate(lines);
            case 2:
                return swap(lines);
            case 3:
                return alter(lines);
            case 4:
                return scale(lines);
            default:
                return shift(lines);
        }
    }
    std::size_t below(std::size_t count) { return random_() % count; }

  private:
    struct Range {
        std::size_t from;
        std::size_t to;
    };
    Range range(Lines const& lines)
    {
        auto const from = below(lines.size());
        auto const most = below(2) == 0 ? 1 : lines.size() - from;
        return {from, from + 1 + below(most)};
    }

    std::string drop(Lines& lines)
    {
        auto const [from, to] = range(lines);
        lines.erase(at(lines, from), at(lines, to));
        return fmt::format("drop {} lines at {}", to - from, from);
    }
    std::string duplicate(Lines& lines)
    {
        auto const [from, to] = range(lines);
        Lines const copy(at(lines, from), at(lines, to));
        lines.insert(at(lines, to), copy.begin(), copy.end());
        return fmt::format("duplicate {} lines at {}", to - from, from);
    }
    std::string swap(Lines& lines)
    {
        auto const a = below(lines.size());
        auto const b = below(lines.size());
        std::swap(lines[a], lines[b]);
        return fmt::format("swap lines {} and {}", a, b);
    }
    // Gives a member another value.
    std::string alter(Lines& lines)
    {
        auto const line = below(lines.size());
        auto object = object_of(lines[line]);
        auto const members = object.members();
        auto const& [key, value] = members[below(members.size())];
        object.set(key, altered(key, value, lines));
        lines[line] = json::to_string(object);
        return fmt::format("alter {} in line {}", key, line);
    }
    json::Value altered(std::string const& key, json::Value const& value, Lines const& lines)
    {
        if (auto const number = value.as_number()) return *number * factor();
        auto const other = object_of(lines[below(lines.size())]);
        auto const* found = other.find(key);
        return found != nullptr ? *found : json::Value("altered");
    }
    // Multiplies a number in all lines that have it.
    std::string scale(Lines& lines)
    {
        std::set<std::string> keys;
        for (auto const& line : lines)
            for (auto const& [key, value] : object_of(line).members())
                if (value.as_number()) keys.insert(key);
        if (keys.empty()) return alter(lines);
        auto const key = *std::next(keys.begin(), static_cast<std::ptrdiff_t>(below(keys.size())));
        auto const by = factor();
        for (auto& line : lines) {
            auto object = object_of(line);
            if (auto const number = object.number_at(key)) object.set(key, *number * by);
            line = json::to_string(object);
        }
        return fmt::format("scale {} by {}", key, by);
    }
    std::string shift(Lines& lines)
    {
        auto const [from, to] = range(lines);
        Millis const by{static_cast<std::int64_t>(below(60'000)) - 30'000};
        for (auto i = from; i < to; ++i) {
            auto object = object_of(lines[i]);
            object.set("time", format_time(object.time_at("time").value() + by));
            lines[i] = json::to_string(object);
        }
        return fmt::format("shift {} lines at {} by {} ms", to - from, from, by.count());
    }

    double factor()
    {
        constexpr double factors[] = {0.1, 0.5, 0.9, 1.1, 2, 10};
        return factors[below(std::size(factors))];
    }
    static json::Object object_of(std::string const& line)
    {
        return *json::parse(line, "line").value().as_object();
    }
    static Lines::iterator at(Lines& lines, std::size_t index)
    {
        return lines.begin() + static_cast<std::ptrdiff_t>(index);
    }

    std::mt19937_64 random_;
};

// What a report says of a run.
struct Bill {
    Account account;
    std::string headline;
    std::string fixed;  // the headline from the lines alone that commits fix
};

class Mutations : public testing::Test {
  protected:
    enum class Place { fixed, tail, local };

    static Result<Bill> bill(test::PublishedTestRun const& run)
    {
        auto const files = load_run(run.run_file());
        if (!files) return tl::unexpected(files.error());
        auto account = account_of(*files);
        auto const headline = [](Account const& of) {
            return json::to_string(*report::document(of, std::nullopt).find("headline"));
        };
        Bill bill{account, headline(account), headline(*account.fixed)};
        return bill;
    }

    // Changes one piece in `place`. Returns what was done.
    std::string mutate(JournalContent& content, Mutator& mutator, Place place) const
    {
        std::vector<std::pair<StreamKey, std::size_t>> pieces;
        for (auto const& [key, all] : content) {
            auto const fixed = run_.fixed(key);
            for (std::size_t p = 0; p < all.size(); ++p)
                if (place == Place::local || (p < fixed) == (place == Place::fixed))
                    pieces.emplace_back(key, p);
        }
        auto const& [key, p] = pieces[mutator.below(pieces.size())];
        auto& piece = content[key][p];
        auto const before = piece.lines;
        std::string what;
        while (piece.lines == before) what = mutator.change(piece.lines);
        return fmt::format("{} in piece {} of {} {}", what, p + 1, key.first.value,
                           journal::name(key.second));
    }

    // A note that the clean run lacks, and that names a file and an interval.
    static bool has_new_note(Account const& changed, Account const& clean)
    {
        return std::ranges::any_of(changed.notes, [&](auto const& note) {
            bool const is_new = std::ranges::count(clean.notes, note) == 0;
            bool const names_file = note.second.find(".json") != std::string::npos ||
                                    note.second.find("journal/") != std::string::npos;
            bool const names_interval = note.second.find("from ") != std::string::npos ||
                                        note.second.find("after ") != std::string::npos ||
                                        note.second.find("at 20") != std::string::npos;
            return is_new && names_file && names_interval;
        });
    }
    // The energy and carbon of the run differ from those of the fixed lines by the tail at most.
    static void expect_within_tail(Account const& account, std::string const& what)
    {
        WattHours energy{};
        Grams carbon{};
        for (auto const& site : account.sites) {
            energy += site.tail->energy;
            carbon += site.tail->carbon;
        }
        auto const all = total_of(account);
        auto const fixed = total_of(*account.fixed);
        EXPECT_LE(std::abs(all.energy.value - fixed.energy.value), energy.value + 1e-6) << what;
        EXPECT_LE(std::abs(all.carbon.value - fixed.carbon.value), carbon.value + 1e-6) << what;
    }

    curtail::test::TemporaryFolder folder_;
    curtail::test::TemporaryFolder local_folder_;
    test::PublishedTestRun run_{folder_.path()};
    test::PublishedTestRun local_run_{local_folder_.path()};
};

TEST_F(Mutations, LeaveTheBillOrAMark)
{
    auto const published = bill(run_).value();
    EXPECT_GT(published.account.fixed->sites[0].bill.total.energy.value, 0);
    EXPECT_NE(published.headline, published.fixed);
    EXPECT_TRUE(published.account.doubts.empty());
    local_run_.keep_local(run_.content());
    auto const local = bill(local_run_).value();
    std::map<std::string, int> seen;
    for (std::int64_t seed = 1; seed <= seeds(); ++seed) {
        auto const place = seed % 4 < 2 ? Place::fixed : seed % 4 == 2 ? Place::tail : Place::local;
        auto const& clean = place == Place::local ? local : published;
        Mutator mutator(seed);
        auto content = run_.content();
        auto const what = fmt::format("seed {}: {}", seed, mutate(content, mutator, place));
        if (place == Place::local) local_run_.keep_local(content);
        else run_.publish(content);
        auto const changed = bill(place == Place::local ? local_run_ : run_);
        if (!changed) {
            ++seen["refused"];
            continue;
        }
        EXPECT_EQ(changed->fixed == clean.fixed, place != Place::fixed) << what;
        expect_within_tail(changed->account, what);
        bool const is_same = changed->headline == clean.headline;
        bool const is_noted = has_new_note(changed->account, clean.account);
        ++seen[is_same ? "same" : is_noted ? "noted" : "in the tail"];
        EXPECT_TRUE(place != Place::fixed || is_same || is_noted) << what;
    }
    for (auto const& [outcome, count] : seen) std::printf("%s: %d\n", outcome.c_str(), count);
}

// A stream that is gone leaves a mark, too, on a machine with the local files and on any other.
TEST_F(Mutations, ThatRemoveAWholeStreamAreMarked)
{
    for (auto const& [key, pieces] : run_.content()) {
        auto content = run_.content();
        content.erase(key);
        run_.publish(content);
        auto const changed = bill(run_).value();
        auto const stream = "journal/" + key.first.value + "/" + journal::name(key.second);
        EXPECT_THAT(changed.account.notes,
                    testing::Contains(testing::Pair(
                        "Damaged journal", testing::AllOf(testing::HasSubstr(stream),
                                                          testing::HasSubstr("missing")))));
        EXPECT_FALSE(total_of(changed.account).whole()) << stream;
    }
}

// A site's closing is a matter of its owner.
TEST_F(Mutations, OfAClosingKeepNobodyFromAReport)
{
    ASSERT_TRUE(write_file(folder_ / "store/runs/demo/closing/NEM_SA/1.json", "x"));
    auto const changed = bill(run_);
    ASSERT_TRUE(changed) << changed.error().message();
    EXPECT_THAT(changed->account.notes,
                testing::Contains(testing::Pair(
                    "Damaged journal", testing::HasSubstr("the closing of journal/NEM_SA"))));
}

// A sample of another year would begin always-on there.
TEST_F(Mutations, OfASampleLongBeforeTheRunDoNotCount)
{
    auto const clean = bill(run_).value();
    auto content = run_.content();
    auto& lines = content[{{"CAISO_NORTH"}, Stream::signals}].back().lines;
    lines.push_back(
        R"({"region":"CAISO_NORTH","time":"2001-01-01T00:00:00Z","intensity_gco2_per_kwh":4000,)"
        R"("provider":"x","kind":"marginal","period_s":1000000000})");
    run_.publish(content);
    auto const changed = bill(run_).value();
    EXPECT_EQ(changed.headline, clean.headline);
    EXPECT_THAT(changed.account.notes,
                testing::Contains(testing::Pair("Impossible samples", testing::_)));
}

// Whoever can write the whole store can invent a run. Only the digest that somebody noted tells.
TEST_F(Mutations, OfCommitsTooAreCaughtByTheRunDigestAlone)
{
    auto const clean = bill(run_).value();
    auto content = run_.content();
    StreamKey const key{{"CAISO_NORTH"}, Stream::signals};
    ASSERT_GT(run_.fixed(key), 0U);
    for (auto& line : content[key][0].lines) {
        auto sample = *json::parse(line, "line").value().as_object();
        sample.set("intensity_gco2_per_kwh", 1);
        line = json::to_string(sample);
    }
    run_.publish(content, true);
    auto const forged = bill(run_).value();
    EXPECT_NE(forged.headline, clean.headline);
    EXPECT_EQ(forged.account.notes.size(), clean.account.notes.size());
    EXPECT_TRUE(forged.account.doubts.empty());
    EXPECT_NE(forged.account.run_digest, clean.account.run_digest);
    run_.publish(run_.content(), true);
    EXPECT_EQ(bill(run_).value().account.run_digest, clean.account.run_digest);
}

}  // namespace
}  // namespace curtail::account
