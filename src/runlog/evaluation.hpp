// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <optional>
#include <string>

#include "core/ids.hpp"
#include "core/json.hpp"
#include "core/units.hpp"

// Writes and reads a run's `evaluation.json` (docs/formats-run.md).
namespace curtail::runlog {

/// How well the model of a commit predicts held-out text.
struct Evaluation {
    CommitNumber commit;
    Round round;
    Tokens tokens{};                       ///< predicted tokens of the held-out text
    std::optional<Tokens> trained_tokens;  ///< tokens that the model was trained on
    double loss{};                         ///< nats per token
    std::optional<double> standard_error;  ///< of `loss`
    /// In nats per token: the loss of a model that knows only how frequent each token is.
    double unigram_entropy{};
    std::optional<double> bits_per_byte;
    std::string sample;  ///< text that the model wrote
};

/// A text that every evaluation.json contains.
inline constexpr char const* evaluation_mark = "\"held_out_loss_nats\"";

[[nodiscard]] json::Object to_json(Evaluation const& evaluation);
/// Reads what to_json() writes. Only the loss and the entropy are required, and unknown keys are
/// ignored. Returns an empty optional if the file does not exist.
[[nodiscard]] Result<std::optional<Evaluation>> read_evaluation(std::filesystem::path const& path);

}  // namespace curtail::runlog
