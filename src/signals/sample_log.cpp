// SPDX-License-Identifier: Apache-2.0
#include "signals/sample_log.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>

#include "core/files.hpp"
#include "core/json.hpp"
#include "core/text.hpp"

namespace curtail::signals {
namespace {

// How much of the end of a file load() reads. After a restart, samples are requested again from
// the last hour or so, and this much of the file reaches back much further.
constexpr off_t loaded_bytes = off_t{256} * 1024;

// The last lines of a file, without a first line that is cut. A missing file has none.
Result<std::string> read_tail(std::filesystem::path const& path)
{
    auto const opened = open_to_read(path);
    if (!opened) return tl::unexpected(opened.error());
    if (!*opened) return std::string();
    int const fd = (*opened)->get();
    auto const failed = [&] {
        return fail(ExitCode::io, "cannot read " + path.string(), errno_text(errno));
    };
    off_t const size = lseek(fd, 0, SEEK_END);
    if (size < 0) return failed();
    off_t const begin = std::max<off_t>(0, size - loaded_bytes);
    std::string text(static_cast<std::size_t>(size - begin), '\0');
    for (std::size_t have = 0; have < text.size();) {
        ssize_t const n =
            pread(fd, text.data() + have, text.size() - have, begin + static_cast<off_t>(have));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return failed();
        if (n == 0) text.resize(have);
        have += static_cast<std::size_t>(n);
    }
    if (begin > 0) text.erase(0, text.find('\n'));
    return text;
}

constexpr char const* intensity_key = "intensity_gco2_per_kwh";

std::string line_of(RegionId const& region, Sample const& sample)
{
    json::Value intensity;
    if (auto const value = intensity_of_type(sample, SignalType::marginal))
        intensity = value->value;
    return json::to_string(json::Object{{"region", region.value},
                                        {"time", format_time(sample.time)},
                                        {intensity_key, intensity},
                                        {"provider", sample.provider}});
}

// One line of the file.
struct Line {
    std::string region;
    SamplePoint point;
    std::string provider;
};

std::optional<Line> parse_line(std::string_view text)
{
    auto const value = json::parse(text, "signals");
    auto const* object = value ? value->as_object() : nullptr;
    if (object == nullptr) return std::nullopt;
    auto const region = object->text_at("region");
    auto const time = object->time_at("time");
    auto const* intensity = object->find(intensity_key);
    if (!time || region.empty() || intensity == nullptr) return std::nullopt;
    auto const number = intensity->as_number();
    if (!intensity->is_null() && !(number && std::isfinite(*number))) return std::nullopt;
    return Line{region,
                {*time, number ? std::optional(GramsPerKwh{*number}) : std::nullopt},
                object->text_at("provider")};
}

// Samples by region, ordered by time.
class SeriesBuilder {
  public:
    void add(std::string const& region, SamplePoint const& point)
    {
        if (points_.count(region) == 0) order_.push_back(region);
        points_[region][point.time] = point.intensity;
    }
    [[nodiscard]] std::vector<RegionSeries> take() const
    {
        std::vector<RegionSeries> out;
        for (auto const& region : order_) {
            auto& series = out.emplace_back(RegionSeries{{region}, {}});
            for (auto const& [time, intensity] : points_.at(region))
                series.points.push_back({time, intensity});
        }
        return out;
    }

  private:
    std::vector<std::string> order_;
    std::map<std::string, std::map<Time, std::optional<GramsPerKwh>>> points_;
};

}  // namespace

Result<void> SampleLog::load()
{
    auto const text = read_tail(path_);
    if (!text) return tl::unexpected(text.error());
    for (auto const line : split(*text, '\n')) {
        auto const value =
            json::parse(line, path_.string(), json::Dialect::strict, json::record_limits);
        if (!value) continue;  // cut short by a crash
        json::ObjectReader r(*value, path_.string());
        RegionId const region{r.text("region")};
        auto const time = parse_time(r.text("time"));
        if (!r.error_free() || !time) continue;
        auto const known = newest_.try_emplace(region, *time).first;
        known->second = std::max(known->second, *time);
    }
    return {};
}

bool SampleLog::add(RegionId const& region, std::span<Sample const> samples)
{
    bool is_new = false;
    for (auto const& sample : samples) {
        auto const known = newest_.find(region);
        if (known != newest_.end() && sample.time <= known->second) continue;
        lines_ += (lines_.empty() ? "" : "\n") + line_of(region, sample);
        newest_[region] = sample.time;
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

Result<SampleFile> read_sample_log(std::filesystem::path const& path)
{
    auto const content = read_file_if_exists(path);
    if (!content) return tl::unexpected(content.error());
    SampleFile file;
    if (!*content) return file;
    SeriesBuilder series;
    for (auto const text : split(**content, '\n')) {
        if (trim(text).empty()) continue;
        auto const line = parse_line(text);
        if (!line) {
            ++file.broken_lines;
            continue;
        }
        series.add(line->region, line->point);
        if (!line->provider.empty()) file.providers.insert(line->provider);
    }
    file.regions = series.take();
    return file;
}

}  // namespace curtail::signals
