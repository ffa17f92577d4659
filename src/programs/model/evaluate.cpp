// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>

#include "base/core/files.hpp"
#include "commands.hpp"
#include "programs/frame/target.hpp"
#include "run/runlog/evaluation.hpp"
#include "trainer/evaluate/held_out.hpp"
#include "trainer/evaluate/sample.hpp"

namespace curtail::programs::model {
namespace {

json::Object to_json(protocol::Commit const& commit, evaluate::HeldOutLoss const& loss,
                     std::string const& sample)
{
    return runlog::to_json({.commit = commit.number,
                            .round = commit.round,
                            .tokens = loss.tokens,
                            .trained_tokens = commit.totals.tokens,
                            .loss = loss.loss,
                            .standard_error = loss.standard_error,
                            .unigram_entropy = loss.unigram_entropy,
                            .bits_per_byte = loss.bits_per_byte,
                            .sample = sample});
}

std::string to_text(protocol::Commit const& commit, evaluate::HeldOutLoss const& loss)
{
    return fmt::format(
        "commit {}, round {}, trained on {} tokens\n"
        "held-out loss    {:.4f} +- {} nats per token, over {} tokens\n"
        "unigram entropy  {:.4f} nats per token; the model is {:.4f} {} it\n"
        "bits per byte    {:.4f}\n",
        commit.number.value, commit.round.value, commit.totals.tokens.value, loss.loss,
        loss.standard_error ? fmt::format("{:.4f}", *loss.standard_error) : "-", loss.tokens.value,
        loss.unigram_entropy, std::abs(loss.unigram_entropy - loss.loss),
        loss.loss <= loss.unigram_entropy ? "below" : "above", loss.bits_per_byte);
}

struct Evaluation {
    evaluate::HeldOutLoss loss;
    std::string sample;
};

// Consumes the weights of `opened`.
Result<Evaluation> compute(Opened& opened, std::string const& prompt)
{
    auto const& folder = opened.run.data.folder;
    auto stream = curtail::data::TokenStream::open(folder, curtail::data::Split::held_out);
    if (!stream) return tl::unexpected(stream.error());
    auto const tokenizer = curtail::data::Tokenizer::read(folder / curtail::data::tokenizer_file);
    if (!tokenizer) return tl::unexpected(tokenizer.error());
    curtail::model::Gpt const gpt(std::move(opened.model.weights));
    ProgressLine progress("evaluating", "tokens");
    auto const loss = evaluate::held_out_loss(
        gpt, *stream, [&](double done, double total) { progress.update(done, total); });
    if (!loss) return tl::unexpected(loss.error());
    return evaluate::sample_text(gpt, *tokenizer, prompt,
                                 {.tokens = {60}, .temperature = 0.8, .seed = 1})
        .map([&](std::string sample) {
            return Evaluation{*loss, std::move(sample)};
        });
}

Result<void> evaluate(Arguments const& arguments, Console const& console)
{
    if (arguments.flag("follow")) return follow(arguments, console);
    for (auto const* option : {"site", "every"})
        if (arguments.has(option))
            return fail(ExitCode::usage, std::string("--") + option, "works only with --follow",
                        "add --follow");
    auto const out = arguments.text("out");
    if (!out.empty())
        if (auto good = check_target(out, "an evaluation", runlog::evaluation_mark); !good)
            return good;
    set_threads(arguments);
    auto opened = open_model_and_data(arguments.text("RUN"), arguments, console.log);
    if (!opened) return tl::unexpected(opened.error());
    auto const found = compute(*opened, arguments.text("prompt"));
    if (!found) return tl::unexpected(found.error());
    auto const document = to_json(opened->model.commit, found->loss, found->sample);
    if (!out.empty())
        if (auto written = write_file(out, json::to_pretty(document)); !written) return written;
    if (console.json) console.print_json(document);
    else console.print(to_text(opened->model.commit, found->loss));
    return {};
}

}  // namespace

Command evaluate_command()
{
    std::vector<Option> options{
        commit_option(), threads_option(),
        text_option("out", "FILE",
                    "Also write the result to this file as JSON; curtail-report reads "
                    "evaluation.json in the run's folder"),
        text_option("prompt", "TEXT",
                    "Prompt for the short sample in the result; without meaning with --follow",
                    "The "),
        cache_option()};
    for (auto& option : follow_options()) options.push_back(std::move(option));
    return {"evaluate",
            "Compute the loss on the held-out text, in nats per token and bits per byte",
            std::move(options),
            {{"RUN", "Run file, such as inputs/runs/demo.json"}},
            evaluate,
            true,
            "curtail-model evaluate inputs/runs/demo.json\n"
            "         curtail-model evaluate inputs/runs/demo.json --follow --site CAISO_NORTH"};
}

}  // namespace curtail::programs::model
