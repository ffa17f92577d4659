// SPDX-License-Identifier: Apache-2.0
#include "run/runlog/evaluation.hpp"

namespace curtail::runlog {

json::Object to_json(Evaluation const& evaluation)
{
    json::Value trained;
    if (evaluation.trained_tokens) trained = evaluation.trained_tokens->value;
    return {{"commit", evaluation.commit.value},
            {"round", evaluation.round.value},
            {"tokens", evaluation.tokens.value},
            {"trained_tokens", trained},
            {"held_out_loss_nats", evaluation.loss},
            {"held_out_loss_se", evaluation.standard_error},
            {"unigram_entropy_nats", evaluation.unigram_entropy},
            {"bits_per_byte", evaluation.bits_per_byte},
            {"sample", evaluation.sample}};
}

Result<std::optional<Evaluation>> read_evaluation(std::filesystem::path const& path)
{
    auto const value = json::parse_file_if_exists(path);
    if (!value) return tl::unexpected(value.error());
    auto const* object = *value ? (*value)->as_object() : nullptr;
    if (object == nullptr) return std::optional<Evaluation>{};
    auto const loss = object->number_at("held_out_loss_nats");
    auto const entropy = object->number_at("unigram_entropy_nats");
    if (!loss || !entropy)
        return fail(ExitCode::data, "cannot use " + path.string(),
                    "it has no number \"held_out_loss_nats\" or \"unigram_entropy_nats\"",
                    "run `curtail-model evaluate` again");
    Evaluation evaluation;
    evaluation.commit = {object->integer_at("commit").value_or(0)};
    evaluation.round = {object->integer_at("round").value_or(0)};
    evaluation.tokens = {object->integer_at("tokens").value_or(0)};
    if (auto const trained = object->integer_at("trained_tokens"))
        evaluation.trained_tokens = Tokens{*trained};
    evaluation.loss = *loss;
    evaluation.standard_error = object->number_at("held_out_loss_se");
    evaluation.unigram_entropy = *entropy;
    evaluation.bits_per_byte = object->number_at("bits_per_byte");
    evaluation.sample = object->text_at("sample");
    return std::optional(std::move(evaluation));
}

}  // namespace curtail::runlog
