// SPDX-License-Identifier: Apache-2.0
#include "run/runlog/configuration.hpp"

#include "base/core/digest.hpp"

namespace curtail::runlog {

std::string Configuration::digest() const
{
    json::Array parts;
    for (auto const& file : files) parts.push_back(json::Array{file.name, file.text});
    parts.emplace_back(source);
    parts.emplace_back(program);
    return sha256(json::canonical(json::Value(std::move(parts)))).hex();
}

Event to_event(Configuration const& configuration, Time now, std::string site)
{
    auto files = json::array_of(configuration.files, [](Configuration::File const& file) {
        return json::Object{
            {"name", file.name}, {"sha256", sha256(file.text).hex()}, {"text", file.text}};
    });
    return {now,
            "configuration",
            std::move(site),
            {{"digest", configuration.digest()},
             {"files", std::move(files)},
             {"source", configuration.source},
             {"program", configuration.program}}};
}

std::optional<Configuration> configuration_in(Event const& event)
{
    if (event.type != "configuration") return std::nullopt;
    Configuration configuration;
    auto const object_at = [&](char const* key) {
        auto const* value = event.details.find(key);
        auto const* object = value != nullptr ? value->as_object() : nullptr;
        return object != nullptr ? *object : json::Object{};
    };
    configuration.source = object_at("source");
    configuration.program = object_at("program");
    auto const* files = event.details.find("files");
    auto const* list = files != nullptr ? files->as_array() : nullptr;
    if (list == nullptr) return configuration;
    for (auto const& value : *list)
        if (auto const* file = value.as_object())
            configuration.files.push_back({file->text_at("name"), file->text_at("text")});
    return configuration;
}

}  // namespace curtail::runlog
