// SPDX-License-Identifier: Apache-2.0
#include "protocol/rules/refusal.hpp"

#include <cmath>

#include "protocol/records/names.hpp"

namespace curtail::protocol {
namespace {

// True if the header belongs to this run and to a round up to the parent's.
bool fits_run(RunSpec const& run, Commit const& parent, Header const& header)
{
    bool const no_delta = header.ranges.empty() || header.nonfinite > 0;
    bool const names_delta =
        header.delta
            ? header.delta->payload.name == delta_name(header.base_round, header.member, header.seq)
            : no_delta;
    return header.run == run.run && header.encoding == "fp32" && header.base_round.value >= 1 &&
           header.base_round <= parent.round && names_delta;
}

}  // namespace

double delta_norm(Header const& header)
{
    double const norm = header.tokens > Tokens{}
                            ? std::sqrt(header.sumsq() / static_cast<double>(header.tokens))
                            : 0;
    return std::isfinite(norm) ? norm : 0;
}

bool has_tokens(RunSpec const& run, Ranges const& ranges, Tokens tokens)
{
    auto const block = run.params.block_tokens;
    return tokens % block == Tokens{} && tokens / block == ranges.count();
}

std::optional<Refusal> refusal(RunSpec const& run, Commit const& parent, Ranges const& held,
                               Header const& header)
{
    if (!fits_run(run, parent, header)) return Refusal::wrong_run;
    if (!has_tokens(run, header.ranges, header.tokens)) return Refusal::bad_tokens;
    bool const own = held.contains(header.ranges + header.skipped);
    if (!own || header.ranges.overlaps(header.skipped)) return Refusal::not_held;
    if (parent.round.value - header.base_round.value > run.params.max_staleness)
        return Refusal::stale;
    if (header.nonfinite > 0 || !std::isfinite(header.sumsq())) return Refusal::nan;
    return std::nullopt;
}

}  // namespace curtail::protocol
