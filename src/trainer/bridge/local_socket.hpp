// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <optional>

#include "base/core/files.hpp"
#include "base/core/result.hpp"
#include "base/core/units.hpp"

// Stream sockets between processes of one machine, at a path. All functions fail with
// `unavailable`, and their descriptors are closed when a program is started.
namespace curtail::bridge {

[[nodiscard]] Result<Fd> listen_at(std::filesystem::path const& path);
/// Waits up to `longest` for a process to connect. Returns an empty optional if none does.
[[nodiscard]] Result<std::optional<Fd>> accept_from(Fd const& listening, Millis longest);
/// Connects to the process that listens at `path`.
[[nodiscard]] Result<Fd> connect_to_socket(std::filesystem::path const& path);

}  // namespace curtail::bridge
