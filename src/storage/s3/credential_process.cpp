// SPDX-License-Identifier: Apache-2.0
#include "storage/s3/credential_process.hpp"

#include <fmt/format.h>

#include <cstdlib>

#include "base/core/text.hpp"
#include "base/core/trust.hpp"
#include "base/process/command.hpp"
#include "storage/s3/credentials_json.hpp"

namespace curtail::s3 {
namespace {

constexpr Millis longest{60'000};
constexpr std::size_t output_limit = std::size_t{64} << 10;

// Collects the words of a command line, character by character.
class Words {
  public:
    // `next` is the character after `c`, or NUL at the end. Returns whether `next` was used too.
    bool add(char c, char next)
    {
        if (quote_ == '\0' && (c == ' ' || c == '\t')) {
            in_word_ = false;
            return false;
        }
        if (!in_word_) words_.emplace_back();
        in_word_ = true;
        bool const escapes = c == '\\' && quote_ != '\'' && next != '\0';
        if (c == quote_) quote_ = '\0';
        else if (quote_ == '\0' && (c == '"' || c == '\'')) quote_ = c;
        else words_.back() += escapes ? next : c;
        return escapes;
    }
    [[nodiscard]] bool quoted() const { return quote_ != '\0'; }
    [[nodiscard]] std::vector<std::string>& list() { return words_; }

  private:
    std::vector<std::string> words_;
    bool in_word_{false};
    char quote_{'\0'};
};

}  // namespace

Result<std::vector<std::string>> split_command(std::string_view command)
{
    Words words;
    for (std::size_t i = 0; i < command.size(); ++i)
        if (words.add(command[i], i + 1 < command.size() ? command[i + 1] : '\0')) ++i;
    if (!words.quoted() && !words.list().empty()) return std::move(words.list());
    return fail(ExitCode::config, "cannot run credential_process",
                words.quoted() ? "a quote does not end" : "it is empty",
                "write the program and its arguments, separated by spaces");
}

Result<Credentials> run_credential_process(std::string_view command, std::string const& source,
                                           CallLimits const& call)
{
    auto words = split_command(command);
    if (!words) return tl::unexpected(words.error().with_context(source));
    auto const program = words->front();
    char const* const path = std::getenv("PATH");
    auto found =
        process::find_program(program, path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin");
    if (!found) return tl::unexpected(found.error().with_context(source));
    if (auto good = check_access(*found, trust_in_installed()); !good)
        return tl::unexpected(good.error());
    // A second search of the PATH could find another one.
    words->front() = std::move(*found);
    auto finished = process::run_command({std::move(*words), process::plain_environment(),
                                          call.time_left(longest), output_limit, call.cancel});
    if (!finished) return tl::unexpected(finished.error().with_context(source));
    if (finished->exit_code != 0) {
        wipe(finished->output);
        auto const line = printable(trim(split(finished->errors, '\n').front()));
        // It may need a network that is away.
        return fail(ExitCode::unavailable, source,
                    fmt::format("{} ended with exit code {}: {}", printable(program),
                                finished->exit_code, line),
                    "run the command by hand");
    }
    return credentials_from_json(finished->output, "SessionToken", source);
}

}  // namespace curtail::s3
