// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <functional>
#include <thread>
#include <vector>

#include "storage/s3/session.hpp"

namespace curtail::s3 {

/// Most parts of an upload, a limit of S3.
inline constexpr std::size_t most_parts = 10'000;
/// Returns the size of the parts of an object: `wanted`, or more if there were too many parts.
[[nodiscard]] std::size_t part_size(std::size_t object_size, std::size_t wanted);

/// Starts up to `count` threads, which call `body` with their numbers: 0, 1 and so on. Adds them to
/// `threads`. Fails with `temporary` if one cannot start; those before it then run.
[[nodiscard]] Result<void> start_threads(std::vector<std::jthread>& threads, int count,
                                         std::function<void(int number)> const& body);

/// Calls `work` for each part from 0 to `count` - 1, in up to `parallel` threads: in fewer after a
/// SlowDown (Session::parallelism()), or if not all can start. `work` gets CallLimits that are
/// cancelled as soon as the work on any part has failed. Returns the first failure, or throws the
/// first exception.
[[nodiscard]] Result<void> for_each_part(
    Session& session, std::size_t count, int parallel, CallLimits const& call,
    std::function<Result<void>(std::size_t part, CallLimits const& call)> const& work);

}  // namespace curtail::s3
