// SPDX-License-Identifier: Apache-2.0
#include "storage/store/posix_errors.hpp"

#include <algorithm>
#include <array>
#include <cerrno>

namespace curtail::store {
namespace {

constexpr ErrorMeaning full{ExitCode::io,
                            "the store is full: free some space; what it holds is intact"};
constexpr ErrorMeaning denied{
    ExitCode::permission,
    "every member of a run must be able to read and write its store: see docs/store.md"};
constexpr ErrorMeaning strange_path{
    ExitCode::permission,
    "a store has regular folders only: remove the symbolic link or file on this path"};
constexpr ErrorMeaning no_links{ExitCode::unavailable,
                                "a store needs a file system with hard links: see docs/store.md"};

constexpr std::array<std::pair<int, ErrorMeaning>, 12> meanings{{
    {ENOSPC, full},
    {EDQUOT, full},
    {EFBIG,
     {ExitCode::io,
      "a file of this size is not allowed here: raise the limit (ulimit -f) or that of the file "
      "system"}},
    {EROFS, {ExitCode::permission, "the store is read-only: mount it for writing"}},
    {EACCES, denied},
    {EPERM, denied},
    {ELOOP, strange_path},
    {ENOTDIR, strange_path},
    {EXDEV, strange_path},
    {EMLINK, no_links},
    {EOPNOTSUPP, no_links},
    {ENOENT, {ExitCode::unavailable, "the store's folder is gone: is it still mounted?"}},
}};

constexpr std::array lost_replies{EIO,      ETIMEDOUT,  ESTALE,    EAGAIN,       EINTR,
                                  ENOTCONN, ECONNRESET, EHOSTDOWN, EHOSTUNREACH, EREMOTEIO};

}  // namespace

ErrorMeaning meaning_of(int error)
{
    auto const* const found = std::find_if(meanings.begin(), meanings.end(),
                                           [&](auto const& known) { return known.first == error; });
    if (found != meanings.end()) return found->second;
    bool const passing = leaves_outcome_unknown(error) && error != EIO;
    return {passing ? ExitCode::temporary : ExitCode::io, ""};
}

bool leaves_outcome_unknown(int error)
{
    return std::find(lost_replies.begin(), lost_replies.end(), error) != lost_replies.end();
}

}  // namespace curtail::store
