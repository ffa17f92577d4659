// SPDX-License-Identifier: Apache-2.0
#include "poller/launch/job_log.hpp"

#include "base/core/files.hpp"
#include "base/core/text.hpp"

namespace curtail::launch {
namespace {

constexpr std::int64_t tail_bytes = 65'536;
constexpr std::size_t longest_cause = 300;

// Returns the message in a line that reports an error, and nothing for any other line.
std::string_view error_message(std::string_view line)
{
    constexpr std::string_view mark = "error: ";
    if (auto const at = line.find(mark); at != std::string_view::npos)
        return line.substr(at + mark.size());
    bool const is_final_error = line.starts_with("curtail-") || line.starts_with("site_train.sh: ");
    return is_final_error && line.find(": ") != std::string_view::npos ? line : std::string_view{};
}

}  // namespace

std::string last_error_in(std::string_view log)
{
    std::string_view error;
    std::string_view last;
    for (auto line : split(log, '\n')) {
        line = trim(line);
        if (!line.empty()) last = line;
        if (auto const message = error_message(line); !message.empty()) error = message;
    }
    return printable((error.empty() ? last : error).substr(0, longest_cause));
}

std::string cause_in_log(std::filesystem::path const& path)
{
    auto const cause = last_error_in(read_end(path, tail_bytes).value_or(""));
    return cause.empty() ? "log: " + path.string() : cause + " (log: " + path.string() + ")";
}

}  // namespace curtail::launch
