// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "core/result.hpp"

namespace curtail::reference {

/// The rows of a comma-separated file (core/csv.hpp), without the header line.
struct CsvTable {
    std::filesystem::path file;
    std::vector<std::vector<std::string>> rows;  ///< each has as many fields as the header line
    std::vector<std::size_t> lines;  ///< line number of each row in the file, counted from 1

    /// Appends a row, which is line `line` of the file.
    void add(std::vector<std::string> row, std::size_t line)
    {
        rows.push_back(std::move(row));
        lines.push_back(line);
    }
    /// Returns where a row is, for error messages: "results/x.csv: line 12".
    [[nodiscard]] std::string place(std::size_t row) const;
    /// Returns a field as a finite number; `row` and `column` count from 0. Fails with `data` if
    /// the field is not such a number; the error names the place.
    [[nodiscard]] Result<double> number(std::size_t row, std::size_t column) const;
};

/// Reads a file. Fails with `data` if its first line is not exactly `header`. Fails with `data` if
/// a line is empty or longer than 1 MiB, or if there are more than 10 million rows. Fails with
/// `data` if a row has another number of fields than the header line, or if a quote is not closed.
[[nodiscard]] Result<CsvTable> read_csv(std::filesystem::path const& file,
                                        std::string const& header);

}  // namespace curtail::reference
