// SPDX-License-Identifier: Apache-2.0
#include "trainer/data/text_files.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <set>

#include "base/core/text.hpp"

namespace curtail::data {
namespace {

namespace fs = std::filesystem;

tl::unexpected<Error> cannot_read(fs::path const& path, std::string why, std::string remedy = {})
{
    return fail(ExitCode::no_input, "cannot read text " + path.string(), std::move(why),
                std::move(remedy));
}

void sort_by_path(std::vector<fs::path>& paths) { std::ranges::sort(paths, {}, &fs::path::native); }

// Files and folders by device and inode, so that all names of and links to one count as one.
using SeenPaths = std::set<std::pair<dev_t, ino_t>>;

// Returns true if `path` is new.
Result<bool> add(fs::path const& path, SeenPaths& seen)
{
    struct stat status {};
    if (stat(path.c_str(), &status) != 0) return cannot_read(path, errno_text(errno));
    return seen.insert({status.st_dev, status.st_ino}).second;
}

// Sorted, so that the name by which a linked folder is entered first does not depend on the disk.
Result<std::vector<fs::path>> entries_of(fs::path const& folder)
{
    std::error_code error;
    std::vector<fs::path> entries;
    for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
        entries.push_back(at->path());
    if (error) return cannot_read(folder, errno_text(error.value()));
    sort_by_path(entries);
    return entries;
}

// The type of an entry, links resolved. A broken link is an error, whatever its name: it may stand
// for a folder of text on a disk that is not mounted, and no input may be dropped silently.
Result<fs::file_type> type_of(fs::path const& entry)
{
    std::error_code error;
    auto const type = fs::status(entry, error).type();
    if (type == fs::file_type::none) return cannot_read(entry, errno_text(error.value()));
    if (type == fs::file_type::not_found)
        return cannot_read(entry, "it is a broken link", "repair or remove it");
    return type;
}

// Collects the `.txt` files below one folder. A folder that it meets again, as in a cycle of
// links, adds nothing.
class FolderSearch {
  public:
    [[nodiscard]] Result<void> search(fs::path const& folder)
    {
        auto const is_new = add(folder, folders_);
        if (!is_new) return tl::unexpected(is_new.error());
        if (!*is_new) return {};
        auto const entries = entries_of(folder);
        if (!entries) return tl::unexpected(entries.error());
        for (auto const& entry : *entries)
            if (auto taken = take(entry); !taken) return taken;
        return {};
    }
    [[nodiscard]] TextFiles sorted_files()
    {
        sort_by_path(found_.paths);
        return std::move(found_);
    }

  private:
    [[nodiscard]] Result<void> take(fs::path const& entry)
    {
        auto const type = type_of(entry);
        if (!type) return tl::unexpected(type.error());
        if (*type == fs::file_type::directory) return search(entry);
        if (lower_case(entry.extension().native()) != ".txt") {
            ++found_.left_out;
            return {};
        }
        if (*type != fs::file_type::regular)
            return cannot_read(entry, "it is not a regular file", "remove or rename it");
        found_.paths.push_back(entry);
        return {};
    }
    SeenPaths folders_;
    TextFiles found_;
};

Result<TextFiles> files_of(fs::path const& source)
{
    char const* const remedy = "name a UTF-8 file or a folder of .txt files";
    std::error_code error;
    auto const status = fs::status(source, error);
    if (!fs::exists(status))
        return cannot_read(source, error ? errno_text(error.value()) : "it does not exist", remedy);
    if (!fs::is_directory(status)) return TextFiles{{source}};
    FolderSearch found;
    if (auto searched = found.search(source); !searched) return tl::unexpected(searched.error());
    auto files = found.sorted_files();
    if (files.paths.empty()) return cannot_read(source, "the folder has no .txt file", remedy);
    return files;
}

}  // namespace

Result<TextFiles> find_text_files(std::span<fs::path const> sources)
{
    TextFiles all;
    SeenPaths seen;
    for (auto const& source : sources) {
        auto const files = files_of(source);
        if (!files) return tl::unexpected(files.error());
        all.left_out += files->left_out;
        for (auto const& file : files->paths) {
            auto const is_new = add(file, seen);
            if (!is_new) return tl::unexpected(is_new.error());
            if (*is_new) all.paths.push_back(file);
        }
    }
    return all;
}

}  // namespace curtail::data
