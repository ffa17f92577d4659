// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.hpp"

// The output of Slurm's commands. Sites wrap these commands: a wrapper may print a banner before or
// after the records. So each call passes marks of its own, which no other text contains.
namespace curtail::launch {

/// Marks of one call.
struct Marks {
    std::string begin;
    std::string end;
    std::string separator;  ///< between the fields of a record
};
/// Returns marks that no earlier call had and that nobody can guess.
[[nodiscard]] Marks new_marks();

/// Returns the text of each record, between its marks. All other text is ignored. Fails with `data`
/// if a mark has no counterpart: a part of the output is missing, or two records have run together.
/// `source` is the command's name.
[[nodiscard]] Result<std::vector<std::string_view>> find_records(std::string_view text,
                                                                 Marks const& marks,
                                                                 std::string const& source);

/// Returns the error for output of a command that is not what it should be; it shows `text`.
[[nodiscard]] tl::unexpected<Error> cannot_parse(std::string const& source, std::string const& why,
                                                 std::string_view text);

}  // namespace curtail::launch
