// SPDX-License-Identifier: Apache-2.0
#include "protocol/records/record.hpp"

#include <gmock/gmock.h>

#include <gtest/gtest.h>
#include <cmath>

#include "fixtures.hpp"
#include "protocol/records/names.hpp"
#include "protocol/records/terms.hpp"
#include "simulator/edited_record.hpp"

namespace curtail::protocol {
namespace {

using simulator::edited_record;
using test::small_run;
using testing::HasSubstr;

Commit a_commit()
{
    Commit c;
    c.run = {"test"};
    c.number = {8};
    c.parent = sha256("parent");
    c.kind = Commit::Kind::merge;
    c.round = {4};
    c.model = {{4}, test::part("w0", model_name({4}, test::member("B", 3), 2, "w0"))};
    c.outer = OuterRef{Outer::Type::nesterov,
                       test::part("m0", model_name({4}, test::member("B", 3), 2, "m0"))};
    c.totals = {{128}, 16};
    c.done = {{0, 14}, {16, 18}};
    c.members = {{test::member("A", 2),
                  {"A"},
                  {3},
                  {{19, 20}, {28, 34}},
                  2'500'000,
                  {1},
                  1,
                  from_unix_ms(1'700'000'000'123),
                  2}};
    c.decided = {
        {test::member("A", 2),
         {3},
         {},
         sha256("h"),
         {{16, 18}},
         {16},
         2,
         {{19, 20}},
         1,
         0.123F,
         0.5,
         false},
        {test::member("B", 3),
         {1},
         Refusal::stale,
         sha256("i"),
         {{8, 11}},
         {24},
         3,
         {},
         3,
         0,
         1.5,
         false},
        {test::member("B", 3), {2}, {}, {}, {{11, 14}}, {24}, 3, {}, 0, 0.25F, 0.25, true}};
    c.removed = {{test::member("C", 5), Removal::silent}};
    c.terms = terms_of(small_run());
    c.terms.budget = Tokens{256};
    c.amended = AmendmentRef{2, sha256("amendment")};
    c.aside = {{30, 31}};
    c.skips = {{{"A"}, 1, {{20, 22}}}, {{"A"}, 2, {{24, 25}}}, {{"B"}, 1, {{40, 41}}}};
    c.quarantine = {{{"C"}, from_unix_ms(1'700'000'060'000), Refusal::norm}};
    c.outer_step = true;
    c.norms = {0.5, 0.25};
    c.recent = {{{3}, {6}}, {{4}, {8}}};
    c.heads = {{{"A"}, {{"metrics", {7, sha256("7")}}, {"trainer", {9, sha256("9")}}}},
               {{"B"}, {{"poller", {1, sha256("1")}}}}};
    c.by = {test::member("B", 3), 2};
    c.time = from_unix_ms(1'700'000'001'000);
    return c;
}

Header a_header()
{
    Header h;
    h.run = {"test"};
    h.member = test::member("A", 2);
    h.seq = {3};
    h.base_round = {2};
    h.leaving = true;
    h.ranges = {{4, 8}};
    h.skipped = {{8, 10}};
    h.tokens = {32};
    h.steps = 4;
    h.delta = {test::part("d0", delta_name({2}, h.member, h.seq)), 0.75};
    h.rate = 1'000'000;
    h.heads = {{"metrics", {7, sha256("7")}}, {"trainer", {9, sha256("9")}}};
    h.time = from_unix_ms(5);
    return h;
}

Amendment an_amendment()
{
    Amendment a;
    a.run = {"test"};
    a.number = 3;
    a.previous = sha256("second");
    a.base = {7};
    a.changes = {{"params.gather_time_ms", 3000, 2000}, {"sites.D", nullptr, true}};
    a.zero_momentum = true;
    a.reason = "a new owner joins";
    a.time = from_unix_ms(7);
    return a;
}

TEST(Record, EncodesAndDecodesToTheSameValue)
{
    auto const run = small_run();
    auto const run_bytes = encode(run).bytes;
    ASSERT_TRUE(decode_run(run_bytes)) << decode_run(run_bytes).error().message();
    EXPECT_EQ(*decode_run(run_bytes), run);

    auto const commit = a_commit();
    auto const bytes = encode(commit);
    auto const read = decode_commit(bytes.bytes, commit_name({8}));
    ASSERT_TRUE(read) << read.error().message();
    EXPECT_EQ(*read, commit);
    EXPECT_EQ(encode(*read).bytes, bytes.bytes);
    EXPECT_EQ(bytes.sha256, sha256(bytes.bytes));

    auto const header = a_header();
    EXPECT_EQ(*decode_header(encode(header).bytes, header_name(header.member, {3})), header);
    auto const amendment = an_amendment();
    EXPECT_EQ(*decode_amendment(encode(amendment).bytes, amendment_name(3)), amendment);
    RepairRequest const request{{4}, 2, {"B"}, {"w0", "m0"}, from_unix_ms(9)};
    EXPECT_EQ(*decode_repair(encode(request).bytes, repair_name({4}, 2)), request);
    SiteStatus const status{test::member("A", 2), {7}, from_unix_ms(9)};
    EXPECT_EQ(*decode_status(encode(status).bytes, status_name({"A"})), status);
    EXPECT_FALSE(decode_status(encode(status).bytes, status_name({"B"})));
    Lease const lease{header.member, 2, Millis{5'000}, from_unix_ms(9)};
    EXPECT_EQ(*decode_lease(encode(lease).bytes, lease_name({4}, 2)), lease);
}

TEST(Record, AnyFlippedBitIsDetected)
{
    std::vector<std::pair<std::string, std::function<bool(std::string const&)>>> const records{
        {encode(small_run()).bytes, [](std::string const& b) { return decode_run(b).has_value(); }},
        {encode(a_commit()).bytes,
         [](std::string const& b) { return decode_commit(b, commit_name({8})).has_value(); }},
        {encode(an_amendment()).bytes,
         [](std::string const& b) { return decode_amendment(b, amendment_name(3)).has_value(); }},
        {encode(a_header()).bytes, [](std::string const& b) {
             return decode_header(b, header_name(a_header().member, {3})).has_value();
         }}};
    for (auto const& [bytes, good] : records) {
        ASSERT_TRUE(good(bytes));
        for (std::size_t i = 0; i < bytes.size(); ++i)
            for (int bit = 0; bit < 8; ++bit) {
                auto broken = bytes;
                broken[i] = static_cast<char>(broken[i] ^ (1 << bit));
                ASSERT_FALSE(good(broken)) << "byte " << i << " bit " << bit << " of " << bytes;
            }
        EXPECT_FALSE(good(bytes + " "));
        EXPECT_FALSE(good(bytes.substr(0, bytes.size() - 1)));
    }
}

TEST(Record, UnderAnotherNameIsRefused)
{
    auto const bytes = encode(a_commit()).bytes;
    auto const read = decode_commit(bytes, commit_name({9}));
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().code, ExitCode::protocol);
    EXPECT_THAT(read.error().message(), HasSubstr("belongs under commits/00000008.json"));
    EXPECT_FALSE(decode_header(encode(a_header()).bytes, header_name(a_header().member, {4})));
}

// The record with another format and the digest that fits it. In format 1, a digest left out `sig`.
std::string with_format(std::string const& bytes, int format)
{
    auto object = *json::parse(bytes, "t")->as_object();
    object.set("format", format);
    object.erase("self");
    object.set("self", sha256(json::canonical(object)).hex());
    if (format == 1) object.set("sig", nullptr);
    return json::canonical(object);
}

std::string with_damaged_format(EncodedRecord const& record)
{
    auto bytes = record.bytes;
    bytes.at(bytes.find("\"format\":4") + 9) = '2';
    return bytes;
}

TEST(Record, WhoseFormatHasADamagedDigitIsDamaged)
{
    auto const header = a_header();
    auto const run = decode_run(with_damaged_format(encode(small_run())));
    auto const commit = decode_commit(with_damaged_format(encode(a_commit())), commit_name({8}));
    auto const contribution =
        decode_header(with_damaged_format(encode(header)), header_name(header.member, header.seq));
    ASSERT_FALSE(run || commit || contribution);
    for (auto const& error : {run.error(), commit.error(), contribution.error()}) {
        EXPECT_EQ(error.code, ExitCode::protocol);
        EXPECT_THAT(error.message(), HasSubstr("its bytes have changed"));
    }
}

TEST(Record, OfAnotherFormatIsRefusedEvenWithACorrectDigest)
{
    for (int const format : {1, 2, 3, 5}) {
        auto const in_format = [&](EncodedRecord const& record) {
            return with_format(record.bytes, format);
        };
        auto const header = a_header();
        auto const run = decode_run(in_format(encode(small_run())));
        auto const commit = decode_commit(in_format(encode(a_commit())), commit_name({8}));
        auto const contribution =
            decode_header(in_format(encode(header)), header_name(header.member, header.seq));
        ASSERT_FALSE(run || commit || contribution);
        for (auto const& error : {run.error(), commit.error(), contribution.error()}) {
            EXPECT_EQ(error.code, ExitCode::data);
            EXPECT_THAT(error.message(), HasSubstr("it has format " + std::to_string(format)));
            EXPECT_THAT(error.message(), HasSubstr("reads format 4 only"));
            EXPECT_THAT(error.message(), HasSubstr("the version that started it"));
        }
    }
}

TEST(Record, WithAnotherValueForAConstantIsRefused)
{
    auto const commit = encode(a_commit()).bytes;
    for (auto const& [old, text, key] :
         {std::tuple{R"("plan":null)", R"("plan":{})", "plan"},
          {R"("mpi":null)", R"("mpi":"tcp://10.0.0.1:4711")", "mpi"},
          {R"("part":"w0")", R"("part":"w1")", "part"},
          {R"("part":"m0")", R"("part":"w0")", "part"},
          {R"("outer":{"kind":"nesterov","parts":[{)",
           R"("outer":{"kind":"nesterov","parts":[{"bytes":1,"name":"x","part":"m0","sha256":")"
           "0000000000000000000000000000000000000000000000000000000000000000\"},{",
           "parts"}}) {
        auto const read = decode_commit(edited_record(commit, old, text), commit_name({8}));
        ASSERT_FALSE(read) << text;
        EXPECT_EQ(read.error().code, ExitCode::protocol);
        EXPECT_THAT(read.error().message(), HasSubstr(key));
    }
    auto const header = encode(a_header()).bytes;
    auto const name = header_name(a_header().member, a_header().seq);
    for (auto const& [old, text, key] :
         {std::tuple{R"("mpi":false)", R"("mpi":true)", "mpi"},
          {R"("part":"d0")", R"("part":"d1")", "part"},
          {R"("nonfinite":0,"part")", R"("nonfinite":1,"part")", "nonfinite"}}) {
        auto const read = decode_header(edited_record(header, old, text), name);
        ASSERT_FALSE(read) << text;
        EXPECT_EQ(read.error().code, ExitCode::protocol);
        EXPECT_THAT(read.error().message(), HasSubstr(key));
    }
    auto const run = encode(small_run()).bytes;
    for (auto const* text : {R"("parts":[])", R"("parts":[{"name":"1","tensors":["wte","head"]}])",
                             R"("parts":[{"name":"0","tensors":["wte"]},)"
                             R"({"name":"0","tensors":["head"]}])"}) {
        auto const read = decode_run(
            edited_record(run, R"("parts":[{"name":"0","tensors":["wte","head"]}])", text));
        ASSERT_FALSE(read) << text;
        EXPECT_THAT(read.error().message(), HasSubstr("parts"));
    }
}

TEST(Record, LongerThanTheLimitIsRefused)
{
    std::string const long_text(record_bytes_limit + 1, ' ');
    EXPECT_THAT(decode_commit(long_text, commit_name({1})).error().message(),
                HasSubstr("longer than"));
}

TEST(Record, ExactNumbersKeepTheirBits)
{
    for (double const v : {0.0, 1.0, 0.1, 1e300, 5e-324}) EXPECT_EQ(double_from_exact(exact(v)), v);
    EXPECT_EQ(float_from_exact(exact(0.1F)), 0.1F);
    EXPECT_FALSE(double_from_exact("3ff"));
    EXPECT_FALSE(double_from_exact("3FF0000000000000"));
}

TEST(Record, ATokenBudgetIsAnOptionalField)
{
    auto run = small_run();
    EXPECT_THAT(encode(run).bytes, HasSubstr(R"("tokens":null)"));
    run.budget = Tokens{300};
    auto const bytes = encode(run).bytes;
    EXPECT_THAT(bytes, HasSubstr(R"("tokens":300)"));
    auto const read = decode_run(bytes);
    ASSERT_TRUE(read) << read.error().message();
    EXPECT_EQ(*read, run);
}

TEST(Record, ATokenBudgetEndsTheStreamAtAWholeBlock)
{
    auto run = small_run(40);
    EXPECT_EQ(run.stream_blocks(), 40);
    for (auto const& [tokens, blocks] :
         {std::pair{1, 1}, {8, 1}, {9, 2}, {80, 10}, {81, 11}, {320, 40}}) {
        run.budget = Tokens{tokens};
        EXPECT_EQ(run.stream_blocks(), blocks) << tokens;
    }
    run.params.block_tokens = Tokens{2'048};
    run.budget = Tokens{300'000};
    EXPECT_EQ(run.stream_blocks(), 147);
}

TEST(Record, ATokenBudgetOutsideTheDataIsRefused)
{
    auto run = small_run(40);
    for (std::int64_t const tokens :
         {std::int64_t{-1}, std::int64_t{0}, std::int64_t{321}, std::int64_t{1} << 53}) {
        run.budget = Tokens{tokens};
        auto const read = encode_if_valid(run);
        ASSERT_FALSE(read) << tokens;
        EXPECT_EQ(read.error().code, ExitCode::protocol);
        EXPECT_THAT(read.error().message(), HasSubstr("tokens"));
    }
}

// Whoever may write amendments/ could set these values.
TEST(Record, NoAmendmentHasAValueThatARunFileRefuses)
{
    auto const refused = [](std::string const& term, json::Value value) {
        auto a = an_amendment();
        a.changes = {{term, "former", std::move(value)}};
        auto const read = encode_if_valid(a);
        if (read) return std::string("accepted");
        EXPECT_EQ(read.error().code, ExitCode::protocol);
        return read.error().message();
    };
    Params const params;
    each_param(params, [&](ParamKey const& key, auto const&) {
        auto const term = std::string("params.") + key.record;
        for (auto const value : {key.least - 1, key.most + 1, std::int64_t{-1}})
            EXPECT_THAT(refused(term, value), HasSubstr("amendments/3.json")) << term << value;
        EXPECT_EQ(refused(term, key.least), "accepted") << term;
        EXPECT_EQ(refused(term, key.most), "accepted") << term;
        EXPECT_THAT(refused(term, "text"), HasSubstr(key.record));
        EXPECT_THAT(refused(term, nullptr), HasSubstr(key.record));
    });
    for (double const eta : {0.0, -1.0, 10.1, std::nan(""), HUGE_VAL})
        EXPECT_THAT(refused("outer.eta", exact(eta)), HasSubstr("outer.eta")) << eta;
    for (double const mu : {1.0, -0.1, std::nan("")})
        EXPECT_THAT(refused("outer.mu", exact(mu)), HasSubstr("outer.mu")) << mu;
    EXPECT_THAT(refused("outer.kind", "other"), HasSubstr("outer.kind"));
    for (std::int64_t const tokens : {std::int64_t{0}, std::int64_t{-1}, max_integer + 1})
        EXPECT_THAT(refused("tokens", tokens), HasSubstr("tokens"));
    EXPECT_THAT(refused("sites.D", false), HasSubstr("sites.D"));
    EXPECT_THAT(refused("sites.a/b", true), HasSubstr("sites"));
    EXPECT_THAT(refused("params.unknown", 1), HasSubstr("unknown"));
    EXPECT_THAT(refused("params", 1), HasSubstr("params"));
    EXPECT_THAT(refused("block_tokens", 1), HasSubstr("block_tokens"));
}

TEST(Record, NoRunHasAValueThatARunFileRefuses)
{
    auto const refused = [](auto const& change) {
        auto run = small_run();
        change(run);
        return !encode_if_valid(run);
    };
    EXPECT_FALSE(refused([](RunSpec&) {}));
    Params const params;
    each_param(params, [&](ParamKey const& wanted, auto const&) {
        for (auto const value : {wanted.least - 1, wanted.most + 1})
            EXPECT_TRUE(refused([&](RunSpec& run) {
                each_param(run.params, [&](ParamKey const& key, auto& field) {
                    if (std::string_view(key.record) == wanted.record)
                        field = std::decay_t<decltype(field)>{value};
                });
            })) << wanted.record
                << value;
    });
    EXPECT_TRUE(refused([](RunSpec& run) { run.params.drop_after = Seconds{5}; }));
    EXPECT_TRUE(refused([](RunSpec& run) { run.sites.clear(); }));
    EXPECT_TRUE(refused([](RunSpec& run) { run.seed = -1; }));
    EXPECT_TRUE(refused([](RunSpec& run) { run.epochs = max_epochs + 1; }));
    EXPECT_TRUE(refused([](RunSpec& run) { run.optimizer.schedule = Tokens{0}; }));
    EXPECT_TRUE(refused([](RunSpec& run) { run.optimizer.batch_tokens = Tokens{0}; }));
    EXPECT_TRUE(refused([](RunSpec& run) { run.optimizer.lr_scale = 0; }));
    EXPECT_TRUE(refused([](RunSpec& run) { run.optimizer.warmdown = 1.1; }));
    EXPECT_TRUE(refused([](RunSpec& run) { run.optimizer.final_lr = std::nan(""); }));
    EXPECT_TRUE(refused([](RunSpec& run) { run.outer.eta = 0; }));
}

TEST(Record, AScheduleThatFollowsTheBudgetIsNoDifference)
{
    auto stored = small_run();
    auto ours = stored;
    stored.budget = Tokens{300};
    ours.budget = Tokens{200};
    EXPECT_FALSE(difference(stored, ours));
    EXPECT_EQ(stored.schedule(), Tokens{300});
    EXPECT_EQ(small_run(40).schedule(), Tokens{320}) << "without a budget, all epochs";
    ours.optimizer.schedule = Tokens{300};
    EXPECT_THAT(difference(stored, ours)->message(),
                HasSubstr("optimizer.schedule_tokens is absent in the store's run.json and 300 in "
                          "this site's configuration"));
    ours = stored;
    ours.optimizer.lr_scale = 0.5;
    EXPECT_THAT(difference(stored, ours)->message(),
                HasSubstr("optimizer.lr_scale is 1 in the store's run.json and 0.5 in"));
}

TEST(Record, ADifferentConfigurationIsReportedByItsKey)
{
    auto const run = small_run();
    auto other = run;
    EXPECT_FALSE(difference(run, other));
    other.sites = {{"A"}};
    EXPECT_FALSE(difference(run, other));
    other.params.round_time = Seconds{4};
    other.budget = Tokens{80};
    EXPECT_FALSE(difference(run, other)) << "amendments can change the terms";
    other.seed = 2;
    other.budget.reset();
    EXPECT_THAT(difference(run, other)->message(), HasSubstr("seed"));
    EXPECT_EQ(difference(run, other)->code, ExitCode::config);
}

// A reader that refuses what a writer makes would lose the work that the record names.
TEST(Record, ThatNoReaderWouldAcceptIsNotMade)
{
    Ranges even;
    for (std::int64_t n = 0; n < 257; ++n) even += {{2 * n, 2 * n + 1}};
    auto header = a_header();
    header.ranges = even;
    header.tokens = {1'000'000};
    EXPECT_THROW((void)encode(header), std::logic_error);
    header = a_header();
    header.skipped = even;
    EXPECT_THROW((void)encode(header), std::logic_error);
    header = a_header();
    header.steps = header.tokens.value + 1;
    EXPECT_THROW((void)encode(header), std::logic_error);

    auto commit = a_commit();
    commit.decided[0].scale = 2;
    EXPECT_THROW((void)encode(commit), std::logic_error);
    commit = a_commit();
    EXPECT_THROW((void)encode(commit, {.members = 0}), std::logic_error);
    EXPECT_THROW((void)encode(commit, {.bytes = 500}), std::logic_error);
    auto const refused = encode_if_valid(commit, {.bytes = 500});
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message(), HasSubstr("longer than 500 bytes"));

    auto amendment = an_amendment();
    amendment.reason = std::string(text_limit + 1, 'x');
    EXPECT_FALSE(encode_if_valid(amendment));
    auto run = small_run();
    run.tensors.assign(100'000, "a name of a tensor");
    EXPECT_FALSE(encode_if_valid(run));
}

// The lists without decisions never fill a commit. So a merge can always decide something.
TEST(Record, ACommitWithFullListsLeavesSpaceForDecisions)
{
    RecordLimits const limits;
    auto const far = std::int64_t{1} << 40;
    auto const gaps = [&](std::size_t count) {
        json::Array list;
        for (std::size_t i = 0; i < count; ++i) {
            auto const begin = far + 2 * static_cast<std::int64_t>(i);
            list.emplace_back(json::Array{begin, begin + 1});
        }
        return ranges_from_json(list, "list").value();
    };
    auto commit = a_commit();
    commit.done = gaps(ranges_limit);
    commit.aside = gaps(limits.aside_ranges);
    commit.skips = {{{"A"}, 1, gaps(limits.skipped_ranges)}};
    commit.members.clear();
    for (std::int64_t i = 0; i < 100; ++i) {
        std::string const site = "a-name-of-a-site-" + std::to_string(1000 + i);
        Member m;
        m.id = test::member(site, 1'000'000);
        m.site = {site};
        m.held = gaps(limits.held_ranges / 100);
        m.rate = far;
        m.since_round = {far};
        commit.members.push_back(std::move(m));
    }
    EXPECT_LT(encode(commit).bytes.size(), record_bytes_limit * 7 / 10);
}

}  // namespace
}  // namespace curtail::protocol
