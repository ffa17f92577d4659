// SPDX-License-Identifier: Apache-2.0
#include "journal/cache.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "core/files.hpp"
#include "core/text.hpp"

namespace curtail::journal {
namespace {

namespace fs = std::filesystem;

std::string file_of(PieceNumber number, Digest const& digest)
{
    return fmt::format("{:08}-{}.jsonl", number.value, digest.hex().substr(0, 32));
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
                  std::string_view bytes) const
{
    if (folder_.empty()) return;
    auto const folder = folder_of(id);
    auto const path = folder / file_of(number, digest);
    auto const temporary = folder / fmt::format(".{}.{}.tmp", path.filename().string(), getpid());
    std::error_code error;
    fs::create_directories(folder, error);
    Fd const fd(
        open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644));
    if (!fd) return;
    if (write_all(fd.get(), bytes) == 0) fs::rename(temporary, path, error);
    else fs::remove(temporary, error);
}

PieceNumber Cache::newest(StreamId const& id) const
{
    std::int64_t newest = 0;
    std::error_code error;
    if (folder_.empty()) return {};
    for (auto const& entry : fs::directory_iterator(folder_of(id), error))
        newest = std::max(newest, leading_integer(entry.path().filename().string()).value_or(0));
    return {std::min(newest, last_piece.value)};
}

}  // namespace curtail::journal
