// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <memory>

#include "commands.hpp"
#include "config/run.hpp"
#include "data/summary.hpp"

namespace curtail::apps::data {
namespace {

using curtail::data::PrepareOptions;

/// Where to put what, as the command line or the run's file says.
Result<void> take_target(Arguments const& arguments, PrepareOptions& options)
{
    if (arguments.has("out") == arguments.has("run"))
        return fail(ExitCode::usage, arguments.has("out") ? "--out and --run" : "where to put it?",
                    arguments.has("out") ? "both say where to put it" : "",
                    "pass either --out FOLDER or --run RUN");
    options.out = arguments.text("out");
    options.vocabulary =
        arguments.has("vocabulary") ? arguments.integer("vocabulary") : default_vocabulary;
    if (arguments.has("seed")) options.seed = arguments.integer("seed");
    if (!arguments.has("run")) return {};
    auto const run = config::read_run(arguments.text("run"));
    if (!run) return tl::unexpected(run.error());
    if (arguments.has("vocabulary") && options.vocabulary != run->model.vocabulary)
        return fail(
            ExitCode::usage, "--vocabulary " + arguments.text("vocabulary"),
            fmt::format("the model of {} has {}", arguments.text("run"), run->model.vocabulary),
            "leave --vocabulary out");
    if (!arguments.has("seed")) options.seed = run->seed;
    options.out = run->data.folder;
    options.vocabulary = run->model.vocabulary;
    return {};
}

Result<void> prepare(Arguments const& arguments, Console const& console)
{
    PrepareOptions options;
    for (auto const& text : arguments.all("TEXT")) options.text.emplace_back(text);
    if (auto taken = take_target(arguments, options); !taken) return taken;
    if (arguments.has("tokenizer")) options.tokenizer = arguments.text("tokenizer");
    options.held_out = arguments.number("held-out");
    options.shard_tokens = arguments.integer("shard-tokens");
    options.replace = arguments.flag("replace");
    auto const prepared = curtail::data::prepare(options, progress_of_stages());
    if (!prepared) return tl::unexpected(prepared.error());
    console.log.info(options.out.string() + (prepared->up_to_date
                                                 ? " already holds this text; nothing to do"
                                                 : " is ready"));
    return curtail::data::summarize(options.out).map([&](curtail::data::Summary const& summary) {
        if (console.json) console.print_json(to_json(summary));
        else console.print(to_text(summary));
    });
}

}  // namespace

curtail::data::StageCallback progress_of_stages()
{
    struct Shown {
        std::string stage;
        std::unique_ptr<Progress> progress;
    };
    return [shown = std::make_shared<Shown>()](std::string const& stage, double done,
                                               double whole) {
        if (shown->stage != stage) {
            shown->progress =
                std::make_unique<Progress>(stage, stage == "tokenizing" ? "documents" : "merges");
            shown->stage = stage;
        }
        shown->progress->at(done, whole);
    };
}

Option vocabulary_option()
{
    return {"vocabulary", Kind::integer, "TOKENS", "",
            fmt::format("Size of the vocabulary to learn, with 9 special tokens; 265 to 65536 [{}]",
                        default_vocabulary)};
}

Command prepare_command()
{
    return {"prepare",
            "Text -> tokenizer, token shards and manifest in a folder, which appears whole or not "
            "at all",
            {{"out", Kind::text, "FOLDER", "", "Where to put them"},
             {"run", Kind::text, "RUN", "",
              "Put them where this run's file wants its data, with its model's vocabulary and its "
              "seed"},
             vocabulary_option(),
             {"tokenizer", Kind::text, "FILE", "",
              "Use this tiktoken rank file instead of learning a vocabulary"},
             {"held-out", Kind::number, "SHARE", "0.05",
              "Share of the documents that is kept for evaluation"},
             {"seed", Kind::integer, "NUMBER", "",
              "Order of the documents; with --run the run's seed, else [1]"},
             {"shard-tokens", Kind::integer, "TOKENS", "67108864", "Size of a shard"},
             {"replace", Kind::flag, "", "",
              "Replace a folder that was prepared from other text or with other options"}},
            {{"TEXT", "UTF-8 files, or folders of .txt files", true, true}},
            prepare,
            true};
}

}  // namespace curtail::apps::data
