// SPDX-License-Identifier: Apache-2.0
#include "run/config/read.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace curtail::config {

std::filesystem::path resolve(std::filesystem::path const& file, std::string const& path)
{
    return (std::filesystem::absolute(file).parent_path() / path).lexically_normal();
}

std::filesystem::path read_path(json::ObjectReader& r, std::filesystem::path const& file,
                                std::string const& key, std::optional<std::string> fallback)
{
    auto const path = r.text(key, std::move(fallback));
    r.require(!path.empty(), key, "must not be empty");
    return resolve(file, path);
}

std::int64_t read_integer(json::ObjectReader& r, std::string const& key,
                          std::optional<std::int64_t> fallback, std::int64_t min, std::int64_t max)
{
    auto const value = r.integer(key, fallback);
    r.require(value >= min && value <= max, key, fmt::format("must be {} to {}", min, max));
    return std::clamp(value, min, max);
}

double read_number(json::ObjectReader& r, std::string const& key, double fallback, double min,
                   double max)
{
    auto const value = r.number(key, fallback);
    r.require(value >= min && value <= max, key, fmt::format("must be {} to {}", min, max));
    return std::clamp(value, min, max);
}

Millis read_seconds(json::ObjectReader& r, std::string const& key, Millis fallback)
{
    double const seconds = r.number(key, FractionalSeconds(fallback).count());
    r.require(seconds >= 0.001 && seconds <= 1e9, key, "must be 0.001 to 1e9 seconds");
    return r.error_free() ? Millis{std::llround(seconds * 1000)} : fallback;
}

}  // namespace curtail::config
