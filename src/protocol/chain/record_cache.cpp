// SPDX-License-Identifier: Apache-2.0
#include "protocol/chain/record_cache.hpp"

#include <algorithm>
#include <cstdlib>

#include "base/core/private_file.hpp"
#include "protocol/records/names.hpp"

namespace curtail::chain {
namespace {

// So a program that is killed loses little of what it has read.
constexpr std::size_t flush_bytes = std::size_t{4} << 20;

// The number in the name of a commit; 0 for any other name.
CommitNumber number_of(std::string const& name)
{
    constexpr std::string_view before = "commits/";
    if (!name.starts_with(before)) return {0};
    CommitNumber const number{std::strtoll(name.c_str() + before.size(), nullptr, 10)};
    return protocol::commit_name(number) == name ? number : CommitNumber{0};
}

}  // namespace

RecordCache::RecordCache(CacheSettings const& settings, store::Address const& address,
                         RunId const& run)
    : RecordCache(settings, sha256(address.url + "\n" + address.access.endpoint), run)
{
}

RecordCache::RecordCache(CacheSettings const& settings, Digest const& key, RunId const& run)
    : shared_(settings.shared), log_(settings.log), progress_(settings.progress)
{
    if (settings.folder.empty()) return;
    path_ = settings.folder / "records" / (run.value + "-" + key.hex().substr(0, 16));
    if (auto opened = open(); !opened) disable(opened.error());
}

Result<void> RecordCache::open()
{
    auto const folder = path_.parent_path();
    if (auto made = shared_ ? make_folder(folder) : ensure_private_folder(folder); !made)
        return made;
    auto opened = RecordLog::open(path_, shared_ ? 0666 : 0600);
    if (!opened) return tl::unexpected(opened.error());
    auto news = opened->read_news();
    if (!news) return tl::unexpected(news.error());
    file_ = std::move(*opened);
    take(std::move(*news));
    return {};
}

RecordCache::~RecordCache() { flush(); }

void RecordCache::disable(Error const& error)
{
    file_.reset();
    index_.clear();
    added_.clear();
    log_.warning("keeping no copies of the run's records: " + error.message() +
                 "; this costs time, and changes no result");
}

void RecordCache::take(RecordLog::News news)
{
    if (news.emptied) index_.clear();
    for (auto& record : news.records) {
        auto& copies = index_[record.name];
        copies.push_back(std::move(record));
    }
}

std::optional<std::string> RecordCache::read(LoggedRecord const& record)
{
    auto bytes = file_->read(record);
    if (bytes && sha256(*bytes) == record.sha256) return bytes;
    return std::nullopt;
}

std::optional<std::string> RecordCache::find(std::string const& name, Digest const& sha256)
{
    std::lock_guard const guard(mutex_);
    auto const found = index_.find(name);
    if (found == index_.end()) return std::nullopt;
    for (auto& copy : found->second) {
        if (copy.sha256 != sha256) continue;
        if (auto bytes = read(copy)) return bytes;
    }
    return std::nullopt;
}

std::optional<std::string> RecordCache::newest(std::string const& name)
{
    std::lock_guard const guard(mutex_);
    auto const found = index_.find(name);
    if (found == index_.end()) return std::nullopt;
    return read(found->second.back());
}

CommitNumber RecordCache::greatest_commit() const
{
    std::lock_guard const guard(mutex_);
    CommitNumber greatest{0};
    for (auto const& [name, copies] : index_) greatest = std::max(greatest, number_of(name));
    return greatest;
}

void RecordCache::add(std::string const& name, std::string bytes)
{
    auto const digest = sha256(bytes);
    if (find(name, digest)) return;
    std::lock_guard const guard(mutex_);
    if (!file_) return;
    added_bytes_ += bytes.size();
    added_.push_back({name, std::move(bytes), digest});
    if (added_bytes_ > flush_bytes) flush_locked();
}

void RecordCache::report(std::int64_t done, std::int64_t total)
{
    std::lock_guard const guard(mutex_);
    if (progress_) progress_(done, total);
}

void RecordCache::clear()
{
    std::lock_guard const guard(mutex_);
    index_.clear();
    added_.clear();
    added_bytes_ = 0;
    if (!file_) return;
    auto const cleared = file_->clear();
    if (!cleared && cleared.error().code != ExitCode::temporary) disable(cleared.error());
}

void RecordCache::flush()
{
    std::lock_guard const guard(mutex_);
    flush_locked();
}

void RecordCache::flush_locked()
{
    if (!file_ || added_.empty()) return;
    auto news = file_->append(added_);
    // While another process appends, the records wait for the next flush.
    if (!news && news.error().code == ExitCode::temporary) return;
    if (!news) return disable(news.error());
    take(std::move(*news));
    added_.clear();
    added_bytes_ = 0;
}

}  // namespace curtail::chain
