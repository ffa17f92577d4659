// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <tuple>

#include "base/core/json.hpp"
#include "run/samples/sample_log.hpp"
#include "run/samples/stored_answer.hpp"

namespace curtail::samples {
namespace {

// One line of a text.
struct Line {
    RegionId region;
    SignalType type{SignalType::marginal};
    SamplePoint point;
    std::string provider;
    std::optional<bool> estimated{};
    std::optional<Time> generated_at{};
    std::optional<Time> received{};
    bool contradicts_itself{false};  // what the provider sent is another value
    bool is_confirmed{false};        // by the provider's answer
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

// Whether a line has another intensity than that of the value which the provider sent.
bool contradicts_itself(json::Object const& line, std::optional<GramsPerKwh> intensity)
{
    auto const sent = line.number_at("value");
    if (line.text_at("unit") != pounds_per_mwh || !line.time_at("received")) return false;
    if (!sent || !intensity) return sent.has_value() != intensity.has_value();
    constexpr double rounding = 1e-6;
    auto const expected = from_lbs_per_mwh(*sent).value;
    return std::abs(expected - intensity->value) > rounding * std::max(1.0, std::abs(expected));
}

// Compares a line with what it says about the provider's value.
void compare_with_provider(Line& line, json::Object const& object, bool checks_answers)
{
    auto const answer = checks_answers ? check_answer(object) : AnswerCheck::agrees;
    line.is_confirmed = answer == AnswerCheck::agrees;
    line.contradicts_itself =
        answer == AnswerCheck::differs || contradicts_itself(object, line.point.intensity);
}

std::optional<Line> parse_line(std::string_view text, bool checks_answers)
{
    auto const value = json::parse(text, "signals");
    auto const* object = value ? value->as_object() : nullptr;
    if (object == nullptr) return std::nullopt;
    auto const region = object->text_at("region");
    auto const time = object->time_at("time");
    auto const kind = kind_in(*object);
    auto const* intensity = object->find("intensity_gco2_per_kwh");
    if (!time || !kind || region.empty() || intensity == nullptr) return std::nullopt;
    auto const number = intensity->as_number();
    if (!intensity->is_null() && !(number && is_plausible({*number}))) return std::nullopt;
    Line line{{region}, *kind, {*time, {}, period_in(*object)}, object->text_at("provider")};
    if (number) line.point.intensity = GramsPerKwh{*number};
    line.estimated = object->bool_at("estimated");
    line.generated_at = object->time_at("generated_at");
    line.received = object->time_at("received");
    compare_with_provider(line, *object, checks_answers);
    return line;
}

// Whether `regions` has the region, or is empty.
bool is_one_of(RegionId const& region, std::vector<RegionId> const& regions)
{
    return regions.empty() || std::ranges::find(regions, region) != regions.end();
}

// Whether two samples of one time cannot both be right.
bool differ(SamplePoint const& a, SamplePoint const& b)
{
    if (!a.intensity || !b.intensity) return false;
    return a.intensity != b.intensity || (a.period && b.period && a.period != b.period);
}

// Whether the provider computed `later` after `first`, for the same time.
bool is_revision(Line const& first, Line const& later)
{
    return first.generated_at && later.generated_at && first.received && later.received &&
           *later.generated_at > *first.generated_at && *later.received > *first.received;
}

// The samples of one region and kind in one text.
class TextSeries {
  public:
    // Adds the next line. Returns its fault, if it has one.
    std::optional<SampleFault> add(Line const& line)
    {
        auto const known = lines_.find(line.point.time);
        bool const is_known = known != lines_.end();
        if (is_known && known->second.point == line.point) return std::nullopt;
        if (is_inserted(line, is_known)) return SampleFault::inserted;
        newest_ = std::max(newest_.value_or(line.point.time), line.point.time);
        if (line.received) received_ = line.received;
        if (!is_known) lines_.emplace(line.point.time, line);
        else if (!known->second.point.intensity) known->second = line;
        else if (!differ(known->second.point, line.point)) return std::nullopt;
        else if (is_revision(known->second, line)) return SampleFault::revised;
        else return SampleFault::contradicted;
        return std::nullopt;
    }
    [[nodiscard]] std::map<Time, Line> const& lines() const { return lines_; }

  private:
    [[nodiscard]] bool is_inserted(Line const& line, bool is_known) const
    {
        constexpr Millis most_ahead = std::chrono::minutes{15};
        if (line.received && line.point.time > *line.received + most_ahead) return true;
        // A newer sample that was received earlier shows a clock that was set back.
        if (!newest_ || line.point.time > *newest_) return false;
        if (line.received && received_ && *line.received < *received_) return true;
        bool const is_asked_again = line.received && received_ && *line.received > *received_;
        return !is_known && !is_asked_again;
    }

