// SPDX-License-Identifier: Apache-2.0
#include "run/journal/run_digest.hpp"

#include <algorithm>
#include <tuple>

namespace curtail::journal {
namespace {

json::Value of(std::optional<protocol::CommitRef> const& commit)
{
    if (!commit) return {};
    return json::Object{{"number", commit->number.value}, {"sha256", commit->sha256.hex()}};
}

json::Value of(LogDigest const& log)
{
    return json::Object{{"site", log.site.value},
                        {"stream", name(log.stream)},
                        {"number", log.head ? log.head->number : 0},
                        {"sha256", log.head ? json::Value(log.head->sha256.hex()) : json::Value()},
                        {"local", log.local ? json::Value(log.local->hex()) : json::Value()}};
}

}  // namespace

Digest run_digest(RunEvidence evidence)
{
    auto& logs = evidence.logs;
    std::erase_if(logs, [](LogDigest const& log) { return !log.head && !log.local; });
    std::ranges::sort(logs, {}, [](LogDigest const& log) {
        return std::tuple(log.site, std::string(name(log.stream)));
    });
    return sha256(json::canonical(json::Object{
        {"run", evidence.run.value},
        {"commit", of(evidence.commit)},
        {"clock", clock_json(evidence.clock)},
        {"logs", json::array_of(logs, [](LogDigest const& log) { return of(log); })}}));
}

}  // namespace curtail::journal
