// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "account/account.hpp"

namespace curtail::report {

/// A table of text for a terminal: a head, then rows, columns two spaces apart; the first column to
/// the left, numbers to the right.
class TextTable {
  public:
    /// `left`: how many leading columns are words.
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

/// What a person sees at the end of a run: decisions, sites, always-on, commits, loss. Foreign text
/// is made printable.
[[nodiscard]] std::string summary_text(account::Account const& account);

}  // namespace curtail::report
