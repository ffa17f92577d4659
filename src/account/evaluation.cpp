// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "account/json_file.hpp"
#include "account/parts.hpp"

namespace curtail::account {
namespace {

std::optional<double> number_at(json::Object const& object, char const* key)
{
    auto const* found = object.find(key);
    return found != nullptr ? found->as_number() : std::nullopt;
}

std::optional<std::int64_t> integer_at(json::Object const& object, char const* key)
{
    auto const number = number_at(object, key);
    return number ? std::optional(static_cast<std::int64_t>(*number)) : std::nullopt;
}

std::optional<Tokens> tokens_at(json::Object const& object, char const* key)
{
    auto const number = integer_at(object, key);
    return number ? std::optional(Tokens{*number}) : std::nullopt;
}

}  // namespace

Result<std::optional<HeldOut>> read_evaluation(std::filesystem::path const& path)
{
    auto const value = parse_if_exists(path);
    if (!value) return tl::unexpected(value.error());
    auto const* object = *value ? (*value)->as_object() : nullptr;
    if (object == nullptr) return std::optional<HeldOut>{};
    // No strict schema: the report needs only some of the keys.
    auto const loss = number_at(*object, "held_out_loss_nats");
    auto const entropy = number_at(*object, "unigram_entropy_nats");
    if (!loss || !entropy)
        return fail(ExitCode::data, "cannot use " + path.string(),
                    "it has no number \"held_out_loss_nats\" or \"unigram_entropy_nats\"",
                    "run `curtail-model evaluate` again");
    HeldOut held;
    held.commit = integer_at(*object, "commit").value_or(0);
    held.trained_tokens = tokens_at(*object, "trained_tokens");
    held.loss = *loss;
    held.unigram_entropy = *entropy;
    held.tokens = tokens_at(*object, "tokens").value_or(Tokens{});
    held.bits_per_byte = number_at(*object, "bits_per_byte");
    return std::optional(held);
}

Evaluation evaluation_of(RunFiles const& files)
{
    if (!files.held_out) return {};
    auto held = *files.held_out;
    auto const commit =
        std::find_if(files.commits.begin(), files.commits.end(),
                     [&](CommitSummary const& c) { return c.number == held.commit; });
    auto const rejected = [](std::string const& why) {
        return Evaluation{{}, "evaluation.json belongs to another run: " + why};
    };
    if (commit == files.commits.end())
        return rejected(fmt::format("this run has no commit {}", held.commit));
    if (held.trained_tokens && *held.trained_tokens != commit->tokens)
        return rejected(
            fmt::format("its model was trained on {} tokens, and commit {} of this run "
                        "on {}",
                        held.trained_tokens->value, held.commit, commit->tokens.value));
    for (auto const& c : files.commits)
        if (c.kind == CommitSummary::Kind::merge && c.number > held.commit) held.newer = c.number;
    return {held, {}};
}

}  // namespace curtail::account
