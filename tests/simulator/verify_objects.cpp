// SPDX-License-Identifier: Apache-2.0
#include "simulator/verify_objects.hpp"

#include "protocol/records/names.hpp"

namespace curtail::protocol::simulator {

Result<chain::ChainSummary> verify_objects(chain::VerifySource const& source,
                                           RecordLimits const& limits)
{
    auto run = chain::read_run(source);
    if (!run) return tl::unexpected(run.error());
    run->run.limits = limits;
    std::vector<chain::LinkedCommit> commits;
    for (CommitNumber number{1};; number = number.next()) {
        auto const bytes = source.record(commit_name(number));
        if (!bytes) return tl::unexpected(bytes.error());
        if (!*bytes) return chain::verify_chain(*run, commits, source);
        auto commit = decode_commit(**bytes, commit_name(number));
        if (!commit) return tl::unexpected(commit.error());
        commits.push_back({std::move(*commit), sha256(**bytes)});
    }
}

}  // namespace curtail::protocol::simulator
