// SPDX-License-Identifier: Apache-2.0
#include "launch/mark.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <optional>

#include "core/files.hpp"
#include "core/json.hpp"
#include "core/text.hpp"
#include "launch/order.hpp"

namespace curtail::launch {
namespace {

/// The content of mark.json. File systems number their folders once and everywhere alike, whatever
/// they are mounted as.
struct Marked {
    std::string mark;
    std::string path;  ///< made printable: JSON holds UTF-8 only, a path any bytes
    std::string inode;
};

std::filesystem::path mark_file(std::filesystem::path const& run_folder)
{
    return run_folder / "mark.json";
}

Marked marked_now(std::filesystem::path const& run_folder)
{
    std::error_code error;
    auto const path = std::filesystem::weakly_canonical(run_folder, error);
    struct stat status {};
    bool const there = stat(run_folder.c_str(), &status) == 0;
    return {folder_mark(run_folder), printable((error ? run_folder : path).string()),
            there ? std::to_string(status.st_ino) : ""};
}

Marked read_marked(json::ObjectReader& r)
{
    Marked marked{r.text("mark"), r.text("path"), r.text("inode")};
    bool const is_hex = marked.mark.find_first_not_of("0123456789abcdef") == std::string::npos;
    r.require(marked.mark.size() == 8 && is_hex, "mark", "must be 8 hex digits");
    return marked;
}

/// Once: whoever comes later finds it.
Result<void> write_mark(std::filesystem::path const& file, Marked const& marked)
{
    auto temporary = file;
    temporary += "." + std::to_string(getpid());
    json::Object const content{
        {"mark", marked.mark}, {"path", marked.path}, {"inode", marked.inode}};
    if (auto written = write_file(temporary, json::to_string(content) + "\n"); !written)
        return written;
    int const error = link(temporary.c_str(), file.c_str()) == 0 ? 0 : errno;
    unlink(temporary.c_str());
    if (error != 0 && error != EEXIST)
        return fail(ExitCode::cannot_create, "cannot make " + file.string(), errno_text(error));
    return {};
}

}  // namespace

Result<std::string> run_mark(std::filesystem::path const& run_folder, bool make)
{
    auto const file = mark_file(run_folder);
    if (make) {
        if (auto made = make_folder(run_folder); !made) return tl::unexpected(made.error());
        std::error_code error;
        if (!std::filesystem::exists(file, error))
            if (auto written = write_mark(file, marked_now(run_folder)); !written)
                return tl::unexpected(written.error());
    }
    auto const known = json::read_record(file, read_marked);
    if (!known) return tl::unexpected(known.error());
    auto const now = marked_now(run_folder);
    if (!*known) return now.mark;
    auto const& marked = **known;
    if (marked.path == now.path || marked.inode == now.inode) return marked.mark;
    return fail(
        ExitCode::config, now.path + " is a copy of a run's folder",
        file.string() + " was made for " + marked.path +
            ": jobs of one would be taken for the other's",
        "begin a run in a new folder; or, if it was moved here, write its new path into that file");
}

}  // namespace curtail::launch
