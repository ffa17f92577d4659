// SPDX-License-Identifier: Apache-2.0
#include "s3/credential_process.hpp"

#include <fmt/format.h>

#include "core/text.hpp"
#include "process/command.hpp"
#include "s3/credentials_json.hpp"

namespace curtail::s3 {
namespace {

constexpr Millis deadline{60'000};
constexpr std::size_t output_limit = std::size_t{64} << 10;

}  // namespace

Result<std::vector<std::string>> split_command(std::string_view command)
{
    std::vector<std::string> words;
    bool in_word = false;
    char quote = '\0';
    for (std::size_t i = 0; i < command.size(); ++i) {
        char const c = command[i];
        if (quote == '\0' && (c == ' ' || c == '\t')) {
            in_word = false;
            continue;
        }
        if (!in_word) words.emplace_back();
        in_word = true;
        if (c == quote) quote = '\0';
        else if (quote == '\0' && (c == '"' || c == '\'')) quote = c;
        else if (c == '\\' && quote != '\'' && i + 1 < command.size()) words.back() += command[++i];
        else words.back() += c;
    }
    if (quote == '\0' && !words.empty()) return words;
    return fail(ExitCode::config, "cannot run credential_process",
                words.empty() ? "it is empty" : "a quote does not end",
                "write the program and its arguments, separated by spaces");
}

Result<Credentials> run_credential_process(std::string_view command, std::string const& source)
{
    auto words = split_command(command);
    if (!words) return tl::unexpected(words.error().with_context(source));
    auto const program = words->front();
    auto finished = process::run_command(
        {std::move(*words), process::plain_environment(), deadline, output_limit});
    if (!finished) return tl::unexpected(finished.error().with_context(source));
    if (finished->exit_code != 0) {
        wipe(finished->output);
        auto const line = printable(trim(split(finished->errors, '\n').front()));
        return fail(ExitCode::permission, source,
                    fmt::format("{} ended with exit code {}: {}", printable(program),
                                finished->exit_code, line),
                    "run the command by hand");
    }
    return credentials_from_json(finished->output, "SessionToken", source);
}

}  // namespace curtail::s3
