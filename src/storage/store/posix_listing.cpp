// SPDX-License-Identifier: Apache-2.0
#include "storage/store/posix_listing.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/core/text.hpp"
#include "storage/store/posix_errors.hpp"

namespace curtail::store {
namespace {

// Deeper folders hold no objects. The limit keeps a hostile tree from exhausting the stack.
constexpr int deepest = 16;

struct CloseFolder {
    void operator()(DIR* folder) const { closedir(folder); }
};
using OpenFolder = std::unique_ptr<DIR, CloseFolder>;

struct Entry {
    std::string name;  // a folder's name ends with a slash, so entries sort as whole names do
    struct stat status;
    [[nodiscard]] bool is_folder() const { return name.back() == '/'; }
};

Time modified_of(struct stat const& status)
{
    // Anybody who may write the file can set any time.
    constexpr std::int64_t furthest_s = std::int64_t{1} << 50;
    auto const seconds = std::clamp<std::int64_t>(status.st_mtim.tv_sec, -furthest_s, furthest_s);
    return from_unix_ms(seconds * 1000 + status.st_mtim.tv_nsec / 1'000'000);
}

bool all_of(std::string_view text, std::string_view alphabet)
{
    return !text.empty() && text.find_first_not_of(alphabet) == text.npos;
}

// Returns whether every name that begins with `folder`, which ends with a slash, is at most
// `after`.
bool is_before(std::string const& folder, std::string const& after)
{
    return folder < after && !after.starts_with(folder);
}

// Walks through folders in the order of names.
class Walk {
  public:
    // Receives an entry and its whole name. Returns false to end the walk.
    using Take = std::function<bool(std::string const& name, Entry const& entry)>;

    Walk(PosixRoot const& root, std::string const& after, CallLimits const& call, Take take)
        : root_(root), after_(after), call_(call), take_(std::move(take))
    {
    }

    // Returns false if the walk has ended.
    Result<bool> folder(std::string const& path, int depth)
    {
        auto const entries = entries_of(path);
        if (!entries) return tl::unexpected(entries.error());
        for (auto const& entry : *entries) {
            if (call_.is_over())
                return fail(ExitCode::temporary, what(path), "the operation was cancelled");
            auto more = visit(path + "/" + entry.name, entry, depth);
            if (!more || !*more) return more;
        }
        return true;
    }

  private:
    Result<bool> visit(std::string const& name, Entry const& entry, int depth)
    {
        if (is_temporary_name(entry.is_folder() ? entry.name.substr(0, entry.name.size() - 1)
                                                : entry.name) ||
            !entry.is_folder())
            return take_(name, entry);
        if (depth == deepest) return true;
        return folder(name.substr(0, name.size() - 1), depth + 1);
    }

    // The regular files and folders of `path` after `after_`. Empty if it does not exist.
    Result<std::vector<Entry>> entries_of(std::string const& path)
    {
        std::vector<Entry> entries;
        Fd fd = root_.open_current(path, O_RDONLY | O_DIRECTORY);
        if (!fd && errno == ENOENT && !root_.is_gone()) return entries;
        OpenFolder const opened(fd ? fdopendir(fd.get()) : nullptr);
        if (!opened) return failure(path, errno);
        int const number = fd.release();  // `opened` closes it
        for (;;) {
            errno = 0;
            auto const* const found = readdir(opened.get());
            if (found == nullptr && errno != 0) return failure(path, errno);
            if (found == nullptr) break;
            if (auto entry = entry_of(number, path, *found)) entries.push_back(std::move(*entry));
        }
        std::ranges::sort(entries, {}, &Entry::name);
        return entries;
    }

