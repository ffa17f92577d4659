// SPDX-License-Identifier: Apache-2.0
#include "run/samples/trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <span>

#include "base/core/csv.hpp"
#include "base/core/files.hpp"
#include "base/core/foreign_text.hpp"
#include "base/core/text.hpp"

namespace curtail::samples {
namespace {

constexpr std::string_view time_column = "point_time";

// Reads a trace line by line.
class TraceParser {
  public:
    TraceParser(std::string_view text, std::string const& source, std::size_t row_limit)
        : lines_(text), source_(source), row_limit_(row_limit)
    {
    }

    Result<Trace> parse()
    {
        auto header = next_line();
        if (!header) return tl::unexpected(header.error());
        if (!*header)
            return bad("the file is empty", "its first line must be point_time,REGION,...");
        auto regions = read_header(**header);
        if (!regions) return tl::unexpected(regions.error());
        if (auto read = read_rows(*regions); !read) return tl::unexpected(read.error());
        if (regions->front().points.empty())
            return bad("no rows after the header", "a trace has at least one row");
        set_periods(*regions);
        return Trace(source_, std::move(*regions));
    }

  private:
    // Each row has the period of its own neighbourhood: a file may change its spacing.
    static void set_periods(std::vector<RegionSeries>& regions)
    {
        std::vector<Millis> spacings;
        auto const& rows = regions.front().points;
        for (std::size_t i = 1; i < rows.size(); ++i)
            spacings.push_back(rows[i].time - rows[i - 1].time);
        if (spacings.empty()) return;
        for (std::size_t i = 0; i < rows.size(); ++i) {
            auto const period = period_of_row(spacings, i);
            for (auto& region : regions) region.points[i].period = period;
        }
    }

    // The median of the next few spacings. A row from which another spacing leads is the last one
    // before a hole: it may belong to the grid before it.
    static Millis period_of_row(std::span<Millis const> spacings, std::size_t row)
    {
        constexpr std::size_t next_rows = 5;
        auto const count = std::min(next_rows, spacings.size());
        auto const first = std::min(row, spacings.size() - count);
        std::vector<Millis> next(spacings.begin() + static_cast<std::ptrdiff_t>(first),
                                 spacings.begin() + static_cast<std::ptrdiff_t>(first + count));
        auto const middle = next.begin() + static_cast<std::ptrdiff_t>((count - 1) / 2);
        std::nth_element(next.begin(), middle, next.end());
        bool const leads_on = row < spacings.size() && spacings[row] == *middle;
        return leads_on || row == 0 ? *middle : std::min(*middle, spacings[row - 1]);
    }

    tl::unexpected<Error> bad(std::string why, std::string remedy) const
    {
        return fail(ExitCode::data,
                    fmt::format("cannot read trace {}, line {}", source_, lines_.number()),
                    std::move(why), std::move(remedy));
    }

    // Returns the next line without its line ending, and nothing at the end of the text.
    Result<std::optional<std::string_view>> next_line()
    {
        auto const line = lines_.next();
        if (!line) return line;
        if (line->size() > csv::line_limit)
            return bad(fmt::format("longer than {} bytes", csv::line_limit),
                       "check that this is a CSV file");
        if (auto const at = find_invalid_utf8(*line))
            return bad(fmt::format("invalid UTF-8 at byte {}", *at + 1),
                       "find out the file's encoding, then convert it: iconv -f ENCODING -t UTF-8");
        return line;
    }

    Result<std::vector<RegionSeries>> read_header(std::string_view line) const
    {
        auto const cells = csv::fields_of(line);
        if (!cells || trim(cells->front()) != time_column || cells->size() < 2)
            return bad("wrong header \"" + printable(line.substr(0, 80)) + "\"",
                       "it must be point_time,REGION,...");
        std::vector<RegionSeries> regions;
        std::set<std::string_view> seen;
        for (auto const& cell : std::span(*cells).subspan(1)) {
            auto const name = trim(cell);
            if (!is_plain_name(name))
                return bad("invalid region name \"" + printable(name.substr(0, 80)) + "\"",
                           "use 1 to 32 letters, digits, '_' or '-'");
            if (!seen.insert(name).second)
                return bad("region " + std::string(name) + " appears twice",
                           "keep one column per region");
            regions.push_back({{std::string(name)}, {}});
        }
        return regions;
    }

