// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>

#include "apps/target.hpp"
#include "commands.hpp"
#include "core/files.hpp"
#include "evaluate/held_out.hpp"
#include "evaluate/sample.hpp"

namespace curtail::apps::model {
namespace {

json::Object to_json(rounds::Commit const& commit, evaluate::HeldOutLoss const& loss,
                     std::string const& sample)
{
    return {{"commit", commit.number.value},
            {"round", commit.round.value},
            {"tokens", loss.tokens},
            {"trained_tokens", commit.totals.tokens},
            {"held_out_loss_nats", loss.loss},
            {"held_out_loss_se", loss.standard_error},
            {"unigram_entropy_nats", loss.unigram_entropy},
            {"bits_per_byte", loss.bits_per_byte},
            {"sample", sample}};
}

std::string to_text(rounds::Commit const& commit, evaluate::HeldOutLoss const& loss)
{
    return fmt::format(
        "commit {}, round {}, trained on {} tokens\n"
        "held-out loss    {:.4f} +- {} nats per token, over {} tokens\n"
        "unigram entropy  {:.4f} nats per token; the model is {:.4f} {} it\n"
        "bits per byte    {:.4f}\n",
        commit.number.value, commit.round.value, commit.totals.tokens, loss.loss,
        loss.standard_error ? fmt::format("{:.4f}", *loss.standard_error) : "-", loss.tokens,
        loss.unigram_entropy, std::abs(loss.unigram_entropy - loss.loss),
        loss.loss <= loss.unigram_entropy ? "below" : "above", loss.bits_per_byte);
}

Result<void> evaluate(Arguments const& arguments, Console const& console)
{
    if (arguments.has("out"))
        if (auto good =
                check_target(arguments.text("out"), "an evaluation", "\"held_out_loss_nats\"");
            !good)
            return good;
    if (auto set = set_threads(arguments); !set) return set;
    auto opened = open_model(arguments.text("RUN"), arguments);
    if (!opened) return tl::unexpected(opened.error());
    if (auto same = evaluate::check_data(opened->run, opened->model); !same) return same;
    auto const& folder = opened->run.data.folder;
    auto stream = curtail::data::TokenStream::open(folder, curtail::data::Part::held_out);
    if (!stream) return tl::unexpected(stream.error());
    auto const tokenizer = curtail::data::Tokenizer::read(folder / curtail::data::tokenizer_file);
    if (!tokenizer) return tl::unexpected(tokenizer.error());

    curtail::model::Gpt const gpt(std::move(opened->model.weights));
    Progress progress("evaluating", "tokens");
    auto const loss = evaluate::held_out_loss(
        gpt, *stream, [&](double done, double whole) { progress.at(done, whole); });
    if (!loss) return tl::unexpected(loss.error());
    auto const sample = evaluate::sample_text(gpt, *tokenizer, arguments.text("prompt"),
                                              {.tokens = 60, .temperature = 0.8, .seed = 1});
    if (!sample) return tl::unexpected(sample.error());

    auto const document = to_json(opened->model.commit, *loss, *sample);
    if (arguments.has("out"))
        if (auto written = write_file(arguments.text("out"), json::to_pretty(document)); !written)
            return written;
    if (console.json) console.print_json(document);
    else console.print(to_text(opened->model.commit, *loss));
    return {};
}

}  // namespace

Command evaluate_command()
{
    return {
        "evaluate",
        "Loss on the held-out text, in nats per token and bits per byte",
        {commit_option(),
         threads_option(),
         {"out", Kind::text, "FILE", "",
          "Write the result as JSON too; a run's report reads evaluation.json in the run's folder"},
         {"prompt", Kind::text, "TEXT", "The ", "Beginning of the short sample in the result"}},
        {{"RUN", "A run's file, as inputs/runs/demo.json"}},
        evaluate,
        true};
}

}  // namespace curtail::apps::model
