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
    std::vector<std::size_t> lines;              ///< line number of each row in the file, from 1

    void add(std::vector<std::string> row, std::size_t line)
    {
        rows.push_back(std::move(row));
        lines.push_back(line);
    }
    /// The place of a row for errors: "results/x.csv: line 12".
    [[nodiscard]] std::string place(std::size_t row) const;
    /// A field as a finite number; error code `data` with its place otherwise.
    [[nodiscard]] Result<double> number(std::size_t row, std::size_t column) const;
};

/// Reads a file whose first line must be exactly `header`. Error code `data` for a line over 1 MiB,
/// more than 10 million rows, a row of another width, an open quote or an empty line.
[[nodiscard]] Result<CsvTable> read_csv(std::filesystem::path const& file,
                                        std::string const& header);

}  // namespace curtail::reference
