// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/types.h>

#include <filesystem>

#include "base/core/files.hpp"

// New files and folders, whose rights depend on the umask alone. A default access list of the
// folder above would otherwise replace the umask, and let others in.

namespace curtail {

/// Creates a file with the mode `mode` less the umask, and without an access list. Opens it with
/// `flags`, which need not contain O_CREAT, O_EXCL, O_NOFOLLOW and O_CLOEXEC. Returns an empty
/// descriptor, with errno set, if the name exists or the file cannot be created.
[[nodiscard]] Fd open_new(std::filesystem::path const& path, int flags, mode_t mode);
/// Opens a file that may exist, and else creates it like open_new(). Follows no link.
[[nodiscard]] Fd open_or_create(std::filesystem::path const& path, int flags, mode_t mode);
/// Creates a folder with the mode `mode` less the umask, without access lists. It keeps the
/// set-group-id bit of the folder above. Returns 0 or errno.
[[nodiscard]] int create_folder(std::filesystem::path const& path, mode_t mode);
/// Returns the exit code for a file or folder that could not be created with the errno `error`. A
/// full disk is `io`, whether it lacks blocks or numbers of files; everything else is
/// `cannot_create`.
[[nodiscard]] ExitCode creation_code(int error);
/// Gives a file or folder that its process has just created this mode, without access lists.
/// Returns 0 or errno.
[[nodiscard]] int give_mode(int fd, mode_t mode);

}  // namespace curtail
