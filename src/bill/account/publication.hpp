// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/core/time.hpp"

namespace curtail::account {

/// How complete the logs of a site are, if they were read from the store.
struct Publication {
    /// The logs come from the store alone: this machine does not have the site's own files.
    bool is_remote{false};
    bool is_missing{false};  ///< neither the store nor this machine has a log of the site
    /// Real time up to which the logs are known. Empty if nothing is published, or if the logs are
    /// not remote.
    std::optional<Time> until{};
    std::vector<std::string> problems{};  ///< damage in the site's journal, as texts for people
    bool lacks_lines{false};  ///< the logs lack lines that the journal has had, or has twice
};

}  // namespace curtail::account
