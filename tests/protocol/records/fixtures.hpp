// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "protocol/records/record.hpp"
#include "simulator/small_run.hpp"

namespace curtail::protocol::test {

using simulator::small_run;

inline MemberId member(std::string const& site, std::int64_t admitted,
                       std::uint32_t nonce = 0xabcdef01)
{
    char hex[9];
    std::snprintf(hex, sizeof hex, "%08x", nonce);
    return {site + "." + hex + "." + std::to_string(admitted)};
}

inline PartRef part(std::string part_name, std::string name, std::string const& content = "content")
{
    return {std::move(part_name), std::move(name), static_cast<std::int64_t>(content.size()),
            sha256(content)};
}

}  // namespace curtail::protocol::test
