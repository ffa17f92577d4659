// SPDX-License-Identifier: Apache-2.0
// An NFS client remembers that a name is missing until a process opens the name's folder. To
// simulate that, this test replaces openat and syscall of the C library.
#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <fstream>
#include <set>

#include "base/core/files.hpp"
#include "storage/store/posix_store.hpp"
#include "support/temporary_folder.hpp"

namespace {

namespace fs = std::filesystem;

constexpr long openat2_number = 437;

// What the client remembers. Null: the files are local.
struct NameCache {
    fs::path mount;
    std::set<fs::path> missing;
};
NameCache* name_cache = nullptr;

fs::path path_of(int folder, char const* path)
{
    auto const start = folder == AT_FDCWD
                           ? fs::current_path()
                           : fs::read_symlink("/proc/self/fd/" + std::to_string(folder));
    return (start / path).lexically_normal();
}

// The paths of the folders on the way to `path` below the mount, from the top, and `path` itself.
std::vector<fs::path> steps_to(fs::path const& path)
{
    std::vector<fs::path> steps;
    fs::path at;
    for (auto const& segment : path) {
        at /= segment;
        if (at.string().size() > name_cache->mount.string().size()) steps.push_back(at);
    }
    return steps;
}

bool is_missing(fs::path const& path)
{
    struct stat status {};
    return lstat(path.c_str(), &status) != 0;
}

void remember(fs::path const& path)
{
    for (auto const& step : steps_to(path)) {
        if (!is_missing(step)) continue;
        name_cache->missing.insert(step);
        return;
    }
}

// The client asks the server whether the folder has changed, and then forgets the names in it.
void open_folder(fs::path const& folder)
{
    std::erase_if(name_cache->missing,
                  [&](fs::path const& name) { return name.parent_path() == folder; });
}

template <class Open>
int open_through_cache(int folder, char const* path, std::uint64_t flags, Open open)
{
    auto whole = name_cache != nullptr ? path_of(folder, path) : fs::path();
    if (whole.filename().empty()) whole = whole.parent_path();
    if (name_cache == nullptr || !whole.string().starts_with(name_cache->mount.string()))
        return open();
    for (auto const& step : steps_to(whole))
        if (name_cache->missing.contains(step)) {
            errno = ENOENT;
            return -1;
        }
    int const fd = open();
    int const error = errno;
    if (fd < 0 && error == ENOENT) remember(whole);
    if (fd >= 0 && (flags & O_PATH) == 0) open_folder(whole);
    errno = error;
    return fd;
}

using SystemCall = long (*)(long, ...);

// Without a static variable of this function, whose guard may itself make a system call.
std::atomic<SystemCall> next_syscall{nullptr};
SystemCall real_syscall()
{
    if (next_syscall == nullptr)
        next_syscall = reinterpret_cast<SystemCall>(dlsym(RTLD_NEXT, "syscall"));
    return next_syscall;
}

}  // namespace

extern "C" int openat(int folder, char const* path, int flags, ...)
{
    va_list list;
    va_start(list, flags);
    auto const mode = (flags & O_CREAT) != 0 ? va_arg(list, mode_t) : mode_t{0};
    va_end(list);
    return open_through_cache(folder, path, static_cast<std::uint64_t>(flags), [&] {
        return static_cast<int>(real_syscall()(SYS_openat, folder, path, flags, mode));
    });
}

// What openat becomes if the compiler fortifies the calls of the C library (_FORTIFY_SOURCE).
// NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming)
extern "C" int __openat_2(int folder, char const* path, int flags)
{
    return openat(folder, path, flags, 0);
}

extern "C" long syscall(long number, ...) noexcept
{
    va_list list;
    va_start(list, number);
    std::array<long, 6> a;
    for (auto& argument : a) argument = va_arg(list, long);
    va_end(list);
    auto const call = [&] { return real_syscall()(number, a[0], a[1], a[2], a[3], a[4], a[5]); };
    if (name_cache == nullptr || number != openat2_number) return call();
    // NOLINTBEGIN(performance-no-int-to-ptr): the C library passes pointers as numbers.
    auto const* const path = reinterpret_cast<char const*>(a[1]);
    auto const* const flags = reinterpret_cast<std::uint64_t const*>(a[2]);
    // NOLINTEND(performance-no-int-to-ptr)
    return open_through_cache(static_cast<int>(a[0]), path, *flags,
                              [&] { return static_cast<int>(call()); });
}

