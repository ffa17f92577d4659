// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "base/core/ids.hpp"
#include "base/core/result.hpp"
#include "base/core/time.hpp"

// A site's jobs train only while the poller permits it. The poller renews the permission at each
// poll. If the poller dies, nobody renews it, and the job stops.
namespace curtail::permission {

/// The largest serial that a file may have.
inline constexpr std::int64_t largest_serial{std::int64_t{1} << 53};
/// Returns whether a serial can be one that a poller has written until `now`. A serial is the time
/// in milliseconds or the successor of an earlier serial, so it is not years ahead.
[[nodiscard]] bool is_plausible(std::int64_t serial, Time now);

/// The permission for the jobs of one site, as the poller last wrote it.
struct Permission {
    RunId run;
    SiteId site;
    std::int64_t serial{};  ///< increases with each permission of a site; starts at any value
    Time issued;            ///< when the poller wrote it; real time
    /// How long a job may train after it first sees this serial, on the job's monotonic clock. Zero
    /// if the permission ended when it was written.
    Millis lifetime{};
    Time until;       ///< no step starts at or after this time; real time
    std::string why;  ///< why training is permitted or not, such as "the window is closed"
    friend bool operator==(Permission const&, Permission const&) = default;

    /// Returns whether the permission ended when it was written.
    [[nodiscard]] bool is_withdrawn() const { return lifetime <= Millis{0}; }
};

/// Returns the path of a site's permission: `permission.json` in the site's folder.
[[nodiscard]] std::filesystem::path permission_file(std::filesystem::path const& site_folder);

/// Replaces a site's permission atomically. Creates the site's folder if it is missing. Also
/// withdraws a permission if the disk is full (write_site_file_on_full_disk()).
[[nodiscard]] Result<void> write_permission(std::filesystem::path const& site_folder,
                                            Permission const& permission);

/// Reads a site's permission. Returns an empty optional if the file does not exist. Fails with
/// `temporary` if the file is damaged, or belongs to another run or site. The poller replaces such
/// a file at its next poll.
[[nodiscard]] Result<std::optional<Permission>> read_permission(
    std::filesystem::path const& site_folder, RunId const& run, SiteId const& site);

}  // namespace curtail::permission
