// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "account/account.hpp"

namespace curtail::report {

/// A table for a terminal: a head, then rows, with two spaces between columns. Text is aligned
/// left, numbers right.
class TextTable {
  public:
    /// `left`: how many leading columns are text.
    explicit TextTable(std::vector<std::string> head, std::size_t left = 1) : left_(left)
    {
        rows_.push_back(std::move(head));
    }
    void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
    [[nodiscard]] std::string text() const;

  private:
    std::size_t left_;
    std::vector<std::vector<std::string>> rows_;
};

/// The tables at the end of a run: decisions, sites, always-on, commits, loss. Control characters
/// in names and reasons are escaped.
[[nodiscard]] std::string summary_text(account::Account const& account);

}  // namespace curtail::report
