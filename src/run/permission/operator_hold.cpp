// SPDX-License-Identifier: Apache-2.0
#include "run/permission/operator_hold.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/core/files.hpp"
#include "base/core/json.hpp"
#include "base/core/text.hpp"
#include "base/core/users.hpp"

namespace curtail::permission {
namespace {

namespace fs = std::filesystem;

// Whether the list `key` is absent or names `name`. A list without names counts as absent, and so
// does one with a number or another value that is no text. An unknown name may be in the list.
bool concerns(json::Object const& hold, char const* key, std::optional<std::string> const& name)
{
    if (!name) return true;
    auto const* value = hold.find(key);
    if (value == nullptr) return true;
    auto const* list = value->as_array();
    if (list == nullptr || list->empty()) return true;
    return std::ranges::any_of(*list, [&](json::Value const& entry) {
        return entry.as_text() == nullptr || *entry.as_text() == *name;
    });
}

std::string first_line(std::string_view text)
{
    return std::string(trim(split(trim(text), '\n').front()).substr(0, 1000));
}

// Whether an object has only keys of a hold. A misspelt list must not hold fewer than it should,
// and not more than the operator can see: such a file concerns everybody.
bool is_hold(json::Object const& object)
{
    return std::ranges::all_of(object.members(), [](auto const& member) {
        static constexpr std::string_view keys[] = {"reason", "users", "runs", "sites", "until"};
        return std::ranges::find(keys, member.first) != std::end(keys);
    });
}

// The reason, if the text of a file concerns `subject`.
std::optional<std::string> reason_in(std::string const& text, HoldSubject const& subject, Time now)
{
    auto const value = json::parse(text, "hold", json::Dialect::comments, json::record_limits);
    auto const* object = value ? value->as_object() : nullptr;
    if (object == nullptr || !is_hold(*object)) return first_line(text);
    auto const until = object->time_at("until");
    bool const is_over = until && *until <= now;
    if (is_over || !concerns(*object, "users", subject.user) ||
        !concerns(*object, "runs", subject.run.value) ||
        !concerns(*object, "sites", subject.site.value))
        return std::nullopt;
    return object->text_at("reason");
}

// Whether no file has this name. A link that leads nowhere is there: the file system that has its
// target may not be mounted.
bool is_missing(fs::path const& path)
{
    struct stat status {};
    if (lstat(path.c_str(), &status) == 0 || errno != ENOENT) return false;
    auto const above = path.parent_path();
    return stat(above.c_str(), &status) == 0 || above == path || is_missing(above);
}

struct Search {
    std::optional<OperatorHold> hold{};  // the first one
    bool has_vanished{false};            // a file has
};

Search search(std::vector<fs::path> const& files, HoldSubject const& subject, Time now)
{
    Search done;
    for (auto const& file : files) {
        auto const text = read_file_if_exists(file, std::int64_t{1} << 16);
        if (!text) done.hold = {file, "it cannot be read: " + text.error().why};
        else if (*text) {
            if (auto reason = reason_in(**text, subject, now))
                done.hold = {file, std::move(*reason)};
        } else if (is_missing(file)) done.has_vanished = true;
        else done.hold = {file, "it is a link that leads nowhere"};
        if (done.hold) break;
    }
    return done;
}

std::optional<OperatorHold> find_in(fs::path const& folder, bool must_exist,
                                    HoldSubject const& subject, Time now)
{
    // A file that vanished may have got another name.
    constexpr int tries = 3;
    for (int i = 0; i < tries; ++i) {
        std::error_code error;
        std::vector<fs::path> files;
        for (fs::directory_iterator it(folder, error), end; !error && it != end;
             it.increment(error)) {
            auto const name = it->path().filename().string();
            if (!name.starts_with('.') && !name.ends_with('~')) files.push_back(it->path());
        }
        if (error && !must_exist && is_missing(folder)) return std::nullopt;
        if (error) return OperatorHold{folder, "it cannot be read: " + error.message()};
        std::ranges::sort(files);
        auto found = search(files, subject, now);
        if (found.hold || !found.has_vanished) return std::move(found.hold);
    }
    return OperatorHold{folder, "its files change all the time"};
}

}  // namespace

char const* const operators_folder = "/etc/curtail/holds.d";

HoldSubject subject_of(RunId const& run, SiteId const& site)
{
    return {find_user_name(geteuid()), run, site};
}

std::string to_text(OperatorHold const& hold)
{
    return "an operator holds this site (" + shell_quoted(hold.file.string()) + ")" +
           (hold.reason.empty() ? "" : ": " + shell_quoted(hold.reason));
}

std::optional<OperatorHold> find_operator_hold(std::vector<fs::path> const& more,
                                               HoldSubject const& subject, Time now)
{
    if (auto hold = find_in(operators_folder, false, subject, now)) return hold;
    for (auto const& folder : more)
        if (auto hold = find_in(folder, true, subject, now)) return hold;
    return std::nullopt;
}

}  // namespace curtail::permission
