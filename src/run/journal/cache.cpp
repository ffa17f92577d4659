// SPDX-License-Identifier: Apache-2.0
#include "run/journal/cache.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>

#include "base/core/files.hpp"
#include "base/core/new_files.hpp"
#include "base/core/text.hpp"

namespace curtail::journal {
namespace {

namespace fs = std::filesystem;

std::string file_of(PieceNumber number, Digest const& digest)
{
    return fmt::format("{:08}-{}.jsonl", number.value, digest.hex().substr(0, 32));
}

// Sets the time of a file. 1970 stands for an unknown time.
bool set_time(int fd, std::optional<Time> time)
{
    std::array<timespec, 2> times{};
    times[0].tv_nsec = UTIME_OMIT;
    if (time) times[1].tv_sec = to_unix_ms(*time) / 1000;
    return futimens(fd, times.data()) == 0;
}

std::optional<Time> time_of(fs::path const& file)
{
    struct stat status {};
    if (stat(file.c_str(), &status) != 0 || status.st_mtim.tv_sec == 0) return std::nullopt;
    return from_unix_ms(std::int64_t{status.st_mtim.tv_sec} * 1000);
}

}  // namespace

fs::path Cache::folder_of(StreamId const& id) const
{
    return folder_ / id.run.value / id.site.value / name(id.stream);
}

std::optional<std::string> Cache::find(StreamId const& id, PieceNumber number,
                                       Digest const& digest) const
{
    if (folder_.empty()) return std::nullopt;
    auto content =
        read_file_if_exists(folder_of(id) / file_of(number, digest), header_limit + content_limit);
    if (!content || !*content || sha256(**content) != digest) return std::nullopt;
    return std::move(**content);
}

// Not synced to disk: a copy that a crash damages has a wrong digest.
void Cache::store(StreamId const& id, PieceNumber number, Digest const& digest,
                  std::string_view bytes, std::optional<Time> stored) const
{
    if (folder_.empty()) return;
    auto const folder = folder_of(id);
    auto const path = folder / file_of(number, digest);
    auto const temporary = folder / fmt::format(".{}.{}.tmp", path.filename().string(), getpid());
    std::error_code error;
    fs::remove(temporary, error);  // of an earlier process with this number
    if (!make_folder(folder)) return;
    Fd const fd = open_new(temporary, O_WRONLY, 0666);
    if (!fd) return;
    if (write_all(fd.get(), bytes) == 0 && set_time(fd.get(), stored))
        fs::rename(temporary, path, error);
    else fs::remove(temporary, error);
}

Cache::Newest Cache::newest(StreamId const& id) const
{
    Newest newest;
    fs::path file;
    std::error_code error;
    if (folder_.empty()) return newest;
    for (auto const& entry : fs::directory_iterator(folder_of(id), error)) {
        PieceNumber const number{leading_integer(entry.path().filename().string()).value_or(0)};
        if (number <= newest.number || number > last_piece) continue;
        newest.number = number;
        file = entry.path();
    }
    if (newest.number.value > 0) newest.stored = time_of(file);
    return newest;
}

}  // namespace curtail::journal
