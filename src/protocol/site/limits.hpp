// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/core/result.hpp"
#include "base/core/time.hpp"

namespace curtail::protocol::site {

/// If one of the following fails, a site repeats it at most this many times: the read of a header
/// in a scan, a publication, a lease, a merge, a commit. After that, the site continues without the
/// result. There are two exceptions:
/// - Scan::answered() says when a site repeats a read without limit, and when not at all;
/// - a leaving site repeats the publication or commit of its own work until its deadline.
inline constexpr int tries_limit = 5;

/// A site abandons a read that has no answer after this time if a cut or a stop request waits.
inline constexpr Seconds patience{1};

/// In each round, a site stores damaged payloads again for other sites at most this many times.
inline constexpr int stores_limit = 2;

/// After this many reads of one object with invalid bytes, a site treats the object as damaged. The
/// limit is so high that a network that damages one read in 25 hardly ever ends a process or loses
/// a contribution. For a commit, the reads and the pauses between them take about 1.5 s.
inline constexpr int reads_limit = 6;
/// The reads of a header must in addition extend over this time, because no commit includes a
/// header that counts as damaged.
inline constexpr Seconds unreadable_after{30};

/// After this many answers that an object is missing, although another object shows that it
/// existed, a site treats it as lost. The reads and the pauses between them take over a minute.
inline constexpr int misses_limit = 14;
/// After this many of them, about 40 s, a list of the store's commits is no longer an old one.
inline constexpr int old_after_misses = 10;

/// Returns true if this Unknown::code reports a lasting error that may concern a single object.
/// Returns false for `unavailable`: this error lasts too, but concerns the whole store.
[[nodiscard]] inline bool is_lasting_error(ExitCode code)
{
    return code == ExitCode::io || code == ExitCode::permission;
}

}  // namespace curtail::protocol::site
