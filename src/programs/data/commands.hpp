// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "programs/frame/program.hpp"
#include "programs/frame/progress.hpp"
#include "trainer/data/prepare.hpp"

namespace curtail::programs::data {

[[nodiscard]] Command prepare_command();
[[nodiscard]] Command tokenizer_command();
[[nodiscard]] Command encode_command();
[[nodiscard]] Command decode_command();
[[nodiscard]] Command inspect_command();
[[nodiscard]] Command verify_command();

/// Logs how many files of the text folders were not read (data::TextFiles::left_out).
void report_left_out(std::int64_t files, Log const& log);

/// The vocabulary size, in tokens, that vocabulary_size() returns if the user gave none.
constexpr std::int64_t default_vocabulary = 2048;
/// Returns the option `--vocabulary`, for commands that train a tokenizer.
[[nodiscard]] Option vocabulary_option();
/// Returns the value of `--vocabulary`, or default_vocabulary if the user gave none. The parser
/// knows no default, so that Arguments::has() tells whether the user gave a value.
[[nodiscard]] std::int64_t vocabulary_size(Arguments const& arguments);

}  // namespace curtail::programs::data
