// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "apps/program.hpp"
#include "data/prepare.hpp"

namespace curtail::apps::data {

[[nodiscard]] Command prepare_command();
[[nodiscard]] Command tokenizer_command();
[[nodiscard]] Command encode_command();
[[nodiscard]] Command decode_command();
[[nodiscard]] Command inspect_command();
[[nodiscard]] Command verify_command();

/// Shows the stages of long work one after the other on a terminal.
[[nodiscard]] curtail::data::StageCallback progress_of_stages();
/// Of a vocabulary of which nobody says more.
constexpr std::int64_t default_vocabulary = 2048;
/// Declares `--vocabulary`, shared by what trains a tokenizer. Without a default: absent means
/// `default_vocabulary`.
[[nodiscard]] Option vocabulary_option();

}  // namespace curtail::apps::data
