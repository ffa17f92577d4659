// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "run/runlog/event.hpp"

namespace curtail::runlog {

/// An event: the settings that a site's poller or trainer follows from now on.
struct Configuration {
    struct File {
        std::string name;  ///< without its folder
        std::string text;  ///< its content, byte for byte
    };
    std::vector<File> files;  ///< the run file, the model file and the site file
    json::Object source{};    ///< where the signals come from; empty for a trainer
    json::Object program{};   ///< what `--version` of the program prints

    /// Returns the SHA-256 of all of this, as hex digits.
    [[nodiscard]] std::string digest() const;
};
[[nodiscard]] Event to_event(Configuration const& configuration, Time now, std::string site);
[[nodiscard]] std::optional<Configuration> configuration_in(Event const& event);

}  // namespace curtail::runlog
