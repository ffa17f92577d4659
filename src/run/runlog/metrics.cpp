// SPDX-License-Identifier: Apache-2.0
#include "run/runlog/metrics.hpp"

#include <cmath>

#include "base/core/files.hpp"
#include "base/core/json.hpp"
#include "base/core/text.hpp"

namespace curtail::runlog {
namespace {

// Reads the numbers of one line; `good` turns false at the first that is missing or not finite.
struct LineReader {
    json::Object const& line;
    bool good{true};

    double number(char const* key)
    {
        auto const value = line.number_at(key);
        good = good && value && std::isfinite(*value);
        return value.value_or(0);
    }
    std::int64_t integer(char const* key) { return static_cast<std::int64_t>(number(key)); }
    std::optional<double> number_or_null(char const* key)
    {
        auto const* found = line.find(key);
        if (found != nullptr && found->is_null()) return std::nullopt;
        return number(key);
    }
    Time time(char const* key)
    {
        auto const time = line.time_at(key);
        good = good && time.has_value();
        return time.value_or(Time{});
    }
};

std::optional<StepMetrics> parse_line(std::string_view text)
{
    auto const value = json::parse(text, "metrics");
    auto const* object = value ? value->as_object() : nullptr;
    if (object == nullptr) return std::nullopt;
    LineReader line{*object};
    StepMetrics metrics;
    metrics.time = line.time("time");
    metrics.step = line.integer("step");
    metrics.round = line.integer("round");
    metrics.tokens = {line.integer("tokens")};
    metrics.progress = {line.integer("progress_tokens")};
    metrics.loss = line.number_or_null("loss");
    metrics.duration = FractionalSeconds(line.number("step_s"));
    metrics.lr_scale = object->number_at("lr_scale").value_or(1);
    if (auto const seconds = object->number_at("monotonic_s"))
        metrics.monotonic = MonoTime{std::chrono::round<Millis>(FractionalSeconds(*seconds))};
    if (auto const joules = object->number_at("energy_j"); joules && std::isfinite(*joules))
        metrics.metered_j = joules;
    bool const negative = metrics.duration.count() < 0 || metrics.tokens < Tokens{};
    return line.good && !negative ? std::optional(metrics) : std::nullopt;
}

// Six significant digits: a run has a line per step.
double rounded(double value)
{
    if (value == 0 || !std::isfinite(value)) return value;
    double const scale = std::pow(10.0, 5 - std::floor(std::log10(std::abs(value))));
    return std::round(value * scale) / scale;
}

void add_details(json::Object& line, StepDetails const& details)
{
    auto const& phases = details.phases;
    line.set("phases_s", json::Object{{"data", rounded(phases.data.count())},
                                      {"compute", rounded(phases.compute.count())},
                                      {"exchange", rounded(phases.exchange.count())},
                                      {"update", rounded(phases.update.count())}});
    for (auto const& [key, norm] : {std::pair("gradient_norm", details.gradient_norm),
                                    std::pair("update_norm", details.update_norm)})
        line.set(key, norm ? json::Value(rounded(*norm)) : json::Value());
    if (details.energy_j) line.set("energy_j", rounded(*details.energy_j));
    if (details.mfu) line.set("mfu", rounded(*details.mfu));
    line.set("memory_bytes", details.memory.value);
    if (details.gpu_memory) line.set("gpu_memory_bytes", details.gpu_memory->value);
    if (details.new_shapes > 0) line.set("new_shapes", details.new_shapes);
}

}  // namespace

Result<void> append_metrics(std::filesystem::path const& path, StepMetrics const& metrics)
{
    json::Object line{{"time", format_time(metrics.time)},
                      {"step", metrics.step},
                      {"round", metrics.round},
                      {"tokens", metrics.tokens.value},
                      {"progress_tokens", metrics.progress.value},
                      {"loss", metrics.loss},
                      {"lr_scale", metrics.lr_scale},
                      {"step_s", metrics.duration.count()}};
    if (metrics.monotonic)
        line.set("monotonic_s", FractionalSeconds(metrics.monotonic->time_since_epoch()).count());
    if (metrics.details) add_details(line, *metrics.details);
    if (auto const& read = metrics.payloads) {
        line.set("mpi_bytes", read->by_mpi.value);
        line.set("store_bytes", read->from_store.value);
        if (!read->why_store.empty()) line.set("why_store", read->why_store);
    }
    return append_line(path, json::to_string(line), false);
}

MetricsFile parse_metrics(std::string_view text)
{
    MetricsFile file;
    file.broken_lines = read_lines(text, [&](std::string_view line) -> std::optional<Time> {
        auto parsed = parse_line(line);
        if (!parsed) return std::nullopt;
        return file.steps.emplace_back(std::move(*parsed)).time;
    });
    return file;
}

}  // namespace curtail::runlog
