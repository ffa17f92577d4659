#include "config/read.hpp"

#include <cmath>

namespace curtail::config {

Result<json::Value> read_file(std::filesystem::path const& file)
{
    return json::parse_file(file).map_error([](Error error) {
        if (error.code == ExitCode::data) error.code = ExitCode::config;
        return error;
    });
}

std::filesystem::path resolve(std::filesystem::path const& file, std::string const& path)
{
    return (std::filesystem::absolute(file).parent_path() / path).lexically_normal();
}

Millis read_seconds(json::ObjectReader& r, std::string const& key, Millis fallback)
{
    double const seconds = r.number(key, FractionalSeconds(fallback).count());
    r.require(seconds >= 0.001 && seconds <= 1e9, key, "must be 0.001 to 1e9 seconds");
    return r.good() ? Millis{std::llround(seconds * 1000)} : fallback;
}

}  // namespace curtail::config
