// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "storage/s3/answers.hpp"
#include "storage/s3/session.hpp"

namespace curtail::s3 {

/// What a server knows about an object without its content.
struct ObjectHead {
    Bytes size;
    Time modified;     ///< to the second, by the server's clock
    std::string etag;  ///< identifies the content; with its quotes
};

/// What Bucket::create() did.
enum class Creation {
    created,  ///< this call created the object
    exists,   ///< an object of this key existed already, or another caller created it first
    unknown   ///< no reply, or an error of the server: the object may exist now or later
};

/// How objects are cut for transfers.
struct TransferSizes {
    /// An object that is larger than this is stored in parts, and read in several ranges at a time.
    Bytes single_limit{std::int64_t{64} << 20};
    /// Size of a part or range. S3 requires at least 5 MiB, and more if there are over 10,000.
    Bytes part{std::int64_t{32} << 20};
    int parallel{4};  ///< parts or ranges at a time
};

/// The objects of one location. All keys are relative to the location's prefix. Thread-safe.
///
/// The functions fail with
/// - `permission` if the server rejects the credentials or denies access;
/// - `unavailable` if the bucket does not exist, or if the status is 404 without the reason of an
/// S3
///   server (see is_answer());
/// - `io` if the storage is full, or if data arrive damaged again and again;
/// - `temporary` if the server does not answer, or answers with errors, five times in a row; or if
///   the operation was cancelled;
/// - `config` or `protocol` if the server is no S3 server, or that of another region.
class Bucket {
  public:
    explicit Bucket(std::shared_ptr<Session> session, TransferSizes sizes = {});

    /// Stores an object unless one of this key exists (If-None-Match: *). Sends the request once,
    /// over a new connection. Repeats it only if the server has rejected the signature, i.e. has
    /// stored nothing. Fails only if it certainly stored nothing. A proxy may still repeat a
    /// request: then this returns `exists`, although this call created the object. So a caller that
    /// gets `exists` or `unknown` must read the object back.
    [[nodiscard]] Result<Creation> create(std::string const& key, Pieces const& bytes,
                                          CallLimits const& call = {});
    /// Stores an object, and replaces an existing one. Large objects are stored in parts, several
    /// at a time; if that fails, tries to abort the upload. The server checks the SHA-256 of the
    /// object or of each part.
    [[nodiscard]] Result<void> put(std::string const& key, Pieces const& bytes,
                                   CallLimits const& call = {});
    /// Returns an empty optional if the object does not exist.
    [[nodiscard]] Result<std::optional<ObjectHead>> head(std::string const& key,
                                                         CallLimits const& call = {});
    /// Receives one piece of an object. `whole` is the size of the whole object.
    using Sink = std::function<void(std::span<std::byte const> piece, Bytes whole)>;
    /// Reads an object and passes its content to `sink` in consecutive pieces, in the thread of the
    /// caller. Reads a large object in several ranges at a time, and holds as many parts in memory.
    /// After a broken connection, goes on where it broke off. Returns false if the object does not
    /// exist. Fails with `data` if the object has more than `limit` bytes. In both cases, does not
    /// call `sink`. Fails with `temporary` if the object is replaced or removed while it is read.
    [[nodiscard]] Result<bool> get(std::string const& key, Bytes limit, Sink const& sink,
                                   CallLimits const& call = {});
    /// Removes an object. Succeeds also if the object does not exist.
    [[nodiscard]] Result<void> remove(std::string const& key, CallLimits const& call = {});

    /// Lists objects whose keys begin with `prefix`, in the order of their keys. `token` is empty
    /// for the first page, and ListPage::next of the page before for another one. The keys in the
    /// page are complete.
    [[nodiscard]] Result<ListPage> list(std::string const& prefix, std::string const& token,
                                        CallLimits const& call = {});
    /// Lists objects in the same way, but only those whose keys are greater than `after`, which is
    /// relative to the location's prefix. The pages after the first are those of list().
    [[nodiscard]] Result<ListPage> list_after(std::string const& prefix, std::string const& after,
                                              CallLimits const& call = {});
    /// Lists uploads that have neither completed nor been aborted. `page` is empty for the first
    /// page.
    [[nodiscard]] Result<UploadPage> list_uploads(std::string const& prefix, UploadPage const& page,
                                                  CallLimits const& call = {});
    /// Aborts an upload of `key`, and frees its parts. Succeeds also if it does not exist.
    [[nodiscard]] Result<void> abort(std::string const& key, std::string const& upload,
                                     CallLimits const& call = {});
    /// Returns whether the bucket has versioning, or had it once. In such a bucket, some servers
    /// ignore If-None-Match.
    [[nodiscard]] Result<bool> has_versioning(CallLimits const& call = {});

    [[nodiscard]] Session& session() const { return *session_; }

  private:
    /// Lists a page with one more parameter, unless its `value` is empty.
    [[nodiscard]] Result<ListPage> list_page(std::string const& prefix,
                                             std::string const& parameter, std::string const& value,
                                             CallLimits const& call);
    /// Does what head() does, with a GET of one byte. Fails with `temporary` if the object exists
    /// and is empty.
    [[nodiscard]] Result<std::optional<ObjectHead>> head_by_get(std::string const& key,
                                                                CallLimits const& call);
    std::shared_ptr<Session> session_;
    TransferSizes sizes_;
};

}  // namespace curtail::s3
