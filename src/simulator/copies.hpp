// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <string>
#include <vector>

#include "simulator/store.hpp"

namespace curtail::rounds::simulator {

/// The payloads that the machine of each site keeps. They outlive the site's processes.
class Copies {
  public:
    void keep(std::size_t site, Payload const& payload);
    /// Drops all payloads of the site but `parts`.
    void keep_only(std::size_t site, std::vector<PartRef> const& parts);
    /// Drops the payload at every site.
    void lose(Digest const& digest);
    /// Returns null if the site does not keep the payload.
    [[nodiscard]] Payload const* find(std::size_t site, Digest const& digest) const;

  private:
    std::map<std::size_t, std::map<std::string, Payload>> by_site_;  ///< payloads by digest
};

}  // namespace curtail::rounds::simulator
