// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/core/ids.hpp"
#include "base/core/log.hpp"
#include "protocol/chain/record_log.hpp"
#include "storage/store/address.hpp"

namespace curtail::chain {

/// Where a program keeps copies of the records that it reads, and whom it tells about it.
struct CacheSettings {
    std::filesystem::path folder{};  ///< created if it is missing; empty: no cache
    Log log{};                       ///< receives one warning per run if the cache does not work
    /// Receives how many of the commits that the cache lacks have been read from the store. May be
    /// called by several threads, but only by one at a time.
    std::function<void(std::int64_t done, std::int64_t total)> progress{};
    /// The folder and its files have the rights that the umask gives, so that several users may
    /// train a site in turn. Otherwise they are the user's own.
    bool shared{false};
};

/// Copies of the immutable records of one run, on this machine (docs/formats-cache.md,
/// docs/adr/0015-cache-of-records.md).
///
/// The caller states which digest the bytes must have, and takes this digest from a record that it
/// has read from the store. So a cache can be damaged, old, or that of another run, and still
/// changes no result. If it does not work, find() finds nothing.
///
/// Thread-safe. Any number of processes may use the same folder.
class RecordCache {
  public:
    /// Opens the cache of run `run` with the key `key`. Never fails: a cache that cannot be opened
    /// is empty, and `settings.log` receives the reason.
    RecordCache(CacheSettings const& settings, Digest const& key, RunId const& run);
    /// Opens the cache of the run in the store at `address`.
    RecordCache(CacheSettings const& settings, store::Address const& address, RunId const& run);
    ~RecordCache();
    RecordCache(RecordCache const&) = delete;
    RecordCache& operator=(RecordCache const&) = delete;

    /// Returns the record with this name and digest.
    [[nodiscard]] std::optional<std::string> find(std::string const& name, Digest const& sha256);
    /// Returns the bytes of the copy of `name` that was added last, whatever their digest. The
    /// caller must compare it.
    [[nodiscard]] std::optional<std::string> newest(std::string const& name);
    /// Returns the greatest number of a commit in the cache; 0 if there is none.
    [[nodiscard]] CommitNumber greatest_commit() const;
    /// Adds a record that was read from the store under `name`, unless the cache has it.
    void add(std::string const& name, std::string bytes);
    /// Calls CacheSettings::progress.
    void report(std::int64_t done, std::int64_t total);
    /// Removes all records, also from the disk.
    void clear();
    /// Writes the added records to the disk. The destructor does so too.
    void flush();

  private:
    [[nodiscard]] std::optional<std::string> read(LoggedRecord const& record);
    [[nodiscard]] Result<void> open();
    void take(RecordLog::News news);
    void disable(Error const& error);
    void flush_locked();

    std::filesystem::path path_;
    bool shared_;
    Log log_;
    std::function<void(std::int64_t done, std::int64_t total)> progress_;
    mutable std::mutex mutex_;
    std::optional<RecordLog> file_;                           ///< empty: the cache does not work
    std::map<std::string, std::vector<LoggedRecord>> index_;  ///< by name, in the order of the file
    std::vector<NewRecord> added_;                            ///< not yet on the disk
    std::size_t added_bytes_{0};
};

}  // namespace curtail::chain
