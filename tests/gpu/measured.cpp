// SPDX-License-Identifier: Apache-2.0
#include "gpu/measured.hpp"

#include <fmt/format.h>

#include <cmath>

namespace curtail::check {
namespace {

constexpr double microseconds = 1e6;

// The columns after the name.
constexpr char const* columns = "{:<36}  {:>9}  {:>9}  {:>10}  {:>10}  {:>6}";

json::Value number_or_null(double x) { return std::isfinite(x) ? json::Value(x) : json::Value(); }

}  // namespace

std::string heading()
{
    return fmt::format(fmt::runtime(std::string(columns) + "\n"), "name", "max error", "tolerance",
                       "ours (us)", "ATen (us)", "ratio");
}

std::string to_text(Measured const& line)
{
    auto const& times = line.times;
    auto const in_us = [](double s) { return fmt::format("{:.1f}", s * microseconds); };
    return fmt::format(fmt::runtime(std::string(columns) + "  {}\n"), line.name,
                       fmt::format("{:.2e}", line.error), fmt::format("{:.2e}", line.tolerance),
                       times ? in_us(times->ours_s) : "-", times ? in_us(times->reference_s) : "-",
                       times ? fmt::format("{:.2f}", times->reference_s / times->ours_s) : "-",
                       line.good() ? "ok" : "WRONG");
}

json::Object to_json(Measured const& line)
{
    json::Object object{{"name", line.name},
                        {"error", number_or_null(line.error)},
                        {"tolerance", line.tolerance},
                        {"good", line.good()}};
    if (line.times)
        object.set("ours_s", line.times->ours_s).set("reference_s", line.times->reference_s);
    return object;
}

}  // namespace curtail::check
