// SPDX-License-Identifier: Apache-2.0
#include "trainer/evaluate/held_out.hpp"

#include <ATen/ops/from_blob.h>

#include <cmath>
#include <numbers>

namespace curtail::evaluate {
namespace {

constexpr std::int64_t tokens_per_pass = 4096;

// Standard error of the mean, computed value by value (Welford).
class Spread {
  public:
    void add(double value)
    {
        ++count_;
        double const off = value - mean_;
        mean_ += off / static_cast<double>(count_);
        squares_ += off * (value - mean_);
    }
    // Empty with fewer than two values.
    [[nodiscard]] std::optional<double> standard_error() const
    {
        auto const n = static_cast<double>(count_);
        return count_ < 2 ? std::nullopt : std::optional(std::sqrt(squares_ / (n - 1) / n));
    }

  private:
    std::int64_t count_{0};
    double mean_{0};
    double squares_{0};
};

// Losses of `rows` rows of `length` tokens each, from `offset` on: (rows, length).
Result<at::Tensor> losses_at(model::Gpt const& gpt, data::TokenStream& stream, std::int64_t offset,
                             std::int64_t rows, std::int64_t length)
{
    std::vector<data::Token> tokens(static_cast<std::size_t>(rows * length + 1));
    if (auto read = stream.read(offset, tokens); !read) return tl::unexpected(read.error());
    std::vector<std::int64_t> ids(tokens.begin(), tokens.end());
    auto const view = [&](std::int64_t shift) {
        return at::from_blob(ids.data() + shift, {rows, length}, at::TensorOptions(at::kLong));
    };
    return gpt.token_losses(view(0), view(1));
}

Result<void> check_stream(model::Gpt const& gpt, data::TokenStream const& stream)
{
    auto const what = "cannot evaluate on the held-out part";
    if (stream.tokens() < 2)
        return fail(ExitCode::data, what, "it has " + std::to_string(stream.tokens()) + " tokens",
                    "prepare data with a larger --held-out");
    if (stream.manifest().vocabulary_size > gpt.shape().vocabulary)
        return fail(ExitCode::data, what,
                    "the data's vocabulary is " +
                        std::to_string(stream.manifest().vocabulary_size) + ", the model's " +
                        std::to_string(gpt.shape().vocabulary),
                    "use the data on which the run was trained");
    return {};
}

struct Loss {
    double sum{0};  // nats over all tokens
    Spread rows;    // means of the whole rows
};

// Predicts `tokens` tokens of the stream, several rows per pass.
Result<Loss> total_loss(model::Gpt const& gpt, data::TokenStream& stream, std::int64_t tokens,
                        data::ProgressCallback const& progress, std::stop_token const& stop)
{
    std::int64_t const length = gpt.shape().sequence;
    std::int64_t const whole_rows = tokens / length;
    std::int64_t const rows_per_pass = std::max<std::int64_t>(1, tokens_per_pass / length);
    Loss loss;
    for (std::int64_t row = 0; row * length < tokens;) {
        if (stop.stop_requested())
            return fail(ExitCode::interrupted, "evaluation ended", "a stop was requested");
        bool const last = row == whole_rows;
        std::int64_t const rows = last ? 1 : std::min(rows_per_pass, whole_rows - row);
        auto const losses =
            losses_at(gpt, stream, row * length, rows, last ? tokens - row * length : length);
        if (!losses) return tl::unexpected(losses.error());
        auto const sums = losses->sum(at::IntArrayRef{1}, false, at::kDouble);  // (rows)
        for (std::int64_t r = 0; r < rows; ++r) {
            double const sum = sums[r].item<double>();
            loss.sum += sum;
            if (!last) loss.rows.add(sum / static_cast<double>(length));
        }
        row += rows;
        if (progress)
            progress(static_cast<double>(std::min(row * length, tokens)),
                     static_cast<double>(tokens));
    }
    return loss;
}

}  // namespace

Result<HeldOutLoss> held_out_loss(model::Gpt const& gpt, data::TokenStream& stream,
                                  data::ProgressCallback const& progress,
                                  std::stop_token const& stop)
{
    if (auto good = check_stream(gpt, stream); !good) return tl::unexpected(good.error());
    auto const entropy = data::unigram_entropy(stream);
    if (!entropy) return tl::unexpected(entropy.error());
    HeldOutLoss out;
    out.tokens = {stream.tokens() - 1};
    out.unigram_entropy = *entropy;
    auto const total = total_loss(gpt, stream, out.tokens.value, progress, stop);
    if (!total) return tl::unexpected(total.error());
    out.loss = total->sum / static_cast<double>(out.tokens);
    out.standard_error = total->rows.standard_error();
    auto const& part = stream.manifest().held_out;
    double const tokens_per_byte = static_cast<double>(part.tokens) /
                                   static_cast<double>(std::max<std::int64_t>(1, part.text_bytes));
    out.bits_per_byte = out.loss / std::numbers::ln2 * tokens_per_byte;
    return out;
}

}  // namespace curtail::evaluate
