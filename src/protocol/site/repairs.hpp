// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "protocol/records/record.hpp"
#include "protocol/site/phase.hpp"

namespace curtail::protocol::site {

/// Parts of the newest model, or of its momentum, that must be stored again.
struct Repair {
    std::vector<PartRef> parts;
    Phase back{Phase::run};  ///< the phase that continues afterwards
    bool copies_tried{};     ///< this process has looked for copies on its machine
    bool recompute_tried{};  ///< this process has tried to make the parts once more
    [[nodiscard]] bool tried() const { return copies_tried && recompute_tried; }
};

/// A repair of a part that this process needs and cannot read.
struct NeededRepair : Repair {
    std::string why;   ///< why the last read failed
    MonoTime until;    ///< after this time, the process gives up
    MonoTime request;  ///< earliest time of the next request to the other sites
    int no_newer{0};   ///< answers in a row that the store has no newer commit
};

/// A repair that another site has requested.
struct Service : Repair {
    MonoTime at;  ///< earliest time of the repair
};

/// The records from which a merge can be computed once more.
struct MergeSources {
    std::optional<Commit> made;    ///< the commit that made the model
    std::optional<Commit> parent;  ///< the commit before it
    std::vector<Header> headers;   ///< of the included contributions, as far as they are read
};

/// What this process knows about damaged payloads of the newest model.
struct Repairs {
    Round round;             ///< round of the model to which all other fields but `look` belong
    std::int64_t number{1};  ///< of the next request to read or to create
    int stored{0};           ///< number of services in which this process stored something
    MonoTime look{};         ///< earliest time to look for the next request
    Phase back{Phase::run};  ///< the phase that continues after a look
    std::optional<NeededRepair> need;
    std::optional<Service> service;
    bool serving{};  ///< the service is under way; otherwise, the need
    MergeSources sources;

    /// Forgets everything about the models of earlier rounds.
    void begin(Round newest)
    {
        if (round == newest) return;
        auto const next_look = look;
        *this = {};
        round = newest;
        look = next_look;
    }
    /// Returns the repair that is under way.
    [[nodiscard]] Repair& current() { return serving ? static_cast<Repair&>(*service) : *need; }
};

}  // namespace curtail::protocol::site
