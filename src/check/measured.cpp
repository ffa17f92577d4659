// SPDX-License-Identifier: Apache-2.0
#include "check/measured.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace curtail::check {
namespace {

constexpr double microseconds = 1e6;

std::string line_of(Measured const& measured, std::size_t width)
{
    auto const& times = measured.times;
    auto const in_us = [](double s) { return fmt::format("{:.1f}", s * microseconds); };
    return fmt::format("{:<{}}  {:>9.2e}  {:>9.2e}  {:>10}  {:>10}  {:>6}  {}\n", measured.name,
                       width, measured.error, measured.tolerance,
                       times ? in_us(times->ours_s) : "-", times ? in_us(times->reference_s) : "-",
                       times ? fmt::format("{:.2f}", times->reference_s / times->ours_s) : "-",
                       measured.good() ? "ok" : "WRONG");
}

json::Value number_or_null(double x) { return std::isfinite(x) ? json::Value(x) : json::Value(); }

}  // namespace

bool all_good(std::vector<Measured> const& lines)
{
    return std::all_of(lines.begin(), lines.end(), [](auto const& line) { return line.good(); });
}

std::string to_text(std::vector<Measured> const& lines)
{
    std::size_t width = 4;
    for (auto const& line : lines) width = std::max(width, line.name.size());
    auto text = fmt::format("{:<{}}  {:>9}  {:>9}  {:>10}  {:>10}  {:>6}\n", "name", width,
                            "max error", "tolerance", "ours (us)", "ATen (us)", "ratio");
    for (auto const& line : lines) text += line_of(line, width);
    return text;
}

json::Array to_json(std::vector<Measured> const& lines)
{
    json::Array array;
    for (auto const& line : lines) {
        json::Object object{{"name", line.name},
                            {"error", number_or_null(line.error)},
                            {"tolerance", line.tolerance},
                            {"good", line.good()}};
        if (line.times)
            object.set("ours_s", line.times->ours_s).set("reference_s", line.times->reference_s);
        array.emplace_back(std::move(object));
    }
    return array;
}

}  // namespace curtail::check
