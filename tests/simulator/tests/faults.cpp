// SPDX-License-Identifier: Apache-2.0
// The simulator finds deliberate faults of the sites.
#include <gmock/gmock.h>

#include "core/files.hpp"
#include "simulator/campaign.hpp"
#include "support/paths.hpp"

namespace curtail::rounds::simulator {
namespace {

// A seed that shows the fault.
struct Known {
    Fault fault;
    std::uint64_t seed;
    Invariant invariant;
};

constexpr Known known[] = {
    {Fault::create_without_rebuild, 0, Invariant::commit},
    {Fault::free_blocks_of_suspects, 0, Invariant::commit},
    {Fault::decide_twice, 0, Invariant::commit},
    {Fault::overwrite_commits, 0, Invariant::commit},
    {Fault::forget_undecided, 2, Invariant::weights},
    {Fault::reuse_identity, 2, Invariant::decision},
    {Fault::extend_cut, 80, Invariant::pending},
    {Fault::delete_after_timeout, 6, Invariant::kept},
    {Fault::drop_without_record, 0, Invariant::commit},
    {Fault::remove_leaver_early, 10, Invariant::identity},
    {Fault::keep_refused_work, 4, Invariant::weights},
    {Fault::include_removed, 28, Invariant::commit},
    {Fault::join_twice, 0, Invariant::commit},
    {Fault::reuse_id, 0, Invariant::commit},
    {Fault::commit_stale_lone_model, 0, Invariant::commit},
    {Fault::never_suspect, 0, Invariant::progress},
    {Fault::skip_stale, 4, Invariant::progress},
    {Fault::merge_unweighted, 2, Invariant::model},
    {Fault::merge_without_momentum, 6, Invariant::model},
    {Fault::count_unanswered_time, 0, Invariant::removal},
    {Fault::remove_unreadable_at_once, 1, Invariant::removal},
    {Fault::transfer_after_deadline, 1, Invariant::leaving},
    {Fault::set_aside_at_first_skip, 1, Invariant::commit},
    {Fault::grant_skipped_again, 1, Invariant::commit},
    {Fault::obey_amendments_early, 75, Invariant::commit},
    {Fault::refuse_by_own_parameters, 23, Invariant::commit},
    {Fault::never_restore_header, 2, Invariant::decision},
    {Fault::write_no_status, 0, Invariant::removal},
    {Fault::reuse_merge_after_amendment, 614, Invariant::model},
    {Fault::train_after_leaving, 158, Invariant::exit},
    {Fault::never_restore_model, 0, Invariant::progress},
    {Fault::sweep_pending_deltas, 4, Invariant::pending},
    {Fault::restart_fork, 0, Invariant::model},
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
}  // namespace curtail::rounds::simulator
