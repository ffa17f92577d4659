// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/digest.hpp"
#include "base/core/ids.hpp"
#include "base/core/json.hpp"
#include "base/core/log_lines.hpp"
#include "base/core/time.hpp"
#include "base/core/units.hpp"

// Writes and reads a site's `evaluation.jsonl` (docs/formats-run.md).
namespace curtail::runlog {

/// What became of one model of the run: a line of `evaluation.jsonl`.
struct HeldOutLine {
    Time time;            ///< real time at the end of the evaluation
    CommitNumber commit;  ///< the commit that made the model
    Round round;          ///< the round that begins with the model
    Tokens trained{};     ///< tokens that the model includes
    Digest model;         ///< SHA-256 of the model's payload
    Digest data;          ///< SHA-256 of the manifest of the data
    /// The reason for which the model was not evaluated: `deleted` or `damaged`. Otherwise empty.
    std::string missing{};
    Tokens tokens{};               ///< number of held-out tokens that the model predicted
    std::optional<double> loss{};  ///< nats per token; empty: not finite, or not evaluated
    std::optional<double> standard_error{};  ///< of `loss`
    /// In nats per token: the loss of a model that knows only how frequent each token is.
    std::optional<double> unigram_entropy{};
    std::optional<double> bits_per_byte{};
    FractionalSeconds duration{0};  ///< time from the beginning of reading the model until `time`

    [[nodiscard]] bool is_evaluated() const { return missing.empty(); }
    friend bool operator==(HeldOutLine const&, HeldOutLine const&) = default;
};

/// Values of HeldOutLine::missing.
inline constexpr char const* model_deleted = "deleted";
inline constexpr char const* model_damaged = "damaged";

/// Returns the line without its newline.
[[nodiscard]] json::Object to_json(HeldOutLine const& line);

/// The content of an `evaluation.jsonl`.
struct HeldOutFile {
    std::vector<HeldOutLine> lines;
    BrokenLines broken_lines{};  ///< the damaged or incomplete lines, which are skipped
};
/// Reads all valid lines of a text. Ignores unknown keys.
[[nodiscard]] HeldOutFile parse_held_out(std::string_view text);

}  // namespace curtail::runlog
