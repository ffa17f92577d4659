// SPDX-License-Identifier: Apache-2.0
#include "trainer/evaluate/sample.hpp"
#include "commands.hpp"
#include "trainer/data/manifest.hpp"

namespace curtail::programs::model {
namespace {

Result<void> sample(Arguments const& arguments, Console const& console)
{
    evaluate::SampleSettings const settings{
        .tokens = {arguments.integer("tokens")},
        .temperature = arguments.number("temperature"),
        .seed = static_cast<std::uint64_t>(arguments.integer("seed"))};
    set_threads(arguments);
    auto opened = open_model_and_data(arguments.text("RUN"), arguments, console.log);
    if (!opened) return tl::unexpected(opened.error());
    auto const tokenizer =
        curtail::data::Tokenizer::read(opened->run.data.folder / curtail::data::tokenizer_file);
    if (!tokenizer) return tl::unexpected(tokenizer.error());
    curtail::model::Gpt const gpt(std::move(opened->model.weights));
    ProgressLine progress("sampling", "tokens");
    auto const text =
        evaluate::sample_text(gpt, *tokenizer, arguments.text("prompt"), settings,
                              [&](double done, double total) { progress.update(done, total); });
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
    constexpr double no_limit = NumberRange{}.max;
    return {"sample",
            "Continue a text with the model",
            {commit_option(), threads_option(),
             text_option("prompt", "TEXT", "Text to continue", "The "),
             integer_option("tokens", "N",
                            "Generate at most N tokens; the model may end the text earlier",
                            {1, no_limit}, "200"),
             number_option("temperature", "X",
                           "Divides the logits: lower is more predictable, higher more random, 0 "
                           "always takes the most likely token",
                           {0, no_limit}, "0.8"),
             integer_option("seed", "N",
                            "Random seed; the same model, options and seed give the same text", {},
                            "1"),
             cache_option()},
            {{"RUN", "Run file, such as inputs/runs/demo.json"}},
            sample,
            true,
            "curtail-model sample inputs/runs/demo.json --prompt 'The ' --tokens 100"};
}

}  // namespace curtail::programs::model
