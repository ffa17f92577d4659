// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "rounds/record.hpp"

// Records of each format that this version reads. Programs that write to a run use decode_run()
// etc. (rounds/record.hpp) instead, which accept record_format only.
namespace curtail::rounds {

/// Reads the stored form of a record of record_format or of first_format. Fails like decode_run()
/// etc.; with `data` if the record has a third format. A commit of first_format states no terms:
/// the caller must call state_terms().
[[nodiscard]] Result<RunSpec> decode_any_run(std::string_view bytes);
[[nodiscard]] Result<Commit> decode_any_commit(std::string_view bytes, std::string const& name);
[[nodiscard]] Result<Header> decode_any_header(std::string_view bytes, std::string const& name);

/// Sets the terms of a commit of first_format to those of run.json, which no commit changes. Does
/// nothing to a commit of record_format.
void state_terms(RunSpec const& run, Commit& commit);

/// Returns an error with the code `data` if this version must not write to the run, because the
/// run has an older format. `what` says what cannot be done, such as `cannot sweep run a`. The
/// message names `curtail-store fork`. Empty: the run has record_format.
[[nodiscard]] std::optional<Error> cannot_write(RunSpec const& run, std::string what);

}  // namespace curtail::rounds
