// SPDX-License-Identifier: Apache-2.0
#include "evaluate/sample.hpp"
#include "commands.hpp"
#include "data/manifest.hpp"

namespace curtail::apps::model {
namespace {

Result<void> sample(Arguments const& arguments, Console const& console)
{
    evaluate::SampleSettings const settings{
        .tokens = arguments.integer("tokens"),
        .temperature = arguments.number("temperature"),
        .seed = static_cast<std::uint64_t>(arguments.integer("seed"))};
    if (settings.tokens < 1) return fail(ExitCode::usage, "--tokens", "must be at least 1");
    if (settings.temperature < 0)
        return fail(ExitCode::usage, "--temperature", "must not be negative");
    if (auto set = set_threads(arguments); !set) return set;
    auto opened = open_model(arguments.text("RUN"), arguments);
    if (!opened) return tl::unexpected(opened.error());
    if (auto same = evaluate::check_data(opened->run, opened->model); !same) return same;
    auto const tokenizer =
        curtail::data::Tokenizer::read(opened->run.data.folder / curtail::data::tokenizer_file);
    if (!tokenizer) return tl::unexpected(tokenizer.error());
    curtail::model::Gpt const gpt(std::move(opened->model.weights));
    Progress progress("writing", "tokens");
    auto const text =
        evaluate::sample_text(gpt, *tokenizer, arguments.text("prompt"), settings,
                              [&](double done, double whole) { progress.at(done, whole); });
    if (!text) return tl::unexpected(text.error());
    if (console.json)
        console.print_json(
            json::Object{{"commit", opened->model.commit.number.value}, {"text", *text}});
    else console.print(*text + "\n");
    return {};
}

}  // namespace

Command sample_command()
{
    return {"sample",
            "Let the model continue a text",
            {commit_option(),
             threads_option(),
             {"prompt", Kind::text, "TEXT", "The ", "Text to continue"},
             {"tokens", Kind::integer, "N", "200",
              "Write at most so many tokens; the model may end earlier"},
             {"temperature", Kind::number, "X", "0.8",
              "Divides the logits: below 1 safer, above 1 wilder, 0 always the likeliest token"},
             {"seed", Kind::integer, "N", "1",
              "Of the random choices; the same seed writes the same text"}},
            {{"RUN", "A run's file, as inputs/runs/demo.json"}},
            sample,
            true};
}

}  // namespace curtail::apps::model
