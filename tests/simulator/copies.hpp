// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <string>
#include <vector>

#include "simulator/store.hpp"

namespace curtail::protocol::simulator {

/// The payloads that the machine of each site keeps. They outlive the site's processes.
class Copies {
  public:
    /// Keeps a payload that the store has under `name`.
    void keep(std::size_t site, std::string const& name, Payload const& payload);
    /// Drops the payloads of the site but `parts` and those of later rounds.
    void keep_only(std::size_t site, std::vector<PartRef> const& parts);
    /// Drops the payload at every site.
    void lose(Digest const& digest);
    /// Returns null if the site does not keep the payload.
    [[nodiscard]] Payload const* find(std::size_t site, Digest const& digest) const;

  private:
    struct Copy {
        Round round;  ///< that would begin with the payload
        Payload payload;
    };
    std::map<std::size_t, std::map<std::string, Copy>> by_site_;  ///< copies by digest
};

}  // namespace curtail::protocol::simulator
