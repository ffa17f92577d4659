// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "base/core/ids.hpp"
#include "base/core/result.hpp"
#include "base/core/time.hpp"

namespace curtail::permission {

/// The last decision of a person about a site: to pause it, or to let it train again. The file is
/// written by people only, never by a poll.
struct Hold {
    RunId run;
    SiteId site;
    std::int64_t serial{};  ///< increases with each decision about a site
    bool held{false};       ///< false: the person resumed the site
    std::string reason;     ///< why the site is held; empty if it is not
    Time since;             ///< time of the decision; real time
    std::string by;         ///< who decided, such as `anna@login1`
    friend bool operator==(Hold const&, Hold const&) = default;
};

/// Returns `paused by 'anna@login1': 'maintenance'`, and with `with_time` also when. Another member
/// of a shared run may have written the file, so its texts are quoted.
[[nodiscard]] std::string to_text(Hold const& hold, bool with_time = false);

/// Returns the user and machine of this process, such as `anna@login1`.
[[nodiscard]] std::string this_person();
/// Returns the path of a site's hold: `hold.json` in the site's folder.
[[nodiscard]] std::filesystem::path hold_file(std::filesystem::path const& site_folder);

/// Replaces a site's hold atomically, also if the disk is full (write_site_file_on_full_disk()).
/// Creates the site's folder if it is missing.
[[nodiscard]] Result<void> write_hold(std::filesystem::path const& site_folder, Hold const& hold);

/// Reads a site's hold. Returns an empty optional if the file does not exist: no person has paused
/// the site. Fails with `data` if the file is damaged, or belongs to another run or site.
[[nodiscard]] Result<std::optional<Hold>> read_hold(std::filesystem::path const& site_folder,
                                                    RunId const& run, SiteId const& site);

}  // namespace curtail::permission
