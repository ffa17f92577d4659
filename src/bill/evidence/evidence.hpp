// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "base/core/json.hpp"
#include "bill/account/account.hpp"
#include "bill/account/files.hpp"

// What an auditor needs to compute a run's figures without Curtail.
namespace curtail::evidence {

/// A file of the folder that `curtail-report --evidence` writes.
struct EvidenceFile {
    std::string name;  ///< with its folder, such as `logs/alpha-metrics.jsonl`
    std::string text;
};

/// The Python script that computes the headline figures from the other files.
extern char const* const recompute_script;
/// The Python script that compares the tables with the logs.
extern char const* const compare_script;

/// Makes the files: the logs, samples and settings of a run, tables of what Curtail took from them,
/// the headline figures, the scripts, and `digests.txt` with the SHA-256 of each. `files` must have
/// been loaded with LoadOptions::keeps_logs. `document` is that of `account`. Without
/// `with_values`, the intensities are left out, and so are the figures that follow from them:
/// licences of signals may forbid to pass them on.
[[nodiscard]] std::vector<EvidenceFile> evidence_of(account::RunFiles const& files,
                                                    account::Account const& account,
                                                    json::Object const& document, bool with_values);

}  // namespace curtail::evidence
