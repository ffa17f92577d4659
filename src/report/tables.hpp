// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "account/account.hpp"

namespace curtail::report {

/// A table for a terminal: a head and then rows, with two spaces between columns. Text is aligned
/// to the left, and numbers to the right.
class TextTable {
  public:
    /// Starts a table. The first `left` columns contain text. If `left` is more than 1, the last
    /// column contains text too. The other columns contain numbers.
    explicit TextTable(std::vector<std::string> head, std::size_t left = 1) : left_(left)
    {
        rows_.push_back(std::move(head));
    }
    /// Appends a row.
    void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
    /// Returns the table as text.
    [[nodiscard]] std::string text() const;

  private:
    std::size_t left_;
    std::vector<std::vector<std::string>> rows_;
};

/// Returns the text that curtail-report prints. The text begins with the run's name and status.
/// Then come tables: when windows opened and closed, the sites' bills, the sites' work, latencies,
/// and always-on training. Statements for auditors follow, then lines about commits and loss.
/// Control characters in names and reasons are escaped.
[[nodiscard]] std::string summary_text(account::Account const& account);

}  // namespace curtail::report
