// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <memory>

#include "commands.hpp"
#include "run/config/run.hpp"
#include "trainer/data/summary.hpp"

namespace curtail::programs::data {
namespace {

using curtail::data::PrepareOptions;

// The values that come from the run file, unless given as options.
Result<void> take_run(Arguments const& arguments, PrepareOptions& options)
{
    auto const run = config::read_run(arguments.text("run"));
    if (!run) return tl::unexpected(run.error());
    if (arguments.has("vocabulary") && options.vocabulary_size != run->model.vocabulary)
        return fail(ExitCode::usage, "cannot use --vocabulary " + arguments.text("vocabulary"),
                    fmt::format("the model of {} has a vocabulary of {}", arguments.text("run"),
                                run->model.vocabulary),
                    "omit --vocabulary");
    if (!arguments.has("seed")) options.seed = run->seed;
    options.out = run->data.folder;
    options.vocabulary_size = run->model.vocabulary;
    options.largest_vocabulary = run->model.vocabulary;
    return {};
}

Result<void> take_target(Arguments const& arguments, PrepareOptions& options)
{
    if (arguments.has("out") == arguments.has("run"))
        return fail(ExitCode::usage,
                    arguments.has("out") ? "cannot use --out with --run" : "no target folder",
                    arguments.has("out") ? "both name the target folder" : "",
                    "pass either --out FOLDER or --run RUN");
    options.out = arguments.text("out");
    options.vocabulary_size = vocabulary_size(arguments);
    if (arguments.has("seed")) options.seed = arguments.integer("seed");
    return arguments.has("run") ? take_run(arguments, options) : Result<void>{};
}

Result<void> prepare(Arguments const& arguments, Console const& console)
{
    PrepareOptions options;
    for (auto const& text : arguments.values_of("TEXT")) options.text.emplace_back(text);
    if (arguments.has("tokenizer")) options.tokenizer = arguments.text("tokenizer");
    options.held_out_share = arguments.number("held-out");
    options.shard_tokens = arguments.integer("shard-tokens");
    options.replace = arguments.flag("replace");
    if (auto taken = take_target(arguments, options); !taken) return taken;
    // The line on the terminal ends with the work.
    auto const prepared = curtail::data::prepare(
        options,
        [stages = std::make_shared<Stages>()](std::string const& stage, double done, double total) {
            stages->update(stage, stage == "tokenizing" ? "documents" : "merges",
                           static_cast<std::int64_t>(done), static_cast<std::int64_t>(total));
        });
    if (!prepared) return tl::unexpected(prepared.error());
    report_left_out(prepared->left_out_files, console.log);
    console.log.info(options.out.string() + (prepared->up_to_date
                                                 ? " already contains this text; nothing to do"
                                                 : " is ready"));
    return curtail::data::summarize(options.out).map([&](curtail::data::Summary const& summary) {
        if (console.json) console.print_json(to_json(summary));
        else console.print(to_text(summary));
    });
}

}  // namespace

void report_left_out(std::int64_t files, Log const& log)
{
    if (files == 1) log.info("left out a file whose name does not end with .txt");
    if (files > 1)
        log.info(fmt::format("left out {} files whose names do not end with .txt", files));
}

Option vocabulary_option()
{
    return integer_option(
        "vocabulary", "TOKENS",
        fmt::format("Vocabulary size, including 9 special tokens; 265 to 65536 [{}]",
                    default_vocabulary));
}

std::int64_t vocabulary_size(Arguments const& arguments)
{
    return arguments.has("vocabulary") ? arguments.integer("vocabulary") : default_vocabulary;
}

Command prepare_command()
{
    return {
        "prepare",
        "Turn text into a folder with tokenizer, token shards and manifest; the folder is complete "
        "or does not appear at all",
        {text_option("out", "FOLDER", "Target folder; pass either --out or --run"),
         text_option("run", "RUN",
                     "Take target folder and seed from this run file, and the vocabulary size from "
                     "its model file"),
         vocabulary_option(),
         text_option("tokenizer", "FILE",
                     "Use this tokenizer file (tiktoken's format) instead of training a tokenizer"),
         number_option("held-out", "SHARE",
                       "Share of the documents that is held out for evaluation", {}, "0.05"),
         integer_option("seed", "NUMBER",
                        "Seed of the document order [1, or with --run the run's seed]"),
         integer_option("shard-tokens", "TOKENS", "Tokens per shard", {}, "67108864"),
         flag_option("replace",
                     "Replace a folder that was prepared from other text or with other options")},
        {{"TEXT", "UTF-8 files, or folders with .txt files", true, true}},
        prepare,
        true,
        "curtail-data prepare my_text/ --out data --vocabulary 2048"};
}

}  // namespace curtail::programs::data