    // Appends the samples of all rows.
    Result<void> read_rows(std::vector<RegionSeries>& regions)
    {
        for (bool is_after_blank = false;;) {
            auto const line = next_line();
            if (!line) return tl::unexpected(line.error());
            if (!*line) return {};
            bool const is_blank = trim(**line).empty();
            if (is_after_blank && !is_blank)
                return bad("an empty line before this one", "remove empty lines");
            is_after_blank = is_blank;
            if (is_blank) continue;
            if (regions.front().points.size() == row_limit_)
                return bad(fmt::format("more than {} rows", row_limit_),
                           "split the trace into several files");
            if (auto row = read_row(**line, regions); !row) return row;
        }
    }

    // Appends one sample to each region.
    Result<void> read_row(std::string_view line, std::vector<RegionSeries>& regions) const
    {
        auto const cells = csv::fields_of(line);
        if (!cells)
            return bad("a quote is not closed at the end of its cell", "close or remove the quote");
        if (cells->size() != regions.size() + 1)
            return bad(
                fmt::format("{} cells, the header has {}", cells->size(), regions.size() + 1),
                "write every cell; leave it empty for no signal");
        auto const time = parse_time(trim(std::string_view(cells->front()).substr(0, 80)));
        if (!time) return bad(time.error().what + ": " + time.error().why, time.error().remedy);
        auto const& before = regions.front().points;
        if (!before.empty() && *time <= before.back().time)
            return bad(
                "time " + format_time(*time) + " is not after " + format_time(before.back().time),
                cells->front().find(":60") != std::string::npos
                    ? "remove the row of the leap second: it has the time of the second after it"
                    : "sort the rows and keep one per time");
        for (std::size_t i = 0; i < regions.size(); ++i) {
            auto const cell = read_cell(trim((*cells)[i + 1]), regions[i].region);
            if (!cell) return tl::unexpected(cell.error());
            regions[i].points.push_back({*time, *cell});
        }
        return {};
    }

    Result<std::optional<GramsPerKwh>> read_cell(std::string_view cell,
                                                 RegionId const& region) const
    {
        if (cell.empty()) return std::optional<GramsPerKwh>{};
        auto const value = parse_number<double>(cell);
        if (!value || !std::isfinite(*value))
            return bad(region.value + " is not a number: \"" + printable(cell.substr(0, 80)) + "\"",
                       "write g/kWh such as 463.6, or leave the cell empty for no signal");
        if (!is_plausible({*value}))
            return bad(fmt::format("{} is {:g} g/kWh, outside {:g} to {:g}", region.value, *value,
                                   min_intensity.value, max_intensity.value),
                       "check the unit: traces are in g/kWh");
        return std::optional(GramsPerKwh{*value});
    }

    csv::LineReader lines_;
    std::string const& source_;
    std::size_t row_limit_;
};

}  // namespace

Result<std::vector<Sample>> Trace::samples(RegionId const& region, Time from, Time to) const
{
    auto const series = std::ranges::find(series_, region, &RegionSeries::region);
    if (series == series_.end()) {
        std::vector<std::string> names;
        for (auto const& known : series_) names.push_back(known.region.value);
        return fail(ExitCode::config, "trace " + source_,
                    "no region \"" + printable(region.value) + "\"",
                    suggest_name(region.value, names));
    }
    auto const& points = series->points;
    auto const first = std::ranges::lower_bound(points, from, {}, &SamplePoint::time);
    std::vector<Sample> found;
    for (auto at = first; at != points.end() && at->time <= to; ++at)
        found.push_back({*at, "trace", SignalType::marginal, {}});
    return found;
}

Result<Trace> parse_trace(std::string_view text, std::string const& source, std::size_t row_limit)
{
    for (auto foreign : {wide_text(text), foreign_line_ends(text)})
        if (foreign)
            return fail(ExitCode::data, "cannot read trace " + source, std::move(foreign->why),
                        std::move(foreign->remedy));
    return TraceParser(text, source, row_limit).parse();
}

Result<Trace> read_trace(std::filesystem::path const& file)
{
    auto const text = read_file(file);
    if (!text) return tl::unexpected(text.error());
    return parse_trace(*text, file.string());
}

}  // namespace curtail::samples
