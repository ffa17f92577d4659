// SPDX-License-Identifier: Apache-2.0
#include "base/core/files.hpp"
#include "commands.hpp"
#include "programs/frame/target.hpp"
#include "trainer/data/corpus.hpp"
#include "trainer/data/tokenizer_training.hpp"

namespace curtail::programs::data {
namespace {

Result<curtail::data::Tokenizer> train(Arguments const& arguments, Log const& log)
{
    std::vector<std::filesystem::path> sources;
    for (auto const& text : arguments.values_of("TEXT")) sources.emplace_back(text);
    auto const corpus = curtail::data::read_corpus(sources);
    if (!corpus) return tl::unexpected(corpus.error());
    report_left_out(corpus->left_out_files, log);
    ProgressLine progress("training the tokenizer", "merges");
    return curtail::data::train_tokenizer(
        corpus->documents, vocabulary_size(arguments),
        [&](double done, double total) { progress.update(done, total); });
}

Result<void> write_tokenizer(Arguments const& arguments, Console const& console)
{
    auto const out = arguments.text("out");
    // In every trained tokenizer, the byte 0 has rank 0.
    if (auto good = check_target(out, "a tokenizer", "AA== 0\n"); !good) return good;
    auto const tokenizer = train(arguments, console.log);
    if (!tokenizer) return tl::unexpected(tokenizer.error());
    if (auto written = write_file(out, tokenizer->to_tiktoken()); !written) return written;
    console.log.info("wrote " + out);
    if (console.json)
        console.print_json(
            json::Object{}.set("file", out).set("vocabulary", vocabulary_size(arguments)));
    return {};
}

}  // namespace

Command tokenizer_command()
{
    return {"tokenizer",
            "Train a tokenizer on text and write it in tiktoken's format",
            {required(text_option("out", "FILE", "Output file")), vocabulary_option()},
            {{"TEXT", "UTF-8 files, or folders with .txt files", true, true}},
            write_tokenizer,
            true,
            "curtail-data tokenizer my_text/ --out my.tiktoken --vocabulary 2048"};
}

}  // namespace curtail::programs::data
