// SPDX-License-Identifier: Apache-2.0
#include "trainer/evaluate/sample.hpp"

#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "base/core/text.hpp"
#include "trainer/data/encoder.hpp"

namespace curtail::evaluate {
namespace {

// Logits of the token after `ids`. The model sees the last T of them.
std::vector<float> next_logits(model::Gpt const& gpt, std::vector<std::int64_t>& ids)
{
    auto const seen = std::min(static_cast<std::int64_t>(ids.size()), gpt.shape().sequence);
    auto const input = at::from_blob(ids.data() + (static_cast<std::int64_t>(ids.size()) - seen),
                                     {1, seen}, at::TensorOptions(at::kLong));
    auto const logits = gpt.last_logits(input).contiguous();
    auto const* values = logits.const_data_ptr<float>();
    return {values, values + logits.numel()};
}

std::string safe_text(std::string_view text)
{
    std::string out;
    for (std::size_t begin = 0; begin <= text.size();) {
        auto const end = std::min(text.find_first_of("\n\t", begin), text.size());
        out += printable(text.substr(begin, end - begin));
        if (end < text.size()) out += text[end];
        begin = end + 1;
    }
    return out;
}

// Appends tokens to `ids` until the limit, or until the model ends the document.
void extend(model::Gpt const& gpt, data::Tokenizer const& tokenizer, SampleSettings const& settings,
            data::ProgressCallback const& progress, std::vector<std::int64_t>& ids)
{
    auto const count = static_cast<std::size_t>(tokenizer.vocabulary_size());
    std::mt19937_64 random(settings.seed);
    for (std::int64_t n = 0; n < settings.tokens.value; ++n) {
        auto logits = next_logits(gpt, ids);
        logits.resize(count);  // the model's vocabulary may be larger than the tokenizer's
        for (std::size_t id = 0; id < count; ++id)
            if (!tokenizer.has(id)) logits[id] = -std::numeric_limits<float>::infinity();
        auto const next =
            draw(logits, settings.temperature, static_cast<double>(random() >> 11) * 0x1p-53);
        if (next == tokenizer.bos()) return;
        ids.push_back(static_cast<std::int64_t>(next));
        if (progress) progress(static_cast<double>(n + 1), static_cast<double>(settings.tokens));
    }
}

}  // namespace

std::size_t draw(std::vector<float> const& logits, double temperature, double uniform)
{
    auto const greatest = std::max_element(logits.begin(), logits.end());
    if (temperature <= 0) return static_cast<std::size_t>(greatest - logits.begin());
    std::vector<double> weights;
    double sum = 0;
    for (float z : logits) sum += weights.emplace_back(std::exp((z - *greatest) / temperature));
    double left = uniform * sum;
    std::size_t i = 0;
    while (i + 1 < weights.size() && left >= weights[i]) left -= weights[i++];
    return i;
}

Result<std::string> sample_text(model::Gpt const& gpt, data::Tokenizer const& tokenizer,
                                std::string const& prompt, SampleSettings const& settings,
                                data::ProgressCallback const& progress)
{
    if (tokenizer.vocabulary_size() > gpt.shape().vocabulary)
        return fail(ExitCode::data, "cannot sample from the model",
                    "the tokenizer has " + std::to_string(tokenizer.vocabulary_size()) +
                        " tokens, the model " + std::to_string(gpt.shape().vocabulary),
                    "use the data that the run was trained on");
    auto const encoded = data::Encoder(tokenizer).encode(prompt);
    if (!encoded) return tl::unexpected(encoded.error());
    std::vector<std::int64_t> ids{tokenizer.bos()};
    ids.insert(ids.end(), encoded->begin(), encoded->end());
    extend(gpt, tokenizer, settings, progress, ids);
    std::vector<data::Token> tokens;
    for (std::size_t i = 1; i < ids.size(); ++i) tokens.push_back(static_cast<data::Token>(ids[i]));
    return tokenizer.decode(tokens).map(safe_text);
}

}  // namespace curtail::evaluate
