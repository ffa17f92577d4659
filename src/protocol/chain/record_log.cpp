// SPDX-License-Identifier: Apache-2.0
#include "protocol/chain/record_log.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <random>
#include <set>

#include "base/core/new_files.hpp"
#include "base/core/text.hpp"
#include "protocol/records/record.hpp"

namespace curtail::chain {
namespace {

constexpr std::string_view format = "curtail records 1 ";
constexpr std::size_t head_bytes = format.size() + 16 + 1;
constexpr std::int64_t longest_line = 400;  // name, size and digest of a record
constexpr std::int64_t most_bytes = protocol::record_bytes_limit;

bool is_head(std::string_view text)
{
    return text.size() == head_bytes && text.starts_with(format) && text.back() == '\n';
}

// The line before a record's bytes. Empty: it is no such line.
std::optional<LoggedRecord> parse_line(std::string_view line)
{
    auto const words = split(line, ' ');
    if (words.size() != 3 || words[0].empty()) return std::nullopt;
    auto const size = leading_integer(words[1]);
    auto const digest = Digest::from_hex(words[2]);
    if (!size || *size < 0 || *size > most_bytes || std::to_string(*size) != words[1] || !digest)
        return std::nullopt;
    return LoggedRecord{std::string(words[0]), *digest, 0, *size};
}

// Releases the lock of an open file.
class Unlock {
  public:
    explicit Unlock(int fd) : fd_(fd) {}
    ~Unlock() { flock(fd_, LOCK_UN); }
    Unlock(Unlock const&) = delete;
    Unlock& operator=(Unlock const&) = delete;

  private:
    int fd_;
};

int write_at(int fd, std::string_view bytes, std::int64_t offset)
{
    while (!bytes.empty()) {
        ssize_t const n = pwrite(fd, bytes.data(), bytes.size(), offset);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return errno;
        bytes.remove_prefix(static_cast<std::size_t>(n));
        offset += n;
    }
    return 0;
}

}  // namespace

tl::unexpected<Error> RecordLog::failure(char const* act, int error) const
{
    return fail(ExitCode::io, std::string("cannot ") + act + " " + path_.string(),
                errno_text(error));
}

Result<RecordLog> RecordLog::open(std::filesystem::path const& path, unsigned mode,
                                  std::int64_t size_limit)
{
    // Somebody may have put a link or a pipe in the file's place.
    Fd fd = open_or_create(path, O_RDWR | O_NONBLOCK | O_NOCTTY, mode);
    struct stat status {};
    if (!fd || fstat(fd.get(), &status) != 0)
        return fail(creation_code(errno), "cannot open " + path.string(), errno_text(errno));
    if (!S_ISREG(status.st_mode))
        return fail(ExitCode::cannot_create, "cannot open " + path.string(),
                    "it is not a regular file");
    RecordLog log(path, std::move(fd), size_limit);
    // A writer that was killed early may have left a part of the first line.
    auto const head = log.piece(0, head_bytes);
    bool const partial = head.size() < head_bytes;
    auto const known = std::min(head.size(), format.size());
    if (head.substr(0, known) != format.substr(0, known) || (!partial && !is_head(head)))
        return fail(ExitCode::data, "cannot use " + path.string(),
                    "it is not a cache of records of this version", "remove it");
    return log;
}

Result<std::int64_t> RecordLog::size() const
{
    struct stat status {};
    if (fstat(fd_.get(), &status) != 0) return failure("inspect", errno);
    return std::int64_t{status.st_size};
}

// Up to `most` bytes of the file; fewer at its end or after an error.
std::string RecordLog::piece(std::int64_t offset, std::int64_t most) const
{
    std::string bytes(static_cast<std::size_t>(most), '\0');
    std::size_t have = 0;
    while (have < bytes.size()) {
        ssize_t const n = pread(fd_.get(), bytes.data() + have, bytes.size() - have,
                                offset + static_cast<std::int64_t>(have));
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) break;
        have += static_cast<std::size_t>(n);
    }
    bytes.resize(have);
    return bytes;
}

