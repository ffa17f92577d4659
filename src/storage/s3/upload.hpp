// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "storage/s3/bucket.hpp"

namespace curtail::s3 {

/// Stores one object in parts. Private to Bucket.
class Uploader {
  public:
    Uploader(Session& session, std::string const& key, Pieces const& bytes, TransferSizes sizes,
             CallLimits const& call);
    /// Begins an upload, sends all parts and completes the upload. If this fails, tries for up to
    /// ten seconds to abort the upload, also after a stop request.
    [[nodiscard]] Result<void> run();

  private:
    [[nodiscard]] Result<std::string> begin();
    [[nodiscard]] Result<void> send_parts(std::string const& upload);
    [[nodiscard]] Result<std::string> send_part(std::string const& upload, std::size_t part,
                                                CallLimits const& call);
    [[nodiscard]] Result<void> complete(std::string const& upload);
    /// Returns whether the object is the one of this upload: an earlier attempt to complete the
    /// upload succeeded, but its reply was lost.
    [[nodiscard]] bool is_stored();

    Session& session_;
    std::string const& key_;
    Pieces const& bytes_;
    TransferSizes sizes_;
    CallLimits const& call_;
    std::string what_;
    std::string mark_;  ///< metadata that only the object of this upload has
    std::size_t part_size_;
    std::vector<std::string> etags_;
};

/// See Bucket::abort().
[[nodiscard]] Result<void> abort_upload(Session& session, std::string const& key,
                                        std::string const& upload, CallLimits const& call);

}  // namespace curtail::s3
