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

constexpr char const* intensity_key = "intensity_gco2_per_kwh";

std::string line_of(RegionId const& region, Sample const& sample)
{
    json::Object line{{"region", region.value},
                      {"time", format_time(sample.time)},
                      {intensity_key, json::value_or_null(sample.intensity)},
                      {"provider", sample.provider},
                      {"kind", to_string(sample.type)}};
    if (sample.period) line.set("period_s", FractionalSeconds(*sample.period).count());
    if (sample.estimated) line.set("estimated", *sample.estimated);
    if (sample.generated_at) line.set("generated_at", format_time(*sample.generated_at));
    if (sample.origin) add_origin(line, *sample.origin);
    return json::to_string(line);
}

// One line of the file.
struct Line {
    std::string region;
    Sample sample;
};

// Curtail once wrote only marginal samples, without the key `kind`.
std::optional<SignalType> kind_in(json::Object const& line)
{
    return line.find("kind") == nullptr ? SignalType::marginal
                                        : signal_type_named(line.text_at("kind"));
}

std::optional<Millis> period_in(json::Object const& line)
{
    auto const seconds = line.number_at("period_s").value_or(0);
    if (!(seconds > 0 && seconds <= 1e9)) return std::nullopt;
    return std::chrono::round<Millis>(FractionalSeconds(seconds));
}

std::optional<Line> parse_line(std::string_view text)
{
    auto const value = json::parse(text, "signals");
    auto const* object = value ? value->as_object() : nullptr;
    if (object == nullptr) return std::nullopt;
    auto const region = object->text_at("region");
    auto const time = object->time_at("time");
    auto const kind = kind_in(*object);
    auto const* intensity = object->find(intensity_key);
    if (!time || !kind || region.empty() || intensity == nullptr) return std::nullopt;
    auto const number = intensity->as_number();
    if (!intensity->is_null() && !(number && is_plausible({*number}))) return std::nullopt;
    Line line{region, {}};
    line.sample.time = *time;
    if (number) line.sample.intensity = GramsPerKwh{*number};
    line.sample.period = period_in(*object);
    line.sample.provider = object->text_at("provider");
    line.sample.type = *kind;
    line.sample.estimated = object->bool_at("estimated");
    return line;
}

// Samples of one kind by region, ordered by time.
class SeriesBuilder {
  public:
    void add(std::string const& region, Sample const& sample)
    {
        if (samples_.count(region) == 0) order_.push_back(region);
        auto const [known, is_new] = samples_[region].try_emplace(sample.time, sample);
        if (!is_new && known->second.intensity != sample.intensity) ++contradictions_;
    }
    [[nodiscard]] std::int64_t contradictions() const { return contradictions_; }
    [[nodiscard]] std::vector<RegionSeries> take() const
    {
        std::vector<RegionSeries> out;
        for (auto const& region : order_) {
            auto& series = out.emplace_back(RegionSeries{{region}, {}});
            for (auto const& [time, sample] : samples_.at(region)) series.points.push_back(sample);
        }
        return out;
    }
    // Calls `visit` with each sample that counts.
    template <class Visit>
    void each(Visit const& visit) const
    {
        for (auto const& [region, samples] : samples_)
            for (auto const& [time, sample] : samples) visit(sample);
    }

  private:
    std::vector<std::string> order_;
    std::map<std::string, std::map<Time, Sample>> samples_;
    std::int64_t contradictions_{0};
};

// Whether `regions` has the region, or is empty.
bool is_one_of(RegionId const& region, std::vector<RegionId> const& regions)
{
    return regions.empty() || std::ranges::find(regions, region) != regions.end();
}

SampleFile file_of(std::map<SignalType, SeriesBuilder>& series,
                   std::vector<BrokenLines> broken_lines)
{
    SampleFile file;
    file.broken_lines = std::move(broken_lines);
    for (auto const& [type, builder] : series) file.contradictions += builder.contradictions();
    file.regions = series[SignalType::marginal].take();
    file.averages = series[SignalType::average].take();
    series[SignalType::marginal].each([&](Sample const& sample) {
        ++file.samples;
        file.estimated += sample.estimated.value_or(false) ? 1 : 0;
        if (!sample.provider.empty()) file.providers.insert(sample.provider);
    });
    return file;
}

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
        lines_ += (lines_.empty() ? "" : "\n") + line_of(region, sample);
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

SampleFile parse_samples(std::span<SampleText const> texts)
{
    std::map<SignalType, SeriesBuilder> series;
    std::vector<BrokenLines> broken_lines;
    for (auto const& log : texts)
        broken_lines.push_back(
            read_lines(log.text, [&](std::string_view one) -> std::optional<Time> {
                auto const line = parse_line(one);
                if (!line || !is_one_of(RegionId{line->region}, log.regions)) return std::nullopt;
                series[line->sample.type].add(line->region, line->sample);
                return line->sample.time;
            }));
    return file_of(series, std::move(broken_lines));
}

}  // namespace curtail::samples
