// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rounds/messages.hpp"
#include "rounds/names.hpp"
#include "rounds/next.hpp"

namespace curtail::rounds {

/// The states of docs/rounds.md.
enum class State {
    probe,
    find,
    genesis,
    fold,
    join,
    base,
    run,
    cut,
    publish,
    lease,
    wait,
    gather,
    merge,
    lone,
    commit,
    adopt,
    exited
};
[[nodiscard]] char const* to_text(State state);

/// Identity of a site's process and the run it takes part in.
struct SiteConfig {
    Process process;  ///< each start draws its nonce at random
    RunSpec run;      ///< from this site's configuration; stored unless the store has a run.json,
                      ///< which must then be equal
    Rate rate{};      ///< measured by the site's earlier instance; 0: unknown
};

/// Current state of a site, for logs, status pages and tests.
struct Status {
    State state{State::probe};
    std::string waiting_for;         ///< for people
    std::optional<MemberId> member;  ///< set while in the member table
    CommitNumber tip;                ///< newest record read; 0: none yet
    Round round;
    Round base;  ///< of the trainer's model; 0: no model yet
    std::vector<MemberId> members;
    Ranges held;
    Ranges since;                   ///< trained since the last cut
    std::vector<Ranges> undecided;  ///< cut but not decided, by seq
    bool leaving{};
};

namespace site {
struct Parts;
}

/// State machine of one site's process in the round protocol: takes one input and returns the
/// outputs to carry out. Owns no thread, clock, file or socket. A value: a copy continues
/// independently from the same state.
///
/// Start with a Tick. `now` must not decrease.
class Site {
  public:
    explicit Site(SiteConfig config);
    Site(Site const& other);
    Site(Site&& other) noexcept;
    Site& operator=(Site const& other);
    Site& operator=(Site&& other) noexcept;
    ~Site();

    /// Throws std::logic_error if an answer does not match the open question or a Stepped reports
    /// blocks that the trainer had no order to train.
    [[nodiscard]] std::vector<Output> on(MonoTime now, Input const& input);
    /// Latest time of the next Tick; empty: only an answer can change the state.
    [[nodiscard]] std::optional<MonoTime> wake() const;
    [[nodiscard]] Status status() const;
    [[nodiscard]] Rate rate() const;  ///< measured; keep it for the site's next instance
    [[nodiscard]] bool exited() const;
    [[nodiscard]] std::optional<Commit> const& tip() const;  ///< newest record read

  private:
    std::unique_ptr<site::Parts> parts_;
};

}  // namespace curtail::rounds
