// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <memory>

#include "run/config/run.hpp"
#include "run/journal/reader.hpp"

namespace curtail::journal {

/// A log of a site: the stream in the store and, on a machine that has the site's local file, the
/// lines that the stream lacks. A site that has published nothing has the local file alone.
struct SiteLog {
    std::string text;
    std::size_t fixed{};         ///< as StreamContent::fixed
    std::int64_t pieces{};       ///< number of pieces in `text`
    bool reaches_local{false};   ///< `text` goes up to the end of the local file
    std::optional<Time> until;   ///< real time up to which the stream is complete; empty if unknown
    std::optional<Time> stored;  ///< when the newest piece was stored, by the store's clock
    std::optional<TimeScale> clock;     ///< the signal's clock of a replay
    std::vector<std::string> problems;  ///< texts for people: what is missing from `text`, and why
    bool lacks_lines{false};            ///< as StreamContent::lacks_lines

    /// Returns whether there are neither a stream nor a local file.
    [[nodiscard]] bool is_missing() const { return pieces == 0 && !reaches_local; }
};

/// Reads the logs of a run's sites. Thread-safe.
class LogReader {
  public:
    /// `run` must outlive the reader. `store` may be null: then only the local files are read.
    /// Keeps copies of pieces in the folder `cache` of the run's folder. A stream beyond `limits`
    /// is not read, and becomes a problem. `named` as for Reader.
    LogReader(config::Run const& run, std::shared_ptr<store::ObjectStore> store,
              ReadLimits limits = {}, RunNamedPieces named = {});

    /// Reads a whole log. Damage in the stream becomes a problem. Fails if the store or the local
    /// file cannot be read.
    [[nodiscard]] Result<SiteLog> read(SiteId const& site, Stream stream) const;

  private:
    [[nodiscard]] Result<SiteLog> with_tail(StreamContent content, SiteId const& site,
                                            Stream stream) const;

    config::Run const& run_;
    std::optional<Reader> reader_;
};

}  // namespace curtail::journal