    std::map<Time, Line> lines_;
    std::optional<Time> newest_;
    std::optional<Time> received_;  // when the newest line was
};

// Counts samples with a fault.
class Faults {
  public:
    void add(SampleFault fault, std::size_t text, std::size_t other, Time time)
    {
        auto const [found, is_new] = found_.try_emplace({text, other, fault});
        auto& faulty = found->second;
        ++faulty.count;
        faulty.from = is_new ? time : std::min(faulty.from, time);
        faulty.to = is_new ? time : std::max(faulty.to, time);
    }
    void take(RegionId const& region, SignalType type, std::vector<FaultySamples>& to) const
    {
        for (auto faulty : found_) {
            auto const& [text, other, fault] = faulty.first;
            auto& one = to.emplace_back(std::move(faulty.second));
            one.fault = fault;
            one.region = region;
            one.type = type;
            one.text = text;
            one.other = other;
        }
    }

  private:
    std::map<std::tuple<std::size_t, std::size_t, SampleFault>, FaultySamples> found_;
};

// The samples of one region and kind in all texts.
class Series {
  public:
    // `range` is when the sample may have been received.
    void add(std::size_t text, Line const& line, TimeRange range)
    {
        bool const is_possible =
            !line.received || (*line.received >= range.from && *line.received <= range.to);
        auto fault = is_possible ? texts_[text].add(line) : SampleFault::inserted;
        if (!fault && line.contradicts_itself) fault = SampleFault::contradicted;
        if (!fault && !line.is_confirmed) unconfirmed_.add({}, text, text, line.point.time);
        if (!fault) return;
        faults_.add(*fault, text, text, line.point.time);
        if (*fault == SampleFault::contradicted) unknown_.insert(line.point.time);
    }
    // Compares the texts with each other.
    void finish()
    {
        for (auto const& [text, series] : texts_)
            for (auto const& [time, line] : series.lines()) {
                auto const [known, is_new] = merged_.try_emplace(time, text, line);
                if (is_new) continue;
                auto& [first_text, first] = known->second;
                if (differ(first.point, line.point)) contradict(first_text, text, time);
                if (!first.point.intensity) known->second = {text, line};
                else if (!first.point.period) first.point.period = line.point.period;
            }
        for (auto const& [text, series] : texts_)
            for (auto const& [other, others] : texts_)
                if (text != other) compare_between(text, series.lines(), other, others.lines());
    }
    void take(RegionId const& region, SignalType type, SampleFile& file) const
    {
        faults_.take(region, type, file.faults);
        unconfirmed_.take(region, type, file.unconfirmed);
        bool const is_marginal = type == SignalType::marginal;
        auto& all = is_marginal ? file.regions : file.averages;
        if (merged_.empty()) return;
        auto& points = all.emplace_back(RegionSeries{region, {}}).points;
        for (auto const& [time, entry] : merged_) {
            auto point = entry.second.point;
            if (unknown_.contains(time)) point.intensity.reset();
            points.push_back(point);
            if (!is_marginal) continue;
            ++file.samples;
            file.estimated += entry.second.estimated.value_or(false) ? 1 : 0;
            if (auto const& provider = entry.second.provider; !provider.empty())
                file.providers.insert(provider);
        }
    }

  private:
    void contradict(std::size_t text, std::size_t other, Time time)
    {
        faults_.add(SampleFault::contradicted, text, other, time);
        unknown_.insert(time);
    }
    // A signal has no third value between two samples that are close to each other. A provider may
    // publish a value late, so two changes may be less than a period apart.
    void compare_between(std::size_t text, std::map<Time, Line> const& lines, std::size_t other,
                         std::map<Time, Line> const& others)
    {
        for (auto const& [time, line] : lines) {
            auto const after = others.lower_bound(time);
            if (after == others.end() || after == others.begin() || after->first == time) continue;
            auto const& before = std::prev(after)->second.point;
            auto const period = std::max(before.period, line.point.period);
            if (!period || after->first - before.time > *period / 2) continue;
            auto const& first = before.intensity;
            auto const& last = after->second.point.intensity;
            auto const& between = line.point.intensity;
            if (first && last && between && between != first && between != last)
                contradict(text, other, time);
        }
    }

    std::map<std::size_t, TextSeries> texts_;
    std::map<Time, std::pair<std::size_t, Line>> merged_;
    std::set<Time> unknown_;
    Faults faults_;
    Faults unconfirmed_;
};

}  // namespace

SampleFile parse_samples(std::span<SampleText const> texts)
{
    std::vector<RegionId> order;
    std::map<std::pair<RegionId, SignalType>, Series> all;
    SampleFile file;
    file.receipts.resize(texts.size());
    for (std::size_t t = 0; t < texts.size(); ++t)
        file.broken_lines.push_back(
            read_lines(texts[t].text, [&](std::string_view one) -> std::optional<Time> {
                auto const line = parse_line(one, texts[t].checks_answers);
                if (!line || !is_one_of(line->region, texts[t].regions)) return std::nullopt;
                if (std::ranges::find(order, line->region) == order.end())
                    order.push_back(line->region);
                if (line->received && line->point.intensity && line->type == SignalType::marginal)
                    file.receipts[t][line->region].try_emplace(line->point.time, *line->received);
                all[{line->region, line->type}].add(t, *line, texts[t].received);
                return line->point.time;
            }));
    for (auto const& region : order)
        for (auto const type : {SignalType::marginal, SignalType::average})
            if (auto const found = all.find({region, type}); found != all.end()) {
                found->second.finish();
                found->second.take(region, type, file);
            }
    return file;
}

}  // namespace curtail::samples
