// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "protocol/site/site.hpp"
#include "simulator/header_reads.hpp"
#include "simulator/inclusion.hpp"
#include "simulator/saboteur.hpp"
#include "simulator/signs.hpp"
#include "simulator/store.hpp"
#include "simulator/trainer.hpp"

namespace curtail::protocol::simulator {

/// How long a process has been able to see signs of life of other members.
class Vigil {
  public:
    /// Takes the time of an input. A pause of more than `skew` was a suspension.
    void observe(MonoTime last, MonoTime now, Millis skew, ProtocolState state);
    [[nodiscard]] Millis awake() const { return awake_; }
    /// End of the last suspension.
    [[nodiscard]] MonoTime resumed() const { return resumed_; }

  private:
    Millis awake_{};  ///< at the last input in a state that judges members
    MonoTime resumed_{};
};

/// When the round of a process must end.
class RoundWatch {
  public:
    /// Takes the newest commit that the process has read.
    void read(Commit const& tip);
    /// Takes the round of the trainer's model, and the work since the cut.
    void observe(Round base, Ranges const& since, MonoTime now);
    /// Returns whether `since`, the work since the cut, has more than at the start of the round.
    [[nodiscard]] bool has_stepped(Ranges const& since) const;
    /// Takes whether the process waits for the end of the round with work of its own.
    void observe_work(bool works, MonoTime now);
    /// End of the round, for a process that works.
    [[nodiscard]] MonoTime end() const;

  private:
    Round round_{};                       ///< of the trainer's model
    MonoTime took_over_{};                ///< when the trainer got this model
    Ranges carried_;                      ///< work since the cut, when the trainer got this model
    Millis longest_{};                    ///< by the terms of all commits that the process has read
    std::optional<MonoTime> runs_since_;  ///< has worked since then
};

/// Defects of a process's hardware, and their effects.
struct Hardware {
    bool broken{false};  ///< no step gives a finite gradient any more
    int nan_cuts{0};
};

/// The work of a process, in tokens.
struct Ledger {
    Tokens trained{};
    Tokens lost{};        ///< as its notes say
    Tokens unanswered{};  ///< likewise
};

/// One process of a site in the simulation, with the trainer and the checked invariants of this
/// process.
struct SimProcess {
    std::size_t site_index{};
    int folder{};  ///< the folder of the site in which the process runs; it alone uses the folder
    Process identity;
    std::set<std::uint32_t> ended;  ///< SiteConfig::ended
    Millis clock_offset{};
    Millis frozen_until{};
    Millis skew{};  ///< as Params::skew
    bool dead{false};
    bool healthy{true};  ///< no fault has hit the process
    bool stopping{false};
    bool stop_delivered{false};
    std::optional<StopRequested> stop;          ///< earliest times of the delivered requests
    ProtocolState state{ProtocolState::probe};  ///< after the last input
    MonoTime last_input{};
    MonoTime last_answer{};  ///< to a question
    Vigil vigil;
    RoundWatch round_watch;
    Hardware hardware;
    Signs signs;
    HeaderReads header_reads;
    Ledger ledger;
    /// Records that the store may have created for the process, once for each try.
    std::multiset<std::string> open_records;
    OpenWork open_work;
    std::unique_ptr<Site> machine;
    std::unique_ptr<Saboteur> saboteur;  ///< all inputs and outputs of `machine` pass through it
    std::unique_ptr<SimTrainer> trainer;
    std::optional<Cut> cut;
    std::optional<std::pair<Adopt, Tickets>> adopt;
    std::deque<Input> inbox;  ///< inputs that arrived while the process was frozen
    std::optional<MonoTime> wake;

    /// Returns true if the newest commit that the process has read does not list its site.
    [[nodiscard]] bool is_retired() const
    {
        auto const& sites = machine->tip()->terms.sites;
        return std::find(sites.begin(), sites.end(), identity.site) == sites.end();
    }

    /// Returns whether the process may exit because the store has refused it access for `refused`.
    [[nodiscard]] bool may_give_up(Millis refused, Millis drop_after) const
    {
        return !machine->status().member || refused >= drop_after + skew;
    }

    /// Checks that site and trainer agree on the work. `status` is that of the site.
    void check_against_trainer(Status const& status) const;

    /// Checks that the site removes a member only after a get of the member's next header. For the
    /// times see HeaderReads::allow_removal().
    void check_removals(Create const& create, RecordDecoder const& decoder, Millis long_ago,
                        Millis now) const;

    /// Takes the time of an input.
    void observe(MonoTime now, Input const& input);

    /// Checks that a site that has reached the end of its round does not train on. `confused`: it
    /// may be reading an invalid commit again.
    void check_round(Status const& status, MonoTime now, bool confused);

    /// Returns whether the end of the round makes the site cut: another site takes part in it.
    [[nodiscard]] bool may_cut(Status const& status) const;

    /// Checks that a site removes a member as silent only after a time in which it could have seen
    /// a sign of life.
    void check_silence(Commit const& commit) const;

    /// Checks that a process that leaves has read its pending headers in `store` back.
    void check_leaving(SimStore const& store) const;

    /// Checks that all work is in a commit that the process has read, or announced to the next one,
    /// or lost as the process has said. Also calls check_losses().
    void check_account(SimStore const& store) const;
    /// Checks that no commit in `store` includes work of which the process has said that it is
    /// lost.
    void check_losses(SimStore const& store) const;

    /// Checks that no transfer of a payload begins after the time of the stop request.
    void check_transfer(MonoTime now) const;

    /// Checks that a merge starts from the model and momentum of the newest commit that the process
    /// has read.
    void check_merge_base(Merge const& merge) const;
};

}  // namespace curtail::protocol::simulator
