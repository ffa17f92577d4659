// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "trainer/job/small_training.hpp"

namespace curtail::trainer::test {

/// The parts behind train_site() on the leader, so that a test can use each of them.
class LeaderTraining : public SmallTraining {
  protected:
    void SetUp() override
    {
        SmallTraining::SetUp();
        ASSERT_TRUE(make_folder(site_folder()));
    }
    /// Makes the parts for the run as it is configured.
    void begin(SnapshotFiles const& files)
    {
        loader_.emplace(training_data());
        engine_.emplace(run_, *loader_, *ranks_, model::initial_parameters(run_.model, 1));
        site_ranks_.emplace(*engine_, *ranks_, stop_, files);
        permission_.emplace(permission::Requirement::never, site_folder(),
                            std::vector<std::filesystem::path>{}, run_.run, SiteId{"A"}, stop_,
                            log());
        fitting_rows_.emplace(site_folder(), run_, RowFacts{});
        recorder_.emplace(site_folder(), "A", "1", log());
    }
    [[nodiscard]] LeaderContext context(std::optional<std::string> training_id)
    {
        return {run_,
                run_.sites.at(0),
                *recorder_,
                *permission_,
                nullptr,
                start_timer_,
                *fitting_rows_,
                start_watch_,
                {Seconds{10}, {}},
                log(),
                site_folder(),
                {},
                {},
                std::move(training_id)};
    }

    std::unique_ptr<comm::Collectives> ranks_{comm::single_process()};
    StopSignal stop_;
    std::optional<data::Loader> loader_;
    std::optional<Engine> engine_;
    std::optional<SiteRanks> site_ranks_;
    std::optional<Recorder> recorder_;
    std::optional<PermissionGuard> permission_;
    StartTimer start_timer_;
    std::optional<FittingRows> fitting_rows_;
    std::optional<StartWatch> start_watch_;
};

}  // namespace curtail::trainer::test
