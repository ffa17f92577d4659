// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "protocol/records/fixtures.hpp"
#include "protocol/records/terms.hpp"
#include "protocol/rules/check.hpp"
#include "protocol/rules/next.hpp"

namespace curtail::protocol::test {

/// Builds a chain with next(), with invented models, and checks each commit against its parent.
class Chain : public testing::Test {
  protected:
    Chain()
    {
        auto const run_digest = encode(run).sha256;
        auto const name = model_name({1}, member("A", 0), 1, "w0");
        tip = genesis(run, run_digest, {member("A", 0), 1}, now, part("w0", name));
        EXPECT_FALSE(check_genesis(run, run_digest, tip));
    }
    // Three equal sites of known rate, each doing 4 blocks per round: targets of 8.
    static RunSpec example_run()
    {
        auto run = small_run(40);
        run.params.round_time = Seconds{4};
        run.params.skew = Millis{1};
        return run;
    }
    std::optional<Commit> try_next(std::vector<KnownContribution> known,
                                   Intents const& intents = {})
    {
        now += Seconds{1};
        auto c = next(run, tip, encode(tip).sha256, {member("A", 2), 1}, now, known, intents);
        if (c && c->kind == Commit::Kind::merge) {
            c->model = {c->round, part("w0", model_name(c->round, member("A", 2), 1, "w0"))};
            if (c->outer_step)
                c->outer = OuterRef{Outer::Type::nesterov,
                                    part("m0", model_name(c->round, member("A", 2), 1, "m0"))};
        }
        return c;
    }
    void go(std::vector<KnownContribution> known, Intents const& intents = {})
    {
        auto c = try_next(std::move(known), intents);
        ASSERT_TRUE(c);
        auto const error = check(run, tip, encode(tip).sha256, *c);
        ASSERT_FALSE(error) << error->message();
        parent_ = tip;
        tip = *c;
    }
    void admit(std::string const& site, std::uint32_t nonce = 0xabcdef01, Rate rate = 1'000'000)
    {
        Intents intents;
        intents.admit = Admission{{{site}, nonce}, rate};
        go({}, intents);
    }
    KnownContribution contribution(MemberId const& id, std::int64_t seq, std::int64_t base,
                                   Ranges ranges, bool leaving = false) const
    {
        KnownContribution f;
        auto& h = f.header;
        h.run = run.run;
        h.member = id;
        h.seq = {seq};
        h.base_round = {base};
        h.ranges = std::move(ranges);
        h.leaving = leaving;
        h.tokens = h.ranges.count() * run.params.block_tokens;
        h.steps = h.ranges.count();
        if (!h.ranges.empty()) h.delta = {part("d0", delta_name({base}, id, {seq})), 1.0};
        f.sha256 = encode(h).sha256;
        return f;
    }
    /// A contribution of blocks that the member has skipped, without work.
    KnownContribution skips(MemberId const& id, std::int64_t seq, Ranges skipped) const
    {
        auto f = contribution(id, seq, tip.round.value, {});
        f.header.skipped = std::move(skipped);
        f.sha256 = encode(f.header).sha256;
        return f;
    }
    /// Takes in the amendment that follows the last one.
    void amend(Terms const& terms, bool zero_momentum = false)
    {
        Amendment a;
        a.run = run.run;
        a.number = tip.amended ? tip.amended->number + 1 : 1;
        a.base = tip.number;
        a.changes = changes(tip.terms, terms);
        a.zero_momentum = zero_momentum;
        Intents intents;
        intents.amend = NextAmendment{{a.number, encode(a).sha256}, a};
        go({}, intents);
    }
    Member const& at(MemberId const& id) const { return *tip.find(id); }
    std::string line() const
    {
        std::string text =
            "r" + std::to_string(tip.round.value) + " done " + tip.done.to_string() + " |";
        for (auto const& m : tip.members)
            text += " " + m.site.value + " " + std::to_string(m.seq.value) + " " +
                    m.held.to_string() +
                    (m.missed > 0 ? " missed " + std::to_string(m.missed) : "");
        return text;
    }

    RunSpec run{example_run()};
    Time now{from_unix_ms(1'700'000'000'000)};
    Commit tip;
    std::optional<Commit> parent_;  // of `tip`
};

}  // namespace curtail::protocol::test
