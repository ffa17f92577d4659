// SPDX-License-Identifier: Apache-2.0
// Records of the first format: a stored run (tests/chain/format1), and records made from it.
#include <gmock/gmock.h>

#include <stdexcept>

#include "chain.hpp"
#include "core/files.hpp"
#include "rounds/any_format.hpp"
#include "rounds/refusal.hpp"
#include "rounds/terms.hpp"
#include "support/paths.hpp"

namespace curtail::rounds {
namespace {

using testing::HasSubstr;

constexpr int commits = 10;
std::string const leaving_header = "contrib/B.0b26cde8.6/2.json";
std::string const working_header = "contrib/B.0b26cde8.6/1.json";

std::string stored(std::string const& name)
{
    return read_file(curtail::test::source_path("tests/chain/format1/runs/first/" + name), 1 << 20)
        .value();
}

std::string newest() { return commit_name({commits}); }

// The record with a change, and with the digest that fits it.
template <class Change>
std::string changed(std::string const& name, Change change)
{
    auto object = *json::parse(stored(name), name)->as_object();
    object.erase("self");
    object.erase("sig");
    change(object);
    auto const self = sha256(json::canonical(object)).hex();
    object.set("self", self).set("sig", nullptr);
    return json::canonical(object);
}

// Changes the object at `key`, or the first object in the list at `key`.
template <class Change>
void change_inner(json::Object& object, char const* key, Change change)
{
    auto value = *object.find(key);
    if (auto const* list = value.as_array()) {
        auto copy = *list;
        change(*copy.at(0).as_object());
        value = std::move(copy);
    } else {
        change(*value.as_object());
    }
    object.set(key, std::move(value));
}

TEST(Format1, RunJsonBecomesARunWithTerms)
{
    auto const run = decode_any_run(stored("run.json"));
    ASSERT_TRUE(run) << run.error().message();
    EXPECT_EQ(run->format, first_format);
    EXPECT_EQ(run->run, RunId{"first"});
    EXPECT_EQ(run->sites, (std::vector<SiteId>{{"A"}, {"B"}}));
    EXPECT_EQ(run->outer.type, Outer::Type::nesterov);
    EXPECT_EQ(run->outer.mu, 0.9);
    EXPECT_EQ(run->params.block_tokens, Tokens{128});
    EXPECT_EQ(run->params.drop_after, Millis{3000});
    EXPECT_EQ(run->params.sweep_after, Params{}.sweep_after) << "unknown to format 1";
    EXPECT_EQ(run->parts.at(0).tensors.size(), 10U);
    EXPECT_EQ(run->stream_blocks(), 168'000);
    EXPECT_FALSE(run->budget);
    EXPECT_FALSE(run->fork);
}

TEST(Format1, ARunMayHaveABudget)
{
    auto const bytes = changed("run.json", [](json::Object& o) {
        o.set("training", json::Object{{"tokens", 12'800}});
    });
    auto const run = decode_any_run(bytes);
    ASSERT_TRUE(run) << run.error().message();
    EXPECT_EQ(run->budget, Tokens{12'800});
    EXPECT_EQ(run->stream_blocks(), 100);
}

TEST(Format1, EachCommitFollowsFromTheOneBefore)
{
    auto const run = decode_any_run(stored("run.json")).value();
    std::optional<Commit> parent;
    auto parent_sha256 = sha256(stored("run.json"));
    for (std::int64_t number = 1; number <= commits; ++number) {
        auto const name = commit_name({number});
        auto commit = decode_any_commit(stored(name), name);
        ASSERT_TRUE(commit) << commit.error().message();
        state_terms(run, *commit);
        auto const error = parent ? check(run, *parent, parent_sha256, *commit)
                                  : check_genesis(run, parent_sha256, *commit);
        ASSERT_FALSE(error) << error->message();
        parent = *commit;
        parent_sha256 = sha256(stored(name));
    }
    EXPECT_EQ(parent->format, first_format);
    EXPECT_EQ(parent->round, Round{6});
    EXPECT_EQ(parent->totals, (Totals{{82'944}, 82}));
    EXPECT_EQ(parent->norms.size(), 6U);
    EXPECT_EQ(parent->terms, terms_of(run));
    EXPECT_TRUE(parent->outer && parent->aside.empty() && parent->quarantine.empty());
}

TEST(Format1, HeadersAreRead)
{
    auto const work = decode_any_header(stored(working_header), working_header);
    ASSERT_TRUE(work) << work.error().message();
    EXPECT_EQ(work->tokens, Tokens{12'800});
    EXPECT_EQ(work->parts.size(), 1U);
    EXPECT_TRUE(work->skipped.empty());
    auto const last = decode_any_header(stored(leaving_header), leaving_header);
    ASSERT_TRUE(last) << last.error().message();
    EXPECT_TRUE(last->leaving);
}

TEST(Format1, RecordsOfTheCurrentFormatAreReadToo)
{
    auto const run = test::small_run();
    EXPECT_EQ(decode_any_run(encode(run).bytes).value(), run);
}

// Why a commit is refused. The code is `protocol`.
std::string why_not(std::string const& bytes)
{
    auto const commit = decode_any_commit(bytes, newest());
    if (commit) return "";
    EXPECT_EQ(commit.error().code, ExitCode::protocol) << commit.error().message();
    return commit.error().message();
}

TEST(Format1, DamagedCommitsAreRefused)
{
    auto const bytes = stored(newest());
    auto flipped = bytes;
    flipped[bytes.find("82944")] = '9';
    EXPECT_THAT(why_not(flipped), HasSubstr("its bytes have changed"));
    EXPECT_THAT(why_not(bytes.substr(0, bytes.size() / 2)), HasSubstr("refused record"));
    auto signed_by_somebody = bytes;
    signed_by_somebody.replace(bytes.find("\"sig\":null"), 10, "\"sig\":1234");
    EXPECT_THAT(why_not(signed_by_somebody), HasSubstr("sig must be null"));
    auto object = *json::parse(bytes, newest())->as_object();
    object.erase("self");
    EXPECT_THAT(why_not(json::canonical(object)), HasSubstr("its bytes have changed"));
    EXPECT_FALSE(decode_any_commit(bytes, commit_name({9}))) << "another name";
}

TEST(Format1, CommitsWithOtherKeysAreRefused)
{
    struct Case {
        char const* why;
        void (*change)(json::Object&);
    };
    Case const cases[] = {
        {"colour", [](json::Object& o) { o.set("colour", 1); }},
        {"amended", [](json::Object& o) { o.set("amended", nullptr); }},
        {"plan", [](json::Object& o) { o.set("plan", json::Object{}); }},
        {"quarantine",
         [](json::Object& o) {
             o.set("quarantine",
                   json::Array{json::Object{{"site", "A"}, {"until", 1}, {"reason", "nan"}}});
         }},
        {"aside",
         [](json::Object& o) {
             change_inner(o, "data", [](json::Object& d) { d.set("aside", json::Array{}); });
         }},
        {"mpi",
         [](json::Object& o) {
             change_inner(o, "members", [](json::Object& m) { m.set("mpi", "x"); });
         }},
        {"refused",
         [](json::Object& o) {
             change_inner(o, "members", [](json::Object& m) { m.set("refused", 0); });
         }},
        {"reason",
         [](json::Object& o) {
             change_inner(o, "decided", [](json::Object& d) {
                 d.set("outcome", "refused").set("reason", "norm");
             });
         }},
        {"reason",
         [](json::Object& o) {
             o.set("removed", json::Array{json::Object{{"member", "A.2d801166.2"},
                                                       {"reason", "quarantined"}}});
         }},
    };
    for (auto const& [why, change] : cases)
        EXPECT_THAT(why_not(changed(newest(), change)), HasSubstr(why));
}

TEST(Format1, RunsWithOtherKeysAreRefused)
{
    for (auto const* key : {"colour", "terms", "fork"}) {
        auto const run = decode_any_run(
            changed("run.json", [&](json::Object& o) { o.set(key, json::Object{}); }));
        ASSERT_FALSE(run);
        EXPECT_THAT(run.error().message(), HasSubstr(key));
    }
    EXPECT_FALSE(decode_any_run(changed("run.json", [](json::Object& o) {
        change_inner(o, "sites", [](json::Object& site) { site.set("key", "secret"); });
    })));
    EXPECT_FALSE(decode_any_run(changed("run.json", [](json::Object& o) {
        o.set("training", json::Object{{"tokens", 12'800}, {"steps", 1}});
    })));
}

TEST(Format1, WritersRefuseItAndNameFork)
{
    auto const commit = decode_commit(stored(newest()), newest());
    auto const run = decode_run(stored("run.json"));
    auto const header = decode_header(stored(working_header), working_header);
    ASSERT_FALSE(commit || run || header);
    for (auto const& error : {commit.error(), run.error(), header.error()}) {
        EXPECT_EQ(error.code, ExitCode::data);
        EXPECT_THAT(error.message(), HasSubstr("it has format 1"));
        EXPECT_THAT(error.message(), HasSubstr("curtail-store fork"));
    }
    auto const refused = cannot_write(decode_any_run(stored("run.json")).value(), "cannot sweep");
    ASSERT_TRUE(refused);
    EXPECT_THAT(refused->message(), HasSubstr("curtail-store fork"));
    EXPECT_FALSE(cannot_write(test::small_run(), "cannot sweep"));
}

TEST(Format1, CannotBeWritten)
{
    EXPECT_THROW((void)encode(decode_any_run(stored("run.json")).value()), std::logic_error);
    EXPECT_THROW((void)encode(decode_any_commit(stored(newest()), newest()).value()),
                 std::logic_error);
}

TEST(Format3, IsRefusedByAllReaders)
{
    for (auto const& bytes : {changed(newest(), [](json::Object& o) { o.set("format", 3); }),
                              std::string(R"({"format":3})")}) {
        auto const commit = decode_any_commit(bytes, newest());
        ASSERT_FALSE(commit);
        EXPECT_THAT(commit.error().message(), HasSubstr("refused record"));
    }
    auto const commit = decode_any_commit(R"({"format":3})", newest());
    EXPECT_EQ(commit.error().code, ExitCode::data);
    EXPECT_THAT(commit.error().message(), HasSubstr("reads formats 1 and 2 only"));
}

// Commits by the rules of format 1, which differ from the current ones.
class Format1Rules : public test::Chain {
  protected:
    Format1Rules()
    {
        admit("A");
        first_run.format = first_format;
    }
    // Checks the newest commit as one of format 1.
    [[nodiscard]] std::optional<Error> check_first(Commit child) const
    {
        auto parent = tip;
        parent.format = child.format = first_format;
        return check(first_run, parent, child.parent, child);
    }
    RunSpec first_run{run};
    MemberId const a{test::member("A", 2)};
};

TEST_F(Format1Rules, RefusalsHaveNoConsequences)
{
    auto found = contribution(a, 1, 1, at(a).held.lowest(1));
    found.bad = Refusal::nan;
    auto child = try_next({found});
    ASSERT_TRUE(child);
    EXPECT_TRUE(check_first(*child)) << "the commit counts the refusal";
    child->members.at(0).refused = 0;
    EXPECT_FALSE(check_first(*child));
    EXPECT_TRUE(check(run, tip, child->parent, *child)) << "the current format counts it";
}

TEST_F(Format1Rules, EachContributionHasTheWeightOfItsOwnTokens)
{
    auto one = contribution(a, 1, 1, at(a).held.lowest(1));
    auto three = contribution(a, 2, 1, at(a).held.lowest(4) - at(a).held.lowest(1));
    auto child = try_next({one, three});
    ASSERT_TRUE(child);
    EXPECT_EQ(child->decided.at(0).scale, 1.0F) << "that of all tokens of the member";
    EXPECT_TRUE(check_first(*child));
    child->decided.at(0).scale = 0.25F;
    child->decided.at(1).scale = 0.75F;
    EXPECT_FALSE(check_first(*child));
}

TEST_F(Format1Rules, DeltasMayHaveAnyLength)
{
    tip.norms.assign(8, 1.0);
    auto found = contribution(a, 1, 1, at(a).held.lowest(1));
    found.header.parts.at(0).sumsq = 1e6;
    EXPECT_EQ(refusal(run, tip, at(a).held, found.header), Refusal::norm);
    EXPECT_FALSE(refusal(first_run, tip, at(a).held, found.header));
}

TEST_F(Format1Rules, ARunHasOneFormatOnly)
{
    auto const child = try_next({contribution(a, 1, 1, at(a).held.lowest(1))});
    auto parent = tip;
    parent.format = first_format;
    auto const error = check(first_run, parent, child->parent, *child);
    ASSERT_TRUE(error);
    EXPECT_THAT(error->message(), HasSubstr("must have the format of run.json"));
}

}  // namespace
}  // namespace curtail::rounds
