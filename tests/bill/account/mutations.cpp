// SPDX-License-Identifier: Apache-2.0
// Somebody changes a finished run's evidence, with all digests that need no key. The bill stays the
// same, or says where it cannot be trusted.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <regex>
#include <set>

#include "base/core/files.hpp"
#include "bill/account/account_of.hpp"
#include "bill/account/figures.hpp"
#include "bill/account/published_run.hpp"
#include "bill/report/document.hpp"
#include "protocol/records/names.hpp"
#include "protocol/records/record.hpp"
#include "run/journal/local_file.hpp"
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

std::int64_t first_seed()
{
    char const* const stated = std::getenv("CURTAIL_TEST_FIRST_MUTATION");
    return stated != nullptr ? std::atoll(stated) : 1;
}

// Changes lines of a log. Each function says what it did.
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
    std::string figures;
    std::string fixed;  // the figures from the lines alone that commits fix
};

// All figures that a person may quote.
std::string figures_of(Account const& account)
{
    auto const doc = report::document(account, std::nullopt);
    json::Object figures;
    for (char const* part : {"headline", "goodput", "energy", "hours", "totals", "allocated_h"})
        if (auto const* found = doc.find(part)) figures.set(part, *found);
    auto const& audit = *doc.find("audit")->as_object();
    for (char const* part : {"average", "g_per_million_tokens", "sci"})
        figures.set(part, *audit.find(part));
    return json::to_string(figures);
}

class Mutations : public testing::Test {
  protected:
    enum class Place { fixed, tail, local };

    static Result<Bill> bill(test::PublishedTestRun const& run)
    {
        auto const files = load_run(run.run_file());
        if (!files) return tl::unexpected(files.error());
        auto account = account_of(*files);
        return Bill{account, figures_of(account), figures_of(*account.fixed)};
    }

    static Stream stream_named(std::string const& name)
    {
        for (auto const stream : journal::all_streams)
            if (journal::name(stream) == name) return stream;
        throw std::invalid_argument(name);
    }
    // What was changed, and where.
    struct Mutation {
        StreamKey key;
        std::string text;
    };
    // Changes one piece in `place`.
    Mutation mutate(JournalContent& content, Mutator& mutator, Place place) const
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
        return {key, fmt::format("{} in piece {} of {} {}", what, p + 1, key.first.value,
                                 journal::name(key.second))};
    }

    // A note that the clean run lacks, and that names the file and an interval.
    static bool has_new_note(Account const& changed, Account const& clean, StreamKey const& key)
    {
        static std::regex const interval(
            "from (20|its begin)\\S* (to|on)|after (20|its begin).*before");
        auto const file = journal::local_file({}, key.first, key.second).filename().string();
        auto const stream = "journal/" + key.first.value + "/" + journal::name(key.second);
        return std::ranges::any_of(changed.notes, [&](auto const& note) {
            auto const& text = note.second;
            auto const has = [&](std::string const& part) {
                return text.find(part) != std::string::npos;
            };
            bool const names_file = has(stream) || (has(key.first.value) && has(file));
            return std::ranges::count(clean.notes, note) == 0 && names_file &&
                   std::regex_search(text, interval);
        });
    }
    // The energy and carbon of each site differ from those of the fixed lines by the tail at most.
    static void expect_within_tail(Account const& account, std::string const& what)
    {
        for (std::size_t s = 0; s < account.sites.size(); ++s) {
            auto const& site = account.sites[s];
            auto const& all = site.bill.total;
            auto const& fixed = account.fixed->sites[s].bill.total;
            EXPECT_LE(std::abs((all.energy - fixed.energy).value), site.tail->energy.value + 1e-6)
                << what << " " << site.id.value;
            EXPECT_LE(std::abs((all.carbon - fixed.carbon).value), site.tail->carbon.value + 1e-6)
                << what << " " << site.id.value;
        }
    }
    // The bill of a run of which no commit names a line says that it depends on its files.
    static bool says_that_nothing_is_fixed(Account const& account)
    {
        auto const tail = tail_of(account);
        auto const total = total_of(account);
        return tail.energy.value >= total.energy.value - 1e-6 &&
               tail.carbon.value >= total.carbon.value - 1e-6 &&
               std::ranges::any_of(account.notes, [](auto const& note) {
                   return note.first == "Nothing is fixed";
               });
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
    EXPECT_NE(published.figures, published.fixed);
    EXPECT_TRUE(published.account.doubts.empty());
    local_run_.keep_local(run_.content());
    auto const local = bill(local_run_).value();
    EXPECT_TRUE(local.account.doubts.empty());
    std::map<std::string, int> seen;
    for (auto seed = first_seed(); seed < first_seed() + seeds(); ++seed) {
        auto const place = seed % 4 < 2 ? Place::fixed : seed % 4 == 2 ? Place::tail : Place::local;
        auto const& clean = place == Place::local ? local : published;
        Mutator mutator(seed);
        auto content = run_.content();
        auto const mutation = mutate(content, mutator, place);
        auto const what = fmt::format("seed {}: {}", seed, mutation.text);
        if (place == Place::local) local_run_.keep_local(content);
        else run_.publish(content);
        auto const changed = bill(place == Place::local ? local_run_ : run_);
        auto const* const where = place == Place::fixed  ? "fixed"
                                  : place == Place::tail ? "tail"
                                                         : "local";
        auto const count = [&](char const* outcome) {
            ++seen[fmt::format("{}: {}", where, outcome)];
            if (std::getenv("CURTAIL_TEST_VERBOSE") != nullptr)
                std::printf("%s: %s: %s\n", where, outcome, what.c_str());
        };
        if (!changed) {
            count("refused");
            continue;
        }
        EXPECT_TRUE(changed->fixed == clean.fixed || place == Place::fixed) << what;
        expect_within_tail(changed->account, what);
        bool const is_same = changed->figures == clean.figures;
        bool const is_noted = has_new_note(changed->account, clean.account, mutation.key);
        count(is_same ? "same" : is_noted ? "noted" : "in the tail");
        EXPECT_TRUE(place != Place::fixed || is_same || is_noted) << what;
        EXPECT_EQ(says_that_nothing_is_fixed(changed->account), place == Place::local) << what;
        EXPECT_NE(changed->account.run_digest, clean.account.run_digest) << what;
    }
    for (auto const& [outcome, count] : seen) std::printf("%s: %d\n", outcome.c_str(), count);
}

