// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "poller/launch/launcher.hpp"
#include "poller/launch/marked_output.hpp"

namespace curtail::launch {

/// The argument of `sacct --format` for find_in_sacct().
extern char const* const sacct_format;
/// The same for parse_accounts().
extern char const* const accounts_format;

/// Returns all jobs with the name `name` in the output of sacct, which must have run as for
/// find_in_sacct(), but with accounts_format. Slurm's energy of a job is that of its nodes, in
/// joules. It is empty if Slurm prints nothing, 0 or its largest number: then no plugin meters the
/// nodes. Fails with `data` if a record or the header does not parse.
[[nodiscard]] Result<std::vector<runlog::Accounting::Job>> parse_accounts(std::string_view text,
                                                                          Marks const& marks,
                                                                          std::string_view name);

/// Returns whether `errors`, the stderr of a sacct that failed, says that the cluster keeps no such
/// records, as most private clusters do not.
[[nodiscard]] bool means_no_accounting(std::string_view errors);

/// Where sacct has its records from.
enum class SacctSource {
    accounting,     ///< the database: times have a zone
    completion_log  ///< a text file: times are those of the controller's zone, which sacct takes
                    ///< for this machine's zone
};

/// Finds the record of the job `missing` with the name `name` in the output of sacct. sacct must
/// have run with sacct_format, `--parsable`, `--delimiter` of Marks::separator, its header and
/// SLURM_TIME_FORMAT=%s. Returns an empty optional if there is no such record, or if the job has
/// not ended.
///
/// Ids of jobs may begin again, so the record must have the same submission, too. Of several
/// records, the newest counts. A record of the completion log must have the same start, up to a
/// whole number of quarters of an hour. That difference is the one between the zones, and the
/// result is free of it. If nobody saw the start, the end must lie between submission and present;
/// from a quarter of an hour on, the result then has no times.
///
/// Fails with `data` if a record or the header does not parse.
[[nodiscard]] Result<std::optional<plan::Job>> find_in_sacct(std::string_view text,
                                                             Marks const& marks, SacctSource source,
                                                             MissingJob const& missing,
                                                             std::string_view name);

}  // namespace curtail::launch
