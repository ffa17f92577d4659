// SPDX-License-Identifier: Apache-2.0
#include "trainer/evaluate/contents.hpp"

#include <fmt/format.h>

#include <cmath>

#include "base/core/text.hpp"
#include "storage/tensors/reader.hpp"

namespace curtail::evaluate {
namespace {

json::Object describe_tensor(std::string const& name, char const* type,
                             std::vector<std::int64_t> const& shape)
{
    return {{"name", name}, {"type", type}, {"shape", json::Array(shape.begin(), shape.end())}};
}

void add_statistics(json::Object& tensor, std::span<float const> values)
{
    double squares = 0;
    double greatest = 0;
    std::int64_t broken = 0;
    for (float v : values) {
        if (!std::isfinite(v)) {
            ++broken;
            continue;
        }
        squares += static_cast<double>(v) * v;
        greatest = std::max(greatest, std::abs(static_cast<double>(v)));
    }
    auto const finite = static_cast<double>(values.size()) - static_cast<double>(broken);
    tensor.set("rms", finite > 0 ? std::sqrt(squares / finite) : 0.0);
    tensor.set("greatest", greatest);
    tensor.set("not_finite", broken);
}

std::string shape_text(json::Array const& sides)
{
    std::string text;
    for (auto const& side : sides)
        text += (text.empty() ? "" : " x ") + std::to_string(*side.as_integer());
    return text.empty() ? "scalar" : text;
}

std::string tensor_line(json::Object const& tensor)
{
    auto const number = [&](char const* key) { return tensor.find(key)->as_number().value_or(0); };
    auto line =
        fmt::format("{:<48} {:<8} {:>16}", *tensor.find("name")->as_text(),
                    *tensor.find("type")->as_text(), shape_text(*tensor.find("shape")->as_array()));
    if (tensor.find("rms") == nullptr) return line + "\n";
    line += fmt::format("  rms {:<10.4g} max abs {:<10.4g}", number("rms"), number("greatest"));
    if (number("not_finite") > 0) line += fmt::format(" {:.0f} NOT FINITE", number("not_finite"));
    return line + "\n";
}

}  // namespace

Result<json::Object> describe_tensors(std::filesystem::path const& file)
{
    auto const reader = tensors::TensorReader::open(file);
    if (!reader) return tl::unexpected(reader.error());
    json::Array list;
    std::int64_t elements = 0;
    for (auto const& info : reader->list()) {
        auto tensor = describe_tensor(info.name, tensors::name_of(info.dtype), info.shape);
        if (info.dtype == tensors::Dtype::float32) {
            auto const values = reader->read<float>(info.name);
            if (!values) return tl::unexpected(values.error());
            add_statistics(tensor, *values);
        }
        elements += info.elements();
        list.emplace_back(std::move(tensor));
    }
    return json::Object{{"file", file.string()},
                        {"attributes", reader->attributes()},
                        {"elements", elements},
                        {"tensors", list}};
}

json::Object describe_commit(CommittedModel const& model)
{
    auto const& commit = model.commit;
    json::Array list;
    for (auto const& place : model::parameter_places(model.weights.shape())) {
        auto tensor = describe_tensor(place.name, "float32", place.shape);
        add_statistics(tensor,
                       model.weights.values().subspan(static_cast<std::size_t>(place.offset),
                                                      static_cast<std::size_t>(place.numel())));
        list.emplace_back(std::move(tensor));
    }
    auto const& part = commit.model.weights;
    json::Array parts{
        json::Object{{"name", part.name}, {"bytes", part.bytes}, {"sha256", part.sha256.hex()}}};
    json::Object about{{"run", commit.run.value},
                       {"commit", commit.number.value},
                       {"kind", protocol::to_text(commit.kind)},
                       {"round", commit.round.value},
                       {"model_of_round", commit.model.round.value},
                       {"tokens", commit.totals.tokens.value},
                       {"steps", commit.totals.steps},
                       {"time", format_time(commit.time)}};
    return json::Object{{"attributes", about},
                        {"parts", std::move(parts)},
                        {"elements", model.weights.numel()},
                        {"tensors", std::move(list)}};
}

std::string contents_text(json::Object const& description)
{
    std::string text;
    if (auto const* file = description.find("file")) text += printable(*file->as_text()) + "\n";
    for (auto const& [key, value] : description.find("attributes")->as_object()->members())
        text += fmt::format(
            "{:<16} {}\n", key,
            printable(value.as_text() != nullptr ? *value.as_text() : json::to_string(value)));
    if (auto const* parts = description.find("parts"))
        for (auto const& part : *parts->as_array())
            text += fmt::format("{:<16} {}\n", "stored as", json::to_string(part));
    text += fmt::format("{:<16} {}\n\n", "values", *description.find("elements")->as_integer());
    for (auto const& tensor : *description.find("tensors")->as_array())
        text += tensor_line(*tensor.as_object());
    return text;
}

}  // namespace curtail::evaluate
