// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "simulator/process.hpp"

namespace curtail::protocol::simulator {

/// What has happened in a simulation.
struct History {
    std::int64_t steps{0};  ///< operations on the store and events of trainers
    int creates_refused{0};
    std::vector<Exit> exits;                       ///< in order; killed processes are not listed
    std::map<std::string, int> notes;              ///< number of notes of each type
    std::map<ProtocolState, std::int64_t> states;  ///< inputs after which a site was in the state
    bool keeps_log{false};
    std::vector<std::string> log;
    std::ostream* trace{nullptr};  ///< gets every input and output of every Site

    template <class... Text>
    void add_line(Millis now, SimProcess const& p, Text const&... text)
    {
        if (!keeps_log) return;
        auto const member = p.machine->status().member;
        auto line =
            std::to_string(now.count()) + " " + (member ? member->value : p.identity.site.value);
        ((line += std::string(" ") + text), ...);
        log.push_back(std::move(line));
    }
};

}  // namespace curtail::protocol::simulator