namespace curtail::store {
namespace {

ObjectName const record = *ObjectName::parse("runs/r/commits/00000001.json");

// A store whose record was missing when this host asked for it.
struct Host {
    explicit Host(Lookup lookup, char const* existing)
    {
        fs::create_directories(folder / "store" / existing);
        store = *PosixStore::open(folder / "store", IfMissing::refuse, lookup);
        name_cache = &cache;
        EXPECT_FALSE(store->get(record, {100}).value());
    }
    ~Host() { name_cache = nullptr; }
    // Another host creates the file. The cache of this host does not learn of it.
    void create_elsewhere() const
    {
        fs::create_directories(file.parent_path());
        std::ofstream(file) << "x";
        EXPECT_FALSE(Fd(openat(AT_FDCWD, file.c_str(), O_RDONLY | O_CLOEXEC)));
    }

    test::TemporaryFolder folder;
    fs::path file{folder / "store" / record.text()};
    NameCache cache{fs::canonical(folder.path()) / "store", {}};
    std::unique_ptr<ObjectStore> store;
};

struct Case {
    char const* name;
    Lookup lookup;
    char const* existing;  // the folder that exists before the first question
};

class NamesOfAnotherHost : public testing::TestWithParam<Case> {
  protected:
    Host host_{GetParam().lookup, GetParam().existing};
};

TEST_P(NamesOfAnotherHost, AreFoundByARead)
{
    host_.create_elsewhere();
    auto const content = host_.store->get(record, {100}).value();
    ASSERT_TRUE(content);
    EXPECT_EQ(text_of(*content), "x");
}

TEST_P(NamesOfAnotherHost, AreFoundByAStat)
{
    host_.create_elsewhere();
    EXPECT_TRUE(host_.store->stat(record).value());
}

// Takes from this thread the right of root to read every folder.
class WithoutRightsOfRoot {
  public:
    WithoutRightsOfRoot()
    {
        EXPECT_EQ(syscall(SYS_capget, &header_, data_.data()), 0);
        auto fewer = data_;
        fewer[0].effective &= ~(1U << CAP_DAC_OVERRIDE | 1U << CAP_DAC_READ_SEARCH);
        EXPECT_EQ(syscall(SYS_capset, &header_, fewer.data()), 0);
    }
    ~WithoutRightsOfRoot() { EXPECT_EQ(syscall(SYS_capset, &header_, data_.data()), 0); }
    WithoutRightsOfRoot(WithoutRightsOfRoot const&) = delete;
    WithoutRightsOfRoot& operator=(WithoutRightsOfRoot const&) = delete;

  private:
    __user_cap_header_struct header_{_LINUX_CAPABILITY_VERSION_3, 0};
    std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> data_{};
};

TEST_P(NamesOfAnotherHost, AreMissingInAFolderThatPermitsPassageOnly)
{
    WithoutRightsOfRoot const as_others;
    fs::create_directories(host_.file.parent_path());
    fs::permissions(host_.file.parent_path(), fs::perms::owner_exec);
    auto const content = host_.store->get(record, {100});
    fs::permissions(host_.file.parent_path(), fs::perms::owner_all);
    ASSERT_TRUE(content) << content.error().message();
    EXPECT_FALSE(*content);
}

TEST_P(NamesOfAnotherHost, AreListed)
{
    host_.create_elsewhere();
    EXPECT_EQ(host_.store->list_all(*ObjectFolder::parse("runs/r/commits"))->size(), 1U);
}

INSTANTIATE_TEST_SUITE_P(Every, NamesOfAnotherHost,
                         testing::Values(Case{"File", Lookup::kernel, "runs/r/commits"},
                                         Case{"Folder", Lookup::kernel, "runs/r"},
                                         Case{"Run", Lookup::kernel, "runs"},
                                         Case{"Everything", Lookup::kernel, "."},
                                         Case{"FileStepwise", Lookup::stepwise, "runs/r/commits"},
                                         Case{"FolderStepwise", Lookup::stepwise, "runs/r"},
                                         Case{"RunStepwise", Lookup::stepwise, "runs"},
                                         Case{"EverythingStepwise", Lookup::stepwise, "."}),
                         [](auto const& made) { return std::string(made.param.name); });

TEST(LinksOfAnotherHost, AreNotFollowed)
{
    for (auto const lookup : {Lookup::kernel, Lookup::stepwise}) {
        Host const host(lookup, "runs");
        auto const outside = host.folder / "outside";
        fs::create_directories(outside / "commits");
        std::ofstream(outside / "commits/00000001.json") << "secret";
        fs::create_directory_symlink(outside, host.folder / "store/runs/r");
        auto const read = host.store->get(record, {100});
        ASSERT_FALSE(read);
        EXPECT_EQ(read.error().code, ExitCode::permission) << read.error().message();
        auto const found = host.store->stat(record);
        ASSERT_FALSE(found);
        EXPECT_EQ(found.error().code, ExitCode::permission) << found.error().message();
    }
}

}  // namespace
}  // namespace curtail::store
