// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <vector>

#include "base/core/log.hpp"
#include "run/journal/stream_writer.hpp"

namespace curtail::journal {

/// The streams whose local files one kind of process writes.
enum class Source {
    poller,    ///< Stream::poller and Stream::signals
    trainer,   ///< Stream::trainer and Stream::metrics
    evaluator  ///< Stream::evaluation
};

/// Publishes the streams of one source of a site.
///
/// The streams have at most one publisher at a time, which holds a lock in the folder of their
/// local files. The lock saves requests; the streams stay correct without it.
class Publisher {
  public:
    /// How long a publisher holds the lock.
    enum class Hold {
        always,  ///< from the first publish() that takes it, for the life of the publisher
        briefly  ///< only during publish(), so that another process can take the streams over
    };

    /// Opens neither store nor files. `store` is the site's access to the run's store.
    Publisher(config::Run const& run, SiteId const& site, Source source, Hold hold,
              std::shared_ptr<store::ObjectStore> const& store, WriterOptions const& options,
              Log log);

    /// Publishes what the streams lack. Does nothing if another publisher holds the lock, or if the
    /// folder of the local files does not exist. Logs an error when it begins or changes, and when
    /// it has ended. A file beside the local file keeps the error, so that the next process does
    /// not log it again.
    ///
    /// Returns true if nothing is left to publish: the streams have all complete lines that the
    /// local files had when the call began, or another publisher serves them.
    bool publish(CallLimits const& call);

  private:
    struct Writer {
        StreamId id;
        StreamWriter writer;
        std::filesystem::path trouble_file;
        std::optional<std::string> trouble{};  ///< the error that was logged last, empty text: none
    };
    void report(Writer& writer, std::string const& trouble) const;

    std::filesystem::path folder_;
    Hold hold_;
    std::optional<FileLock> lock_;
    std::vector<Writer> writers_;
    Log log_;
};

/// Returns the path of the file that keeps the error of a stream's publisher. The file exists only
/// while there is an error.
[[nodiscard]] std::filesystem::path trouble_file(config::Run const& run, SiteId const& site,
                                                 Stream stream);

}  // namespace curtail::journal
