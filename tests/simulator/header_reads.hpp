// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <set>
#include <string>
#include <utility>

#include "protocol/site/site.hpp"

namespace curtail::protocol::simulator {

/// What one process has learned by its gets of headers. Ignores gets of other objects.
class HeaderReads {
  public:
    /// Takes that the process asks for an object.
    void ask(std::string const& name);
    /// Takes that the store handles a get, and forgets that the last one found nothing.
    void begin(std::string const& name);
    /// Takes that the store refuses a get.
    void refuse(std::string const& name, Millis now);
    /// Takes the answer to a get; null: there is no such object.
    void answer(std::string const& name, std::string const* bytes, RecordDecoder const& decoder,
                Millis now);

    [[nodiscard]] bool has_asked_for(std::string const& name) const;
    /// Returns whether the process may take the header for missing. It may if the last answer says
    /// so. It also may if the store has refused these gets since `long_ago`, or if six gets over 30
    /// s until `now` have given a damaged header. A stale answer counts, because a site cannot
    /// detect it.
    [[nodiscard]] bool allow_removal(std::string const& name, Millis long_ago, Millis now) const;

  private:
    std::set<std::string> asked_;
    std::set<std::string> missing_;                ///< by the last get
    std::map<std::string, Millis> refused_since_;  ///< first refusal since an answer
    /// By name: number of reads of a damaged header, and the time of the first.
    std::map<std::string, std::pair<int, Millis>> damaged_;
};

}  // namespace curtail::protocol::simulator
