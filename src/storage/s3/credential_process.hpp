// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/core/call_limits.hpp"
#include "base/core/result.hpp"
#include "storage/s3/credentials.hpp"

namespace curtail::s3 {

/// Splits a command line at white space. Text between two double quotes or two single quotes is one
/// word or a part of one. A backslash keeps the next character, except between single quotes. There
/// are no variables and no other characters of a shell. Fails with `config` if a quote does not
/// end, or if there is no word.
[[nodiscard]] Result<std::vector<std::string>> split_command(std::string_view command);

/// Runs a program that prints credentials, as `credential_process` of the AWS command line does:
/// JSON with Version (1), AccessKeyId, SecretAccessKey and, for temporary credentials, SessionToken
/// and Expiration. The program runs without a shell, for at most one minute, and within `call`.
/// `source` names the setting in messages.
///
/// Fails with `permission` if the program fails; the message holds the first line of its stderr.
/// Fails with `data` if its output is not such JSON; the message does not contain the output. Also
/// fails like process::run_command().
[[nodiscard]] Result<Credentials> run_credential_process(std::string_view command,
                                                         std::string const& source,
                                                         CallLimits const& call = {});

}  // namespace curtail::s3
