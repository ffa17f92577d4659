// SPDX-License-Identifier: Apache-2.0
#include "run/config/read.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>

#include "base/core/files.hpp"
#include "base/core/trust.hpp"

namespace curtail::config {

std::filesystem::path resolve(std::filesystem::path const& file, std::string const& path)
{
    return (std::filesystem::absolute(file).parent_path() / path).lexically_normal();
}

Result<json::Value> read_settings(std::filesystem::path const& file,
                                  std::vector<SettingsFile>& files)
{
    auto const opened = open_to_read(file);
    if (!opened) return tl::unexpected(opened.error());
    if (!*opened)
        return fail(ExitCode::no_input, "cannot read " + file.string(), errno_text(ENOENT));
    int const fd = (*opened)->get();
    auto text = read_descriptor(fd, file.string(), json::document_limits.bytes);
    if (!text) return tl::unexpected(text.error());
    files.push_back({file, std::move(*text), find_foreign_access(fd, file, trust_in_colleagues())});
    return json::parse(files.back().text, file.string(), json::Dialect::comments)
        .map_error([](Error error) {
            if (error.code == ExitCode::data) error.code = ExitCode::config;
            return error;
        });
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

double read_number(json::ObjectReader& r, std::string const& key, std::optional<double> fallback,
                   double min, double max)
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
