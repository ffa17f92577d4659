// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "run/journal/local_file.hpp"
#include "run/journal/plan.hpp"
#include "run/journal/stream_objects.hpp"

namespace curtail::journal {

/// Returns the end of the stream whose newest piece has the number `newest`. Looks for the newest
/// piece that is not damaged. Fails with `protocol` if it is not among the last eight.
[[nodiscard]] Result<StreamEnd> read_end_of(StreamObjects const& objects, PieceNumber newest,
                                            CallLimits const& call);

/// Returns whether the file has the bytes of the piece `tip`.
[[nodiscard]] Result<bool> has_bytes_of(LocalFile const& file, Tip const& tip);

/// Returns up to which offset the file is a copy of a file that the stream contains, in whole
/// lines. If files that are continued by the newest one agree, the newest of them counts. `tip` is
/// the stream's newest piece, whose bytes the file lacks.
[[nodiscard]] Result<std::int64_t> common_end(StreamObjects const& objects, LocalFile const& file,
                                              Tip const& tip, CallLimits const& call);

/// Returns whether the stream contains the begin of the file before the pieces of the newest local
/// file. If so, another file has continued the stream after this one. `tip` is as in common_end().
[[nodiscard]] Result<bool> is_superseded(StreamObjects const& objects, LocalFile const& file,
                                         Tip const& tip, CallLimits const& call);

}  // namespace curtail::journal
