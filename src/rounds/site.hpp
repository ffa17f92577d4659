#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "rounds/messages.hpp"
#include "rounds/names.hpp"
#include "rounds/next.hpp"

namespace curtail::rounds {

/// States of docs/rounds.md.
enum class State { probe, find, genesis, fold, join, base, run, cut, publish, lease, wait, gather, merge, lone, commit, adopt, exited };
[[nodiscard]] char const* to_text(State state);

/// Who takes part, and in what.
struct SiteConfig {
    Process process;  ///< its nonce drawn at random by each start
    RunSpec run;      ///< as this site's configuration has it; must be in the store or becomes it
    Rate rate{};      ///< of the site's earlier life, 0 if not known
};

/// What a site is doing, for logs, status pages and tests.
struct Status {
    State state{State::probe};
    std::string waiting_for;         ///< in words, with the reason
    std::optional<MemberId> member;  ///< while in the table
    CommitNumber tip;                ///< newest record read, 0 before
    Round round;
    Round base;  ///< whose model the trainer has, 0 if none
    std::vector<MemberId> members;
    Ranges held;
    Ranges since;                   ///< trained since the last cut
    std::vector<Ranges> undecided;  ///< cut and not decided, by seq
    bool leaving{};
};

/// One process of one site in the round protocol: takes one thing that happened and returns what to do. Owns no thread, clock, file or
/// socket. A value: a copy goes on by itself from the same state.
///
/// Begin with a Tick. `now` must not run backwards.
class Site {
  public:
    explicit Site(SiteConfig config);
    /// Throws std::logic_error if an answer does not fit the open question.
    [[nodiscard]] std::vector<Output> on(MonoTime now, Input const& input);
    /// When the next Tick is due at the latest; nothing: only an answer can help.
    [[nodiscard]] std::optional<MonoTime> wake() const { return wake_; }
    [[nodiscard]] Status status() const;
    [[nodiscard]] Rate rate() const;  ///< measured, to be remembered for the site's next life
    [[nodiscard]] bool exited() const { return phase_ == Phase::exited; }
    [[nodiscard]] std::optional<Commit> const& tip() const { return tip_; }  ///< newest record read

  private:
    enum class Phase {
        probe_create,
        probe_again,
        run_get,
        run_create,
        find_commit,
        find_parent,
        find_round,
        find_headers,
        genesis_store,
        genesis_create,
        fold,
        join_headers,
        join_create,
        join_read,
        base_wait,
        base_poll,
        base_load,
        base_forward,
        base_leave,
        run,
        run_poll,
        run_look,
        run_garbage,
        cut,
        publish_store,
        publish_header,
        lease_create,
        lease_read,
        wait,
        wait_poll,
        gather_headers,
        gather_pause,
        gather_poll,
        merge,
        lone_store,
        commit_create,
        commit_read,
        adopt_forward,
        adopt_apply,
        exited
    };
    Phase phase_{Phase::probe_create};
    std::optional<Commit> tip_;
    std::optional<MonoTime> wake_;
};

}  // namespace curtail::rounds