// The clock of a run without a journal is in one file. Decisions have times of both clocks.
TEST_F(Mutations, OfTheClockAreMarked)
{
    local_run_.keep_local(run_.content());
    auto const clean = bill(local_run_).value();
    auto const file = local_folder_ / "clock.json";
    auto const text = read_file(file).value();
    for (auto const& [key, value] : std::vector<std::pair<char const*, json::Value>>{
             {"factor", 30},
             {"factor", 3000},
             {"origin", "2026-01-11T12:00:00Z"},
             {"origin", "2026-01-11T22:00:00Z"},
             {"real_origin", "2026-11-21T09:10:00Z"}}) {
        auto clock = *json::parse(text, "clock").value().as_object();
        clock.set(key, value);
        std::filesystem::remove(file);
        ASSERT_TRUE(write_file(file, json::to_string(clock)));
        auto const changed = bill(local_run_).value();
        EXPECT_NE(changed.figures, clean.figures) << key;
        EXPECT_NE(changed.account.run_digest, clean.account.run_digest) << key;
        EXPECT_THAT(changed.account.notes,
                    testing::Contains(testing::Pair("Clock and decisions differ",
                                                    testing::HasSubstr("clock.json"))))
            << key << " " << json::to_string(value);
    }
}

// A slightly wrong factor leaves each decision in its hour, and makes them ever later.
TEST_F(Mutations, OfTheClocksPaceAreMarked)
{
    local_run_.keep_local(run_.content());
    auto const clean = bill(local_run_).value();
    auto const file = local_folder_ / "clock.json";
    auto clock = *json::parse(read_file(file).value(), "clock").value().as_object();
    constexpr Millis earlier{12'000};
    clock.set("factor", clock.number_at("factor").value() * 0.95);
    clock.set("real_origin", format_time(clock.time_at("real_origin").value() - earlier));
    std::filesystem::remove(file);
    ASSERT_TRUE(write_file(file, json::to_string(clock)));
    auto const changed = bill(local_run_).value();
    EXPECT_NE(changed.figures, clean.figures);
    EXPECT_THAT(clean.account.notes,
                testing::Not(testing::Contains(testing::Key("Clock and decisions differ"))));
    EXPECT_THAT(changed.account.notes,
                testing::Contains(testing::Pair("Clock and decisions differ",
                                                testing::HasSubstr("changes steadily by"))));
}

// Whoever can write a site's part of the store can replace its closing.
TEST_F(Mutations, OfClosingsChangeNoFigureWithoutAMark)
{
    auto const clean = bill(run_).value();
    auto const name = protocol::closing_name({"SPP_TX"}, 1);
    auto const file = folder_ / "store/runs/demo" / name;
    auto const good = protocol::decode_closing(read_file(file).value(), name).value();
    auto const put = [&](protocol::Closing const& closing) {
        std::filesystem::remove(file);
        return write_file(file, protocol::encode(closing).bytes).has_value();
    };
    for (auto const& [stream, head] : good.heads)
        for (int change = 0; change < 3; ++change) {
            auto closing = good;
            if (change == 0) closing.heads.erase(stream);
            if (change == 1) ++closing.heads[stream].number;
            if (change == 2) closing.heads[stream].sha256 = sha256(stream);
            ASSERT_TRUE(put(closing));
            auto const changed = bill(run_).value();
            EXPECT_TRUE(
                changed.figures == clean.figures ||
                has_new_note(changed.account, clean.account, {{"SPP_TX"}, stream_named(stream)}))
                << stream << " " << change;
        }
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
        EXPECT_EQ(total_of(changed.account).whole(), key.second == Stream::evaluation) << stream;
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
    std::string const old =
        R"({"region":"CAISO_NORTH","time":"2001-01-01T00:00:00Z","intensity_gco2_per_kwh":4000,)"
        R"("provider":"x","kind":"marginal","period_s":1000000000})";
    StreamKey const key{{"CAISO_NORTH"}, Stream::signals};
    auto content = run_.content();
    local_run_.keep_local(content);
    auto const clean = bill(local_run_).value();
    for (auto const& [is_first, title] :
         {std::pair{true, "Impossible samples"}, std::pair{false, "Inserted samples"}}) {
        content = run_.content();
        auto& lines = is_first ? content[key].front().lines : content[key].back().lines;
        lines.insert(is_first ? lines.begin() : lines.end(), old);
        local_run_.keep_local(content);
        auto const changed = bill(local_run_).value();
        EXPECT_EQ(changed.figures, clean.figures);
        EXPECT_THAT(changed.account.notes, testing::Contains(testing::Pair(title, testing::_)));
    }
}

// Whoever can write the whole store can invent a run. Only the digest that somebody noted tells.
TEST_F(Mutations, OfCommitsTooAreCaughtByTheRunDigestAlone)
{
    auto const clean = bill(run_).value();
    auto content = run_.content();
    StreamKey const key{{"CAISO_NORTH"}, Stream::signals};
    ASSERT_GT(run_.fixed(key), 0U);
    std::set<double> known;  // to the poller when it decided
    for (auto const& piece : content[{key.first, Stream::poller}])
        for (auto const& line : piece.lines)
            if (auto const at = line.find("intensity_gco2_per_kwh\":"); at != std::string::npos)
                known.insert(std::strtod(line.c_str() + at + 24, nullptr));
    for (auto& line : content[key][0].lines) {
        auto sample = *json::parse(line, "line").value().as_object();
        auto const intensity = sample.number_at("intensity_gco2_per_kwh").value_or(0);
        if (known.contains(intensity)) continue;
        sample.set("intensity_gco2_per_kwh", intensity < 100 ? 1 : 101);  // in the same phase
        line = json::to_string(sample);
    }
    run_.publish(content, true);
    auto const forged = bill(run_).value();
    EXPECT_NE(forged.figures, clean.figures);
    EXPECT_EQ(forged.account.notes.size(), clean.account.notes.size());
    EXPECT_TRUE(forged.account.doubts.empty());
    EXPECT_NE(forged.account.run_digest, clean.account.run_digest);
    run_.publish(run_.content(), true);
    EXPECT_EQ(bill(run_).value().account.run_digest, clean.account.run_digest);
}

}  // namespace
}  // namespace curtail::account
