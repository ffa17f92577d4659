// SPDX-License-Identifier: Apache-2.0
#include "poller/launch/job_log.hpp"

#include <fstream>

#include "base/core/text.hpp"

namespace curtail::launch {
namespace {

constexpr std::streamoff tail_bytes = 64 * 1024;
constexpr std::size_t longest_cause = 300;

// The message in a line that reports an error; empty for any other line.
std::string_view error_message(std::string_view line)
{
    constexpr std::string_view mark = "error: ";
    if (auto const at = line.find(mark); at != std::string_view::npos)
        return line.substr(at + mark.size());
    bool const is_final_error = line.starts_with("curtail-") || line.starts_with("site_train.sh: ");
    return is_final_error && line.find(": ") != std::string_view::npos ? line : std::string_view{};
}

// The end of a file; empty if it cannot be read.
std::string read_tail(std::filesystem::path const& path)
{
    std::ifstream file(path, std::ios::binary | std::ios::ate);
    if (!file) return {};
    auto const size = static_cast<std::streamoff>(file.tellg());
    auto const begin = std::max<std::streamoff>(0, size - tail_bytes);
    std::string text(static_cast<std::size_t>(size - begin), '\0');
    file.seekg(begin);
    file.read(text.data(), size - begin);
    return file ? text : std::string();
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
    auto const cause = last_error_in(read_tail(path));
    return cause.empty() ? "log: " + path.string() : cause + " (log: " + path.string() + ")";
}

}  // namespace curtail::launch
