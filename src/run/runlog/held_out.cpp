// SPDX-License-Identifier: Apache-2.0
#include "run/runlog/held_out.hpp"

#include <cmath>

#include "base/core/text.hpp"

namespace curtail::runlog {
namespace {

// JSON has no numbers that are not finite.
json::Value finite(std::optional<double> const& value)
{
    return value && std::isfinite(*value) ? json::Value(*value) : json::Value();
}

// Reads the required keys of one line; `good` turns false at the first that is missing or invalid.
struct LineReader {
    json::Object const& line;
    bool good{true};

    std::int64_t integer(char const* key)
    {
        auto const value = line.integer_at(key);
        good = good && value && *value >= 0;
        return value.value_or(0);
    }
    Digest digest(char const* key)
    {
        auto const value = Digest::from_hex(line.text_at(key));
        good = good && value;
        return value.value_or(Digest{});
    }
};

std::optional<HeldOutLine> parse_line(std::string_view text)
{
    auto const value = json::parse(text, "evaluation");
    auto const* object = value ? value->as_object() : nullptr;
    auto const time = object != nullptr ? object->time_at("time") : std::nullopt;
    if (!time) return std::nullopt;
    LineReader reader{*object};
    HeldOutLine line;
    line.time = *time;
    line.commit = {reader.integer("commit")};
    line.round = {reader.integer("round")};
    line.trained = {reader.integer("trained_tokens")};
    line.model = reader.digest("model");
    line.data = reader.digest("data");
    line.missing = object->text_at("missing");
    bool const known =
        line.is_evaluated() || line.missing == model_deleted || line.missing == model_damaged;
    if (!reader.good || !known) return std::nullopt;
    line.duration = FractionalSeconds(object->number_at("duration_s").value_or(0));
    if (!line.is_evaluated()) return line;
    line.tokens = {reader.integer("tokens")};
    line.loss = object->number_at("held_out_loss_nats");
    line.standard_error = object->number_at("held_out_loss_se");
    line.unigram_entropy = object->number_at("unigram_entropy_nats");
    line.bits_per_byte = object->number_at("bits_per_byte");
    return reader.good ? std::optional(line) : std::nullopt;
}

}  // namespace

json::Object to_json(HeldOutLine const& line)
{
    json::Object out{{"time", format_time(line.time)},     {"commit", line.commit.value},
                     {"round", line.round.value},          {"trained_tokens", line.trained.value},
                     {"model", line.model.hex()},          {"data", line.data.hex()},
                     {"duration_s", line.duration.count()}};
    if (!line.is_evaluated()) return out.set("missing", line.missing);
    out.set("tokens", line.tokens.value)
        .set("held_out_loss_nats", finite(line.loss))
        .set("held_out_loss_se", finite(line.standard_error))
        .set("unigram_entropy_nats", finite(line.unigram_entropy))
        .set("bits_per_byte", finite(line.bits_per_byte));
    return out;
}

HeldOutFile parse_held_out(std::string_view text)
{
    HeldOutFile file;
    file.broken_lines = read_lines(text, [&](std::string_view line) -> std::optional<Time> {
        auto parsed = parse_line(line);
        if (!parsed) return std::nullopt;
        return file.lines.emplace_back(std::move(*parsed)).time;
    });
    return file;
}

}  // namespace curtail::runlog
