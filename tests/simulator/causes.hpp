// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <set>
#include <string>

#include "protocol/records/names.hpp"
#include "simulator/process.hpp"

namespace curtail::protocol::simulator {

/// What the simulator did that lets a site exit with an error.
class Causes {
  public:
    void add_foreign_commit(CommitNumber number)
    {
        foreign_.insert(commit_name(number));
        foreign_.insert("refused commit " + std::to_string(number.value));
    }
    void add_foreign_header(std::string const& name) { foreign_.insert(name); }
    void add_damaged_payload(std::string const& name) { damaged_.insert(name); }

    /// Returns whether the process may exit like this.
    [[nodiscard]] bool explain(Exit const& exit, SimProcess const& p, SimStore const& store) const;

  private:
    [[nodiscard]] bool explain_protocol_error(Exit const& exit, SimStore const& store) const;

    std::set<std::string> foreign_;  ///< how a message names foreign objects
    std::set<std::string> damaged_;
};

}  // namespace curtail::protocol::simulator
