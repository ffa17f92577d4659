// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <stdexcept>
#include <string>

#include "base/core/digest.hpp"
#include "base/core/json.hpp"

namespace curtail::protocol::simulator {

/// Returns the record with the text `old` replaced by `text`, and with the digest that fits. So it
/// may break a rule that protocol::encode() keeps.
inline std::string edited_record(std::string bytes, std::string const& old, std::string const& text)
{
    auto const at = bytes.find(old);
    if (at == bytes.npos) throw std::logic_error("no " + old + " in " + bytes);
    bytes.replace(at, old.size(), text);
    auto object = *json::parse(bytes, "record")->as_object();
    object.erase("self");
    object.set("self", sha256(json::canonical(object)).hex());
    return json::canonical(object);
}

}  // namespace curtail::protocol::simulator
