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
                        {"sha256", log.lines.hex()},
                        {"lacks_lines", log.lacks_lines},
                        {"clock", clock_json(log.clock)}};
}

}  // namespace

std::optional<LogDigest> log_digest(SiteId const& site, Stream stream, std::string_view text,
                                    bool lacks_lines, std::optional<TimeScale> const& clock)
{
    if (text.empty() && !lacks_lines) return std::nullopt;
    // Another machine may write the evaluation, and knows no clock.
    bool const has_clock = stream != Stream::evaluation;
    return LogDigest{site, stream, sha256(text), lacks_lines, has_clock ? clock : std::nullopt};
}

Digest run_digest(RunEvidence evidence)
{
    auto& logs = evidence.logs;
    std::ranges::sort(logs, {}, [](LogDigest const& log) {
        return std::tuple(log.site, std::string(name(log.stream)));
    });
    return sha256(json::canonical(json::Object{
        {"run", evidence.run.value},
        {"commit", of(evidence.commit)},
        {"logs", json::array_of(logs, [](LogDigest const& log) { return of(log); })}}));
}

}  // namespace curtail::journal
