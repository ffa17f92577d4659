// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "rounds/site.hpp"
#include "simulator/signs.hpp"
#include "simulator/store.hpp"
#include "simulator/trainer.hpp"

namespace curtail::rounds::simulator {

/// One process of a site in the simulation, with the trainer and the checked invariants of this
/// process.
struct SimProcess {
    std::size_t site_index{};
    Process identity;
    Millis clock_offset{};
    Millis frozen_until{};
    Millis skew{};  ///< as Params::skew
    bool dead{false};
    bool stopping{false};
    bool stop_delivered{false};
    std::optional<StopRequested> stop;  ///< earliest times of the delivered requests
    State state{State::probe};          ///< after the last input
    MonoTime last_input{};
    Millis awake{};      ///< at the last input in a state that judges members: time since `resumed`
    MonoTime resumed{};  ///< end of the last suspension that was longer than Params::skew
    Round round{};       ///< round of the trainer's model
    MonoTime took_over{};                ///< when the trainer got this model
    Ranges carried;                      ///< work since the cut, when the trainer got this model
    Millis longest_round{};              ///< by the terms of all commits that the process has read
    std::optional<MonoTime> runs_since;  ///< has worked in the state `run` since then
    int nan_cuts{0};
    bool broken{false};  ///< no step gives a finite gradient any more
    int skips{0};        ///< steps in a row that were skipped
    Signs signs;
    std::unique_ptr<Site> machine;
    std::unique_ptr<SimTrainer> trainer;
    std::optional<Cut> cut;
    std::optional<std::pair<Adopt, Tickets>> adopt;
    std::deque<Input> inbox;  ///< inputs that arrived while the process was frozen
    std::optional<MonoTime> wake;
    std::set<std::string> read_back;  ///< names of own headers that the process has asked for
    std::map<std::string, bool> answered_missing;  ///< by name: the last get's answer was Missing
    std::map<std::string, Millis> refused_since;   ///< by name: first refusal since an answer
    /// By name: number of reads of a damaged header, and the time of the first.
    std::map<std::string, std::pair<int, Millis>> damaged_reads;

    /// Returns true if the newest commit that the process has read does not list its site.
    [[nodiscard]] bool is_retired() const
    {
        auto const& sites = machine->tip()->terms.sites;
        return std::find(sites.begin(), sites.end(), identity.site) == sites.end();
    }

    /// Checks that site and trainer agree on the work. `status` is that of the site.
    void check_against_trainer(Status const& status) const;

    /// Checks that the site removes a member only after a get of the member's next header. The last
    /// answer must be Missing, or the store must have refused these gets since `long_ago`, or six
    /// gets over 30 s until `now` must have given a damaged header. A stale answer counts, because
    /// a site cannot detect it.
    void check_removals(Create const& create, RecordDecoder const& decoder, Millis long_ago,
                        Millis now) const;

    /// Takes the time of an input.
    void observe(MonoTime now, Input const& input);

    /// Checks that a site that has reached the end of its round does not train on.
    void check_round(Status const& status, MonoTime now);

    /// Returns whether the end of the round makes the site cut: another site takes part in it.
    [[nodiscard]] bool may_cut(Status const& status) const;

    /// Checks that a site removes a member as silent only after a time in which it could have seen
    /// a sign of life.
    void check_silence(Commit const& commit) const;

    /// Checks that no transfer of a payload begins after the time of the stop request.
    void check_transfer(MonoTime now) const;

    /// Checks that a merge starts from the model and momentum of the newest commit that the process
    /// has read.
    void check_merge_base(Merge const& merge) const;
};

}  // namespace curtail::rounds::simulator
