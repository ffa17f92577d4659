// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "protocol/records/decoder.hpp"
#include "protocol/records/names.hpp"
#include "protocol/rules/next.hpp"
#include "protocol/site/messages.hpp"

namespace curtail::protocol {

/// The states of a site (docs/rounds.md).
enum class ProtocolState {
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
    repair,
    exited
};
[[nodiscard]] char const* to_text(ProtocolState state);

/// A process of a site, and the run in which the site takes part.
struct SiteConfig {
    Process process;
    /// The run as this site's configuration describes it. If the store has a run.json, difference()
    /// must find no difference between that file and `run`. If the store has none, the site stores
    /// `run`.
    RunSpec run;
    Rate rate{};  ///< as measured by the site's previous process; 0: unknown
    /// Process::nonce of earlier processes of the site that have certainly ended. A process that is
    /// not in this list may be running in another folder or on another machine.
    std::set<std::uint32_t> ended{};
    /// The greatest commit of which this site has a copy (KeepCommit). Empty: it has none.
    std::optional<CommitRef> seen{};
    std::shared_ptr<RecordDecoder const> decoder{std::make_shared<RecordDecoder>()};
};

/// The current state of a site, for logs, status pages and tests.
struct Status {
    ProtocolState state{ProtocolState::probe};
    std::string waiting_for;         ///< what the site waits for, as a noun phrase
    std::optional<MemberId> member;  ///< empty: this process is not a member
    CommitNumber tip;                ///< newest commit read; 0: none yet
    Round round;                     ///< round of the newest commit read
    Round base;                      ///< round of the trainer's model; 0: no model yet
    std::vector<MemberId> members;   ///< all members in the newest commit read
    Ranges held;                     ///< blocks that this member holds
    Ranges since;                    ///< blocks trained on since the last cut
    Ranges skipped;                  ///< blocks skipped since the last cut
    /// Blocks trained on or skipped in each undecided contribution, sorted by `seq`.
    std::vector<Ranges> undecided;
    bool leaving{};  ///< this member has begun to leave the run
};

namespace site {
struct Parts;
}

/// The state machine of one process in the round protocol. Each call of on() takes one input and
/// returns the outputs that the caller must carry out (protocol/site/messages.hpp). The class uses
/// no thread, clock, file or socket. A copy continues independently from the same state.
class Site {
  public:
    explicit Site(SiteConfig config);
    Site(Site const& other);
    Site(Site&& other) noexcept;
    Site& operator=(Site const& other);
    Site& operator=(Site&& other) noexcept;
    ~Site();

    /// Takes one input and returns the outputs, in order. The first input must be a Tick. `now`
    /// must not decrease from call to call. Throws std::logic_error if `input` answers another
    /// output than the one that waits for an answer. Throws std::logic_error also if Stepped
    /// reports blocks that the trainer was not ordered to train on.
    [[nodiscard]] std::vector<Output> on(MonoTime now, Input const& input);
    /// Returns the time by which the caller must send the next Tick. Returns an empty optional if
    /// no Tick is needed.
    [[nodiscard]] std::optional<MonoTime> wake() const;
    [[nodiscard]] Status status() const;
    [[nodiscard]] Rate rate() const;  ///< the SiteConfig::rate for the site's next process
    [[nodiscard]] bool exited() const;
    [[nodiscard]] std::optional<Commit> const& tip() const;  ///< newest commit read; empty: none

  private:
    std::unique_ptr<site::Parts> parts_;
};

}  // namespace curtail::protocol
