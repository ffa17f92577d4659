// SPDX-License-Identifier: Apache-2.0
// A store on a kernel that lacks openat2 and renameat2. A system call filter in a child process
// makes the kernel answer ENOSYS, as Linux before 5.6 does.
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>

#include "storage/store/posix_store.hpp"
#include "support/old_kernel.hpp"
#include "support/temporary_folder.hpp"

namespace curtail::store {
namespace {

namespace fs = std::filesystem;

constexpr unsigned openat2_number = 437;
ObjectName const record = *ObjectName::parse("runs/r/commits/00000001.json");

// The exit code of a child process that runs `body` without the new calls.
template <class Body>
int on_old_kernel(Body body)
{
    return test::without_calls({openat2_number, SYS_renameat2}, ENOSYS, [&] {
        bool const missing = syscall(openat2_number, 0, "", nullptr, 0) == -1 && errno == ENOSYS;
        return missing ? body() : 254;
    });
}

TEST(OldKernel, TheStoreWalksPathsByItself)
{
    test::TemporaryFolder const folder;
    EXPECT_EQ(on_old_kernel([&] {
                  auto const store = PosixStore::open(folder.path(), IfMissing::refuse).value();
                  if (store->lookup() != Lookup::stepwise) return 1;
                  if (*store->create(record, bytes_of("x")) != CreateOutcome::created) return 2;
                  if (*store->create(record, bytes_of("y")) != CreateOutcome::exists) return 3;
                  if (text_of(*store->get(record, {10}).value()) != "x") return 4;
                  if (!store->put(record, bytes_of("z")) || !store->remove(record)) return 5;
                  return store->stat(record).value() ? 6 : 0;
              }),
              0);
    auto const store = PosixStore::open(folder.path(), IfMissing::refuse).value();
    EXPECT_EQ(*store->create(record, bytes_of("x")), CreateOutcome::created);
}

TEST(OldKernel, TheStoreStillRefusesSymbolicLinks)
{
    test::TemporaryFolder const folder;
    fs::create_directories(folder / "outside/commits");
    std::ofstream(folder / "outside/commits/00000001.json") << "secret";
    fs::create_directories(folder / "root/runs");
    fs::create_directory_symlink(folder / "outside", folder / "root/runs/r");
    EXPECT_EQ(on_old_kernel([&] {
                  auto const store = PosixStore::open(folder / "root", IfMissing::refuse).value();
                  auto const refused = [](auto const& result) {
                      return !result && result.error().code == ExitCode::permission;
                  };
                  if (!refused(store->get(record, {100}))) return 1;
                  if (!refused(store->stat(record))) return 2;
                  if (!refused(store->create(record, bytes_of("x")))) return 3;
                  if (!refused(store->put(record, bytes_of("x")))) return 4;
                  return refused(store->remove(record)) ? 0 : 5;
              }),
              0);
    EXPECT_EQ(*read_file(folder / "outside/commits/00000001.json"), "secret");
}

}  // namespace
}  // namespace curtail::store
