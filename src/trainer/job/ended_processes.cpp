// SPDX-License-Identifier: Apache-2.0
#include "trainer/job/ended_processes.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "base/core/files.hpp"
#include "base/core/json.hpp"
#include "base/process/identity.hpp"

namespace curtail::trainer {
namespace {

// A member that has ended is listed in the newest commit only until others remove it.
constexpr std::size_t most_kept = 64;

// Identifies the folder's lock; empty if there is none.
std::string lock_of(std::filesystem::path const& folder)
{
    struct stat info = {};
    auto const path = folder / "lock";
    if (::lstat(path.c_str(), &info) != 0) return {};
    return std::to_string(info.st_dev) + ":" + std::to_string(info.st_ino);
}

json::Object entry_of(std::uint32_t nonce, std::string const& lock)
{
    auto const process = process::this_process();
    return {{"nonce", std::int64_t{nonce}},
            {"lock", lock},
            {"boot", process.boot},
            {"processes", process::process_namespace()},
            {"pid", std::int64_t{process.pid}},
            {"started", static_cast<std::int64_t>(process.started)}};
}

// Returns false if this machine cannot tell whether the process still runs. A process of another
// boot may run on another machine: the name of a host is no proof, because containers and copied
// machines have the same one.
bool has_ended(json::Object const& entry, json::Object const& own)
{
    if (entry.text_at("boot") != own.text_at("boot")) return false;
    auto const* pid = entry.find("pid");
    auto const* started = entry.find("started");
    auto const* pid_number = pid != nullptr ? pid->as_integer() : nullptr;
    auto const* start_number = started != nullptr ? started->as_integer() : nullptr;
    auto const place = own.text_at("processes");
    bool const visible = !place.empty() && entry.text_at("processes") == place;
    if (!visible || pid_number == nullptr || start_number == nullptr ||
        !std::in_range<pid_t>(*pid_number))
        return false;
    return !process::is_running({static_cast<pid_t>(*pid_number),
                                 static_cast<std::uint64_t>(*start_number),
                                 std::string(own.text_at("boot"))});
}

// The entries in the order of the processes; none of those that another lock protects.
json::Array entries_in(std::filesystem::path const& path, std::string const& lock)
{
    auto const file = json::parse_file(path, json::Dialect::strict, json::record_limits);
    auto const* object = file ? file->as_object() : nullptr;
    auto const* listed = object != nullptr ? object->find("processes") : nullptr;
    auto const* list = listed != nullptr ? listed->as_array() : nullptr;
    json::Array entries;
    if (list == nullptr || lock.empty()) return entries;
    for (auto const& one : *list) {
        auto const* entry = one.as_object();
        auto const* nonce = entry != nullptr ? entry->find("nonce") : nullptr;
        bool const known =
            nonce != nullptr && nonce->as_integer() != nullptr && !entry->text_at("boot").empty();
        if (known && entry->text_at("lock") == lock) entries.push_back(one);
    }
    return entries;
}

}  // namespace

std::set<std::uint32_t> ended_processes(std::filesystem::path const& folder, std::uint32_t nonce,
                                        Log const& log)
{
    auto const path = folder / "processes.json";
    auto const lock = lock_of(folder);
    auto entries = entries_in(path, lock);
    auto const own = entry_of(nonce, lock);
    std::set<std::uint32_t> ended;
    for (auto const& earlier : entries)
        if (has_ended(*earlier.as_object(), own))
            ended.insert(
                static_cast<std::uint32_t>(*earlier.as_object()->find("nonce")->as_integer()));
    entries.emplace_back(own);
    if (entries.size() > most_kept)
        entries.erase(entries.begin(), entries.end() - static_cast<std::ptrdiff_t>(most_kept));
    json::Object const file{{"processes", std::move(entries)}};
    if (auto written = write_file(path, json::to_pretty(file)); !written)
        log.warning(written.error().message() +
                    "; after an unexpected end, the site's next process joins later");
    return ended;
}

}  // namespace curtail::trainer
