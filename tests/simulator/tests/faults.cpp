// SPDX-License-Identifier: Apache-2.0
// The simulator finds deliberate faults of the sites.
#include <gmock/gmock.h>

#include <algorithm>

#include "base/core/files.hpp"
#include "simulator/campaign.hpp"
#include "support/paths.hpp"

namespace curtail::protocol::simulator {
namespace {

// A seed that shows the fault.
struct Known {
    Fault fault;
    Invariant invariant;
    std::uint64_t seed;
};

constexpr Known known[] = {
    {Fault::create_without_rebuild, Invariant::commit, 0},
    {Fault::free_blocks_of_suspects, Invariant::commit, 0},
    {Fault::decide_twice, Invariant::commit, 0},
    {Fault::overwrite_commits, Invariant::exit, 0},
    {Fault::forget_undecided, Invariant::weights, 2},
    {Fault::reuse_identity, Invariant::decision, 1},
    {Fault::extend_cut, Invariant::pending, 265},
    {Fault::delete_after_timeout, Invariant::kept, 5},
    {Fault::drop_without_record, Invariant::commit, 0},
    {Fault::remove_leaver_early, Invariant::identity, 10},
    {Fault::keep_refused_work, Invariant::weights, 0},
    {Fault::include_removed, Invariant::commit, 5},
    {Fault::join_twice, Invariant::commit, 0},
    {Fault::reuse_id, Invariant::commit, 0},
    {Fault::commit_stale_lone_model, Invariant::commit, 0},
    {Fault::never_suspect, Invariant::progress, 0},
    {Fault::skip_stale, Invariant::removal, 0},
    {Fault::merge_unweighted, Invariant::model, 0},
    {Fault::merge_without_momentum, Invariant::model, 1},
    {Fault::count_unanswered_time, Invariant::removal, 7},
    {Fault::remove_unreadable_at_once, Invariant::removal, 3},
    {Fault::transfer_after_deadline, Invariant::leaving, 47},
    {Fault::set_aside_at_first_skip, Invariant::commit, 1},
    {Fault::grant_skipped_again, Invariant::commit, 1},
    {Fault::obey_amendments_early, Invariant::commit, 59},
    {Fault::refuse_by_own_parameters, Invariant::commit, 5},
    {Fault::never_restore_header, Invariant::decision, 0},
    {Fault::write_no_status, Invariant::removal, 0},
    {Fault::reuse_merge_after_amendment, Invariant::model, 231},
    {Fault::train_after_leaving, Invariant::weights, 69},
    {Fault::never_restore_model, Invariant::progress, 5},
    {Fault::ignore_amendments, Invariant::terms, 3},
    {Fault::train_beyond_round, Invariant::round, 2},
    {Fault::exit_in_outage, Invariant::exit, 0},
    {Fault::take_answers_twice, Invariant::contract, 0},
    {Fault::fold_at_first_look, Invariant::removal, 3},
    {Fault::sweep_pending_deltas, Invariant::pending, 1},
    {Fault::restart_fork, Invariant::model, 0},
    {Fault::lose_in_silence, Invariant::account, 1},
    {Fault::announce_late, Invariant::included, 2},
    {Fault::merge_unclipped, Invariant::model, 1},
    {Fault::clip_without_record, Invariant::commit, 1},
};
static_assert(std::size(known) == fault_count);

TEST(Faults, AreEachFoundByAnInvariant)
{
    for (auto const& k : known) {
        // After a change of the protocol, a later seed may be the first one that shows the fault.
        constexpr std::int64_t limit = 100'000;
        auto const detection = detect(k.fault, k.seed, limit);
        ASSERT_TRUE(detection.failure) << row(k.fault).name;
        EXPECT_STREQ(to_text(detection.failure->invariant), to_text(k.invariant))
            << row(k.fault).name << ": " << detection.failure->text;
        EXPECT_FALSE(detection.failure->trace.empty()) << row(k.fault).name;
    }
}

TEST(Faults, ShowEachInvariant)
{
    for (int i = 0; i < invariant_count; ++i) {
        auto const invariant = static_cast<Invariant>(i);
        EXPECT_TRUE(
            std::ranges::any_of(known, [&](auto const& k) { return k.invariant == invariant; }))
            << "no fault breaks " << to_text(invariant);
    }
}

TEST(Faults, AreTheReasonForWhatIsFound)
{
    for (auto const& k : known) {
        auto const outcome =
            run_campaign({.first = k.seed, .last = k.seed, .steps = 1}, [](std::int64_t) {});
        EXPECT_TRUE(outcome->failures.empty()) << "seed " << k.seed;
    }
}

TEST(Faults, AreInTheDocumentation)
{
    auto const page = read_file(curtail::test::source_folder() / "docs/simulator.md").value();
    for (auto const& k : known)
        EXPECT_THAT(page,
                    testing::HasSubstr(std::string("| `") + row(k.fault).name + "` | " +
                                       row(k.fault).what + " | `" + to_text(k.invariant) + "` |"));
}

TEST(Faults, HaveARowEach)
{
    for (int i = 0; i < fault_count; ++i)
        EXPECT_EQ(row(static_cast<Fault>(i)).fault, static_cast<Fault>(i));
}

}  // namespace
}  // namespace curtail::protocol::simulator
