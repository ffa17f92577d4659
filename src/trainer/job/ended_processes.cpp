// SPDX-License-Identifier: Apache-2.0
#include "trainer/job/ended_processes.hpp"

#include <sys/stat.h>

#include <algorithm>

#include "base/core/files.hpp"
#include "base/core/json.hpp"

namespace curtail::trainer {
namespace {

// A member that has ended is listed in the newest commit only until others remove it.
constexpr std::size_t most_kept = 64;

// The inode of the folder's lock as text; empty if there is no lock.
std::string lock_of(std::filesystem::path const& folder)
{
    struct stat info = {};
    auto const path = folder / "lock";
    return ::lstat(path.c_str(), &info) == 0 ? std::to_string(info.st_ino) : std::string();
}

// The nonces in the order of the processes. Empty if the file does not fit the lock.
json::Array nonces_in(std::filesystem::path const& path, std::string const& lock)
{
    auto const file = json::parse_file(path, json::Dialect::strict, json::record_limits);
    auto const* object = file ? file->as_object() : nullptr;
    if (lock.empty() || object == nullptr || object->text_at("lock") != lock) return {};
    auto const* nonces = object->find("nonces");
    auto const* list = nonces != nullptr ? nonces->as_array() : nullptr;
    return list != nullptr ? *list : json::Array{};
}

}  // namespace

std::set<std::uint32_t> ended_processes(std::filesystem::path const& folder, std::uint32_t nonce,
                                        Log const& log)
{
    auto const path = folder / "processes.json";
    auto const lock = lock_of(folder);
    auto nonces = nonces_in(path, lock);
    std::set<std::uint32_t> ended;
    for (auto const& earlier : nonces)
        if (auto const* number = earlier.as_integer())
            ended.insert(static_cast<std::uint32_t>(*number));
    nonces.emplace_back(std::int64_t{nonce});
    if (nonces.size() > most_kept)
        nonces.erase(nonces.begin(), nonces.end() - static_cast<std::ptrdiff_t>(most_kept));
    json::Object const file{{"lock", lock}, {"nonces", std::move(nonces)}};
    if (auto written = write_file(path, json::to_pretty(file)); !written)
        log.warning(written.error().message() +
                    "; after an unexpected end, the site's next process joins later");
    return ended;
}

}  // namespace curtail::trainer
