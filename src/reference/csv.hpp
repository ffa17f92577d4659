// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "core/result.hpp"

namespace curtail::reference {

/// Rows of a comma-separated file (RFC 4180: quoted fields, doubled quotes) without its header.
struct CsvTable {
    std::filesystem::path file;
    std::vector<std::vector<std::string>> rows;  ///< each as wide as the header
    std::vector<std::size_t> lines;  ///< line of the file on which each row stands, from 1

    /// "results/x.csv: line 12": where `row` is, for errors.
    [[nodiscard]] std::string place(std::size_t row) const;
    /// A field as a finite number; `data` with its place otherwise.
    [[nodiscard]] Result<double> number(std::size_t row, std::size_t column) const;
};

/// Reads a file whose first line must be exactly `header`. At most 1 MiB a line and 10 million
/// rows; code `data` beyond, and for a row of another width or an open quote. Empty lines are
/// refused.
[[nodiscard]] Result<CsvTable> read_csv(std::filesystem::path const& file,
                                        std::string const& header);

}  // namespace curtail::reference
