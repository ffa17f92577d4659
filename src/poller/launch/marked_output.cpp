// SPDX-License-Identifier: Apache-2.0
#include "poller/launch/marked_output.hpp"

#include <fmt/format.h>

#include <random>

#include "base/core/text.hpp"

namespace curtail::launch {

Marks new_marks()
{
    std::random_device random;
    auto const nonce = fmt::format("{:08x}{:08x}", random(), random());
    return {"|begin-" + nonce + "|", "|end-" + nonce, "|" + nonce + "|"};
}

tl::unexpected<Error> cannot_parse(std::string const& source, std::string const& why,
                                   std::string_view text)
{
    return fail(ExitCode::data, "cannot parse the output of " + source,
                why + ": " + printable(text.substr(0, 200)),
                "is " + source + " wrapped by a script on this machine?");
}

Result<std::vector<std::string_view>> find_records(std::string_view text, Marks const& marks,
                                                   std::string const& source)
{
    std::vector<std::string_view> records;
    for (auto rest = text;;) {
        auto const begin = rest.find(marks.begin);
        auto const end = rest.find(marks.end);
        if (begin == end) return records;  // neither is there
        if (end == std::string_view::npos || begin > end)
            return cannot_parse(
                source,
                begin > end ? "the beginning of a job is missing" : "the end of a job is missing",
                rest);
        auto const first = begin + marks.begin.size();
        auto const record = rest.substr(first, end - first);
        if (record.find(marks.begin) != std::string_view::npos)
            return cannot_parse(source, "the end of a job is missing", rest);
        records.push_back(record);
        rest.remove_prefix(end + marks.end.size());
    }
}

}  // namespace curtail::launch
