// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "account/files.hpp"

namespace curtail::account {
namespace {

// How long a sample of a region counts.
Millis max_age_of(RegionId const& region, std::vector<config::Site> const& sites)
{
    Millis age{0};
    for (auto const& site : sites)
        if (site.region == region) age = std::max(age, site.signal_max_age);
    return age;
}

std::vector<SamplePoint> with_gaps(std::vector<SamplePoint> const& points, Millis max_age)
{
    std::vector<SamplePoint> out;
    for (auto const& point : points) {
        if (!out.empty() && point.time - out.back().time > max_age)
            out.push_back({out.back().time + Millis{1}, std::nullopt});
        out.push_back(point);
    }
    return out;
}

}  // namespace

Result<signals::SampleFile> read_samples(std::filesystem::path const& path,
                                         std::vector<config::Site> const& sites)
{
    auto file = signals::read_sample_log(path);
    if (!file) return file;
    for (auto& series : file->regions)
        series.points = with_gaps(series.points, max_age_of(series.region, sites));
    return file;
}

}  // namespace curtail::account