    [[nodiscard]] std::optional<Entry> entry_of(int folder, std::string const& path,
                                                dirent const& found) const
    {
        Entry entry{found.d_name, {}};
        if (entry.name == "." || entry.name == "..") return std::nullopt;
        // Names that come before `after_` need no call of the system.
        bool const known_file = found.d_type == DT_REG;
        if (known_file && path + "/" + entry.name <= after_) return std::nullopt;
        if (fstatat(folder, found.d_name, &entry.status, AT_SYMLINK_NOFOLLOW) != 0)
            return std::nullopt;
        if (S_ISDIR(entry.status.st_mode)) entry.name += '/';
        else if (!S_ISREG(entry.status.st_mode)) return std::nullopt;
        auto const whole = path + "/" + entry.name;
        if (entry.is_folder() ? is_before(whole, after_) : whole <= after_) return std::nullopt;
        return entry;
    }

    [[nodiscard]] std::string what(std::string const& path) const
    {
        return "cannot list " + path + " in store " + root_.path().string();
    }

    [[nodiscard]] tl::unexpected<Error> failure(std::string const& path, int error) const
    {
        auto const [code, remedy] = meaning_of(error);
        return fail(code, what(path), errno_text(error), remedy);
    }

    PosixRoot const& root_;
    std::string const& after_;
    CallLimits const& call_;
    Take take_;
};

std::string without_slash(std::string name)
{
    if (name.ends_with('/')) name.pop_back();
    return name;
}

std::string_view file_of(std::string_view name) { return name.substr(name.rfind('/') + 1); }

}  // namespace

bool is_temporary_name(std::string_view file)
{
    // .<file>.<host>.<16 hex digits>.<process>.<counter>.tmp
    constexpr std::string_view digits = "0123456789";
    constexpr std::string_view hex_digits = "0123456789abcdef";
    auto const pieces = split(file, '.');
    auto const n = pieces.size();
    return n >= 7 && pieces[0].empty() && pieces[n - 1] == "tmp" && all_of(pieces[n - 2], digits) &&
           all_of(pieces[n - 3], digits) && pieces[n - 4].size() == 16 &&
           all_of(pieces[n - 4], hex_digits);
}

Result<void> list_files(PosixRoot const& root, ObjectFolder const& folder, std::string const& after,
                        ObjectStore::Visit const& visit, CallLimits const& call)
{
    Walk walk(root, after, call, [&](std::string const& name, Entry const& entry) {
        if (is_temporary_name(file_of(without_slash(name)))) return true;
        return visit({name, {{entry.status.st_size}, modified_of(entry.status)}});
    });
    return walk.folder(folder.text(), 1).map([](bool) {});
}

Result<std::vector<Leftover>> list_temporaries(PosixRoot const& root, ObjectFolder const& folder,
                                               CallLimits const& call)
{
    std::vector<Leftover> found;
    std::string const none;
    Walk walk(root, none, call, [&](std::string const& name, Entry const& entry) {
        auto path = without_slash(name);
        if (is_temporary_name(file_of(path)))
            found.push_back({std::move(path), "", modified_of(entry.status)});
        return true;
    });
    if (auto const walked = walk.folder(folder.text(), 1); !walked)
        return tl::unexpected(walked.error());
    return found;
}

Result<void> remove_temporary(PosixRoot const& root, std::string const& name)
{
    auto const what = "cannot remove " + printable(name) + " in store " + root.path().string();
    auto const slash = name.rfind('/');
    if (slash == name.npos || !is_temporary_name(file_of(name)))
        return fail(ExitCode::data, what, "this is not the name of a temporary file");
    auto const folder = ObjectFolder::parse(name.substr(0, slash));
    if (!folder) return tl::unexpected(folder.error());
    Fd const parent = root.open_below(folder->text(), O_RDONLY | O_DIRECTORY);
    std::string const file(file_of(name));
    if (parent && (unlinkat(parent.get(), file.c_str(), 0) == 0 ||
                   (errno == EISDIR && unlinkat(parent.get(), file.c_str(), AT_REMOVEDIR) == 0)))
        return {};
    if (errno == ENOENT && !root.is_gone()) return {};
    auto const [code, remedy] = meaning_of(errno);
    return fail(code, what, errno_text(errno), remedy);
}

}  // namespace curtail::store
