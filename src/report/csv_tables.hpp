// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "account/account.hpp"

namespace curtail::report {

/// A table of the report for other programs. A value that is unknown is an empty field.
struct CsvTable {
    std::string name;               ///< name of the file, without `.csv`
    std::vector<std::string> head;  ///< names of the columns, with units
    std::vector<std::vector<std::string>> rows;
    /// Returns the table as CSV (RFC 4180) in UTF-8, with a header row.
    [[nodiscard]] std::string text() const;
};

/// Returns every table of the report (docs/report.md lists them). Points in time are in UTC
/// (ISO 8601), on the signal's clock. Numbers are not rounded, and no row is left out.
[[nodiscard]] std::vector<CsvTable> csv_tables(account::Account const& account);

}  // namespace curtail::report
