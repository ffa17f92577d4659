// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "simulator/store.hpp"

namespace curtail::protocol::simulator {

/// A site's folder: the site's index, and the number of the folder.
using SiteFolder = std::pair<std::size_t, int>;

/// The payloads that the machine of each site keeps, and the commits in each of its folders. They
/// outlive the site's processes.
class Copies {
  public:
    void keep_commit(SiteFolder const& folder, CommitNumber number, std::string const& bytes);
    /// Returns the copy of the commit of this name; null: there is none.
    [[nodiscard]] std::string const* commit(SiteFolder const& folder,
                                            std::string const& name) const;
    /// Returns the greatest commit of which there is a copy. Empty: there is none.
    [[nodiscard]] std::optional<CommitRef> newest_commit(SiteFolder const& folder) const;
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
    std::map<std::size_t, std::map<std::string, Copy>> by_site_;        ///< copies by digest
    std::map<SiteFolder, std::map<std::string, std::string>> commits_;  ///< bytes by name
};

}  // namespace curtail::protocol::simulator
