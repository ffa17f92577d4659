// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "protocol/chain/record_cache.hpp"
#include "protocol/chain/run_objects.hpp"

namespace curtail::operate {

/// The object run.json.
struct RunRecord {
    enum class Form { good, missing, damaged };
    Form form{Form::missing};
    /// Of the bytes that it has, or had: commit 1 names them. All zero if nothing names them.
    Digest sha256;
};

/// Looks at run.json of a run. It is damaged if commit 1 names other bytes, and if nobody can read
/// it. Returns errors of the store unchanged.
[[nodiscard]] Result<RunRecord> look_at_run_record(chain::RunObjects const& objects);

/// Stores the copy of a site in place of the missing or damaged object `record`. Returns false if
/// `copies` has none with this digest.
[[nodiscard]] Result<bool> restore_run_record(chain::RunObjects const& objects,
                                              chain::RecordCache& copies, RunRecord const& record);

}  // namespace curtail::operate
