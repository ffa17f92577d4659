// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "protocol/records/record.hpp"
#include "run/config/run.hpp"
#include "run/journal/run_digest.hpp"
#include "storage/store/object_store.hpp"

namespace curtail::account::test {

/// The lines that one piece of a journal has, without its header.
struct PieceContent {
    std::vector<std::string> lines;
    Time written;  ///< real time
};
/// One stream of a site's journal.
using JournalContent = std::map<std::pair<SiteId, journal::Stream>, std::vector<PieceContent>>;

/// A finished run whose sites have published their logs: the synthetic run in a folder. Its commits
/// fix the pieces up to `fixing`, and closings name all.
class PublishedTestRun {
  public:
    /// Writes the run. Later, nothing of it is on this machine but its store.
    explicit PublishedTestRun(std::filesystem::path folder);

    [[nodiscard]] JournalContent const& content() const { return content_; }
    /// Returns how many pieces of a stream the commits fix.
    [[nodiscard]] std::size_t fixed(std::pair<SiteId, journal::Stream> const& stream) const;
    /// Publishes `content`, with all digests that a site's owner can compute: those of the pieces,
    /// and of the closings. With `forges_commits`, also those of the commits.
    void publish(JournalContent const& content, bool forges_commits = false);
    /// Writes `content` to the local files of a machine. The run then has never had a journal.
    void keep_local(JournalContent const& content);

    [[nodiscard]] std::filesystem::path run_file() const { return folder_ / "run.json"; }

  private:
    void evaluate() const;
    void cut_into_pieces();
    void write_commits();
    void put(std::string const& name, std::string const& bytes) const;

    std::filesystem::path folder_;
    config::Run run_;
    TimeScale clock_;
    std::vector<protocol::Commit> commits_;
    std::size_t fixing_{};  ///< how many commits name pieces
    JournalContent content_;
    std::unique_ptr<store::ObjectStore> store_;
    /// The heads of each stream's pieces, as published last.
    std::map<std::pair<SiteId, journal::Stream>, std::vector<protocol::JournalHead>> heads_;
};

}  // namespace curtail::account::test