std::optional<LoggedRecord> RecordLog::record_at(std::int64_t offset, std::int64_t size) const
{
    auto const text = piece(offset, std::min(longest_line, size - offset));
    auto const newline = text.find('\n');
    if (newline == text.npos) return std::nullopt;
    auto record = parse_line(std::string_view(text).substr(0, newline));
    if (!record) return std::nullopt;
    record->offset = offset + static_cast<std::int64_t>(newline) + 1;
    auto const last = record->offset + record->size;
    if (last >= size || piece(last, 1) != "\n") return std::nullopt;
    return record;
}

Result<RecordLog::News> RecordLog::read_news()
{
    News news;
    auto const size = this->size();
    if (!size) return tl::unexpected(size.error());
    auto head = piece(0, head_bytes);
    if (head != head_ || *size < end_) {
        news.emptied = end_ > 0;
        head_ = std::move(head);
        end_ = is_head(head_) ? static_cast<std::int64_t>(head_bytes) : 0;
    }
    // Another process may have emptied the file between the two readings.
    if (end_ == 0 || *size < end_) return news;
    while (auto record = record_at(end_, *size)) {
        end_ = record->offset + record->size + 1;
        news.records.push_back(std::move(*record));
    }
    return news;
}

Result<void> RecordLog::empty()
{
    // The random number tells a reader that the file is not the one that it knows.
    std::random_device device;
    head_ = fmt::format("{}{:08x}{:08x}\n", format, device(), device());
    end_ = 0;
    if (ftruncate(fd_.get(), 0) != 0) return failure("empty", errno);
    if (auto written = write(head_); !written) return written;
    end_ = static_cast<std::int64_t>(head_bytes);
    return {};
}

Result<void> RecordLog::write(std::string_view bytes)
{
    int const error = write_at(fd_.get(), bytes, end_);
    if (error == 0) return {};
    (void)!ftruncate(fd_.get(), end_);
    return failure("write", error);
}

Result<void> RecordLog::lock()
{
    if (flock(fd_.get(), LOCK_EX | LOCK_NB) == 0) return {};
    bool const busy = errno == EWOULDBLOCK;
    return fail(busy ? ExitCode::temporary : ExitCode::io, "cannot lock " + path_.string(),
                busy ? "another process writes to it" : errno_text(errno));
}

Result<RecordLog::News> RecordLog::append(std::vector<NewRecord> const& records)
{
    if (auto locked = lock(); !locked) return tl::unexpected(locked.error());
    Unlock const unlock(fd_.get());
    auto news = read_news();
    if (!news) return news;
    std::set<std::pair<std::string, Digest>> known;
    for (auto const& record : news->records) known.emplace(record.name, record.sha256);
    std::string bytes;
    std::vector<LoggedRecord> appended;
    for (auto const& record : records) {
        if (!known.emplace(record.name, record.sha256).second) continue;
        bytes += fmt::format("{} {} {}\n", record.name, record.bytes.size(), record.sha256.hex());
        appended.push_back({record.name, record.sha256, static_cast<std::int64_t>(bytes.size()),
                            static_cast<std::int64_t>(record.bytes.size())});
        bytes += record.bytes;
        bytes += '\n';
    }
    bool const full = end_ + static_cast<std::int64_t>(bytes.size()) > size_limit_;
    if (end_ == 0 || full) {
        if (auto emptied = empty(); !emptied) return tl::unexpected(emptied.error());
        if (full) news = News{true, {}};
    }
    // This overwrites an incomplete record of a killed writer.
    if (auto written = write(bytes); !written) return tl::unexpected(written.error());
    for (auto& record : appended) {
        record.offset += end_;
        news->records.push_back(std::move(record));
    }
    end_ += static_cast<std::int64_t>(bytes.size());
    return news;
}

Result<void> RecordLog::clear()
{
    if (auto locked = lock(); !locked) return locked;
    Unlock const unlock(fd_.get());
    return empty();
}

std::optional<std::string> RecordLog::read(LoggedRecord const& record) const
{
    auto bytes = piece(record.offset, record.size);
    if (static_cast<std::int64_t>(bytes.size()) != record.size) return std::nullopt;
    return bytes;
}

}  // namespace curtail::chain
