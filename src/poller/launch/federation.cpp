// SPDX-License-Identifier: Apache-2.0
#include "poller/launch/federation.hpp"

#include "base/core/text.hpp"
#include "poller/launch/marked_output.hpp"

namespace curtail::launch {

Result<std::optional<std::string>> find_federated_cluster(std::string_view text)
{
    static constexpr std::string_view key = "Self:";
    if (text.find("Federation:") == std::string_view::npos) {
        if (text.find(key) == std::string_view::npos) return std::optional<std::string>{};
        return cannot_parse("scontrol", "the name of the federation is missing", text);
    }
    std::optional<std::string> found;
    for (auto line : split(text, '\n')) {
        auto const at = line.find(key);
        if (at == std::string_view::npos) continue;
        // CLUSTER:HOST:PORT ID:1 ...
        auto const rest = trim(line.substr(at + key.size()));
        std::string const name(rest.substr(0, rest.find(':')));
        bool const is_name = !name.empty() && name.size() < rest.size() &&
                             name.find_first_of(", \t") == std::string::npos &&
                             name == printable(name);
        if (!is_name || (found && found != name))
            return cannot_parse("scontrol", "this does not name a cluster", line);
        found = name;
    }
    if (!found) return cannot_parse("scontrol", "the own cluster is missing", text);
    return found;
}

}  // namespace curtail::launch
