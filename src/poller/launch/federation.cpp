// SPDX-License-Identifier: Apache-2.0
#include "poller/launch/federation.hpp"

#include "base/core/text.hpp"
#include "poller/launch/marked_output.hpp"

namespace curtail::launch {

Result<std::optional<std::string>> find_federated_cluster(std::string_view text)
{
    static constexpr std::string_view key = "Self:";
    bool is_federation = false;
    for (auto const line : split(text, '\n')) {
        if (line.starts_with("Federation:")) is_federation = true;
        if (!is_federation || !line.starts_with(key)) continue;
        // CLUSTER:HOST:PORT ID:1 ...
        auto const rest = trim(line.substr(key.size()));
        auto const name = rest.substr(0, rest.find(':'));
        bool const is_name = !name.empty() && name.size() < rest.size() &&
                             name.find_first_of(", \t") == std::string_view::npos;
        if (!is_name) return cannot_parse("scontrol", "this does not name a cluster", line);
        return std::optional(std::string(name));
    }
    if (is_federation) return cannot_parse("scontrol", "the own cluster is missing", text);
    return std::optional<std::string>{};
}

}  // namespace curtail::launch
