// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "protocol/records/decoder.hpp"

namespace curtail::protocol::site {

/// The run's record, and the newest commit that this process has read and checked. That commit is
/// called the tip.
class KnownChain {
  public:
    explicit KnownChain(std::shared_ptr<RecordDecoder const> decoder) : decoder_(std::move(decoder))
    {
    }
    /// Returns the run by the terms in force: those of the tip, or without a tip of run.json.
    [[nodiscard]] RunSpec const& run() const { return run_; }
    [[nodiscard]] Digest const& run_sha256() const { return run_sha256_; }
    [[nodiscard]] std::optional<Commit> const& tip() const { return tip_; }
    [[nodiscard]] Digest const& tip_sha256() const { return tip_sha256_; }
    /// Returns the time, by the store's clock, of the commit that began the tip's round. Returns an
    /// empty optional until set_round_began() or advance() has set this time.
    [[nodiscard]] std::optional<Time> round_began() const { return round_began_; }

    void set_run(RunSpec run, Digest sha256);
    void set_round_began(Time time) { round_began_ = time; }

    /// Checks commit 1. If the commit is valid, makes it the tip and returns an empty optional. If
    /// not, returns an error with the code `protocol`. The functions below return the same values.
    [[nodiscard]] std::optional<Error> start(std::string const& bytes);
    /// Checks commit `number`, which is not commit 1. If the commit is valid, makes it the tip.
    /// `parent` are the bytes of commit `number` - 1.
    [[nodiscard]] std::optional<Error> start(CommitNumber number, std::string const& bytes,
                                             std::string const& parent);
    /// Checks the commit that follows the tip. If the commit is valid, makes it the tip.
    [[nodiscard]] std::optional<Error> advance(std::string const& bytes);
    /// Checks a commit that this process wants to create after the tip. Does not change the tip.
    [[nodiscard]] std::optional<Error> check_next(EncodedRecord const& encoded) const;

  private:
    [[nodiscard]] Result<Commit> read_next(std::string const& bytes) const;
    void set_tip(Commit commit, std::string const& bytes);

    std::shared_ptr<RecordDecoder const> decoder_;
    RunSpec run_;
    Digest run_sha256_;
    std::optional<Commit> tip_;
    Digest tip_sha256_;
    std::optional<Time> round_began_;
};

}  // namespace curtail::protocol::site
