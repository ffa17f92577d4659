// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "protocol/chain/commit_reader.hpp"

namespace curtail::operate {

/// A run whose chain was checked by the rules of the protocol.
struct CheckedRun {
    protocol::RunSpec run;
    std::string bytes;                       ///< of run.json
    std::vector<chain::LinkedCommit> chain;  ///< not empty
};

/// Reads run.json and all commits of the source. `act` is what the caller does with the run, for
/// error messages, e.g. `copy`. Fails with `no_input` if the source has no commit of the run, and
/// with `protocol` if the chain is invalid.
[[nodiscard]] Result<CheckedRun> read_checked(chain::RunObjects const& from, char const* act);

/// A record to copy.
struct RecordToCopy {
    std::string name;
    Digest sha256;
    std::string bytes{};  ///< empty: not read yet
};

/// What a copy of a run consists of. Names are relative to `runs/<run>/`.
struct CopyList {
    std::string run;                          ///< the bytes of run.json
    std::vector<chain::LinkedCommit> chain;   ///< checked by the rules of the protocol
    std::vector<RecordToCopy> headers;        ///< decided or pending
    std::vector<protocol::PartRef> payloads;  ///< that the run keeps, each once
    /// Deltas of pending contributions. If the source lacks one or has it damaged, the next merge
    /// refuses the contribution, in the copy as in the source.
    std::vector<protocol::PartRef> pending;
};

/// Reads the chain of the source and lists what belongs to a copy. Fails as copy_run() does.
[[nodiscard]] Result<CopyList> list_copy(chain::RunObjects const& from);

}  // namespace curtail::operate
