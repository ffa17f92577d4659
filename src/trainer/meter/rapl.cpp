// SPDX-License-Identifier: Apache-2.0
#include "trainer/meter/rapl.hpp"

#include <algorithm>
#include <string>

#include "base/core/files.hpp"
#include "base/core/text.hpp"

namespace curtail::meter {
namespace {

std::optional<std::int64_t> number_in(std::filesystem::path const& file)
{
    auto const text = read_file(file);
    auto const number = text ? leading_integer(*text) : std::nullopt;
    return number && *number >= 0 ? number : std::nullopt;
}

// intel-rapl:0 is a processor, intel-rapl:0:1 a part of it.
bool is_processor(std::string const& name)
{
    return name.starts_with("intel-rapl:") && std::count(name.begin(), name.end(), ':') == 1;
}

}  // namespace

Rapl::Rapl(std::filesystem::path const& powercap)
{
    std::error_code ignored;
    for (auto const& entry : std::filesystem::directory_iterator(powercap, ignored)) {
        if (!is_processor(entry.path().filename().string())) continue;
        auto const file = entry.path() / "energy_uj";
        if (auto const range = number_in(entry.path() / "max_energy_range_uj"))
            counters_.push_back({file, *range, number_in(file)});
    }
}

std::optional<double> Rapl::take_j()
{
    bool complete = !counters_.empty();
    double sum_uj = 0;
    for (auto& [file, range, last] : counters_) {
        auto const now = number_in(file);
        if (!now || !last) complete = false;
        else sum_uj += static_cast<double>(*now >= *last ? *now - *last : range - *last + *now);
        last = now;
    }
    return complete ? std::optional(1e-6 * sum_uj) : std::nullopt;
}

}  // namespace curtail::meter
