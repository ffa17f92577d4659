// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <optional>
#include <string>

#include "base/core/ids.hpp"
#include "base/core/json.hpp"
#include "base/core/units.hpp"

// Writes and reads a run's `evaluation.json` (docs/formats-run.md).
namespace curtail::runlog {

/// How well the model of a commit predicts held-out text.
struct Evaluation {
    CommitNumber commit;
    Round round;
    Tokens tokens{};                       ///< number of held-out tokens that the model predicted
    std::optional<Tokens> trained_tokens;  ///< tokens that the model was trained on
    double loss{};                         ///< nats per token
    std::optional<double> standard_error;  ///< of `loss`
    /// The loss of a model that knows only the frequency of each token in the held-out text. In
    /// nats per token.
    double unigram_entropy{};
    std::optional<double> bits_per_byte;  ///< `loss`, in bits per byte of the held-out text
    std::string sample;                   ///< a prompt and the model's continuation of it
};

/// A text that every evaluation.json contains. `curtail-model evaluate` overwrites an existing file
/// only if the file contains this text.
inline constexpr char const* evaluation_mark = "\"held_out_loss_nats\"";

[[nodiscard]] json::Object to_json(Evaluation const& evaluation);
/// Reads what to_json() writes. Ignores unknown keys. Fails with `data` if `loss` or
/// `unigram_entropy` is missing; other values may be missing. Returns an empty optional if the file
/// does not exist, or if its JSON is not an object.
[[nodiscard]] Result<std::optional<Evaluation>> read_evaluation(std::filesystem::path const& path);

}  // namespace curtail::runlog
