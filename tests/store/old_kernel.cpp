// SPDX-License-Identifier: Apache-2.0
// A store on a kernel that lacks openat2 and renameat2. A system call filter in a child process
// makes the kernel answer ENOSYS, as Linux before 5.6 does.
#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <fstream>

#include "store/posix_store.hpp"
#include "support/temporary_folder.hpp"

namespace curtail::store {
namespace {

namespace fs = std::filesystem;

constexpr unsigned openat2_number = 437;
ObjectName const record = *ObjectName::parse("runs/r/commits/00000001.json");

// From now on this process gets ENOSYS for both calls.
bool remove_new_calls()
{
    sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, openat2_number, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_renameat2, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    sock_fprog const filter{std::size(program), program};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0) == 0;
}

// The exit code of a child process that runs `body` without the new calls.
template <class Body>
int on_old_kernel(Body body)
{
    pid_t const child = fork();
    if (child == 0) {
        if (!remove_new_calls() || syscall(openat2_number, 0, "", nullptr, 0) != -1 ||
            errno != ENOSYS)
            _exit(255);
        _exit(body());
    }
    int status = 0;
    if (waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
    return WEXITSTATUS(status);
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
