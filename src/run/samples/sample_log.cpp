// SPDX-License-Identifier: Apache-2.0
#include "run/samples/sample_log.hpp"

#include <algorithm>

#include "base/core/files.hpp"
#include "base/core/json.hpp"
#include "base/core/text.hpp"

namespace curtail::samples {
namespace {

// load() reads so much of the end of a file. After a restart, samples are requested again from
// the last hour or so, and this much of the file reaches back much further.
constexpr std::int64_t loaded_bytes = std::int64_t{256} * 1024;

}  // namespace

Result<void> SampleLog::load()
{
    auto const text = read_end(path_, loaded_bytes);
    if (!text) return tl::unexpected(text.error());
    for (auto const line : split(*text, '\n')) {
        auto const value =
            json::parse(line, path_.string(), json::Dialect::strict, json::record_limits);
        if (!value) continue;  // cut short, by a crash or as the first of these lines
        json::ObjectReader r(*value, path_.string());
        RegionId const region{r.text("region")};
        auto const time = parse_time(r.text("time"));
        auto const kind = signal_type_named(r.text("kind", to_string(SignalType::marginal)));
        if (!r.error_free() || !time || !kind) continue;
        auto const known = newest_.try_emplace({region, *kind}, *time).first;
        known->second = std::max(known->second, *time);
    }
    return {};
}

bool SampleLog::add(RegionId const& region, std::span<Sample const> samples)
{
    bool is_new = false;
    for (auto const& sample : samples) {
        std::pair const key(region, sample.type);
        auto const known = newest_.find(key);
        if (known != newest_.end() && sample.time <= known->second) continue;
        lines_ += (lines_.empty() ? "" : "\n") + json::to_string(line_of(region, sample));
        newest_[key] = sample.time;
        is_new = true;
    }
    return is_new;
}

Result<void> SampleLog::write()
{
    if (lines_.empty()) return {};
    std::error_code error;
    auto const size = std::filesystem::file_size(path_, error);
    auto written = append_line(path_, lines_, true);
    if (written) lines_.clear();
    else if (!error)
        // A full disk took some of the lines: the next write repeats all of them.
        std::filesystem::resize_file(path_, size, error);
    else std::filesystem::remove(path_, error);
    return written;
}

}  // namespace curtail::samples
