// SPDX-License-Identifier: Apache-2.0
#include "apps/target.hpp"
#include "commands.hpp"
#include "core/files.hpp"
#include "data/corpus.hpp"
#include "data/tokenizer_training.hpp"

namespace curtail::apps::data {
namespace {

Result<void> learn(Arguments const& arguments, Console const& console)
{
    auto const out = arguments.text("out");
    // Rank 0 is that of the byte 0, in all that train_tokenizer learns.
    if (auto good = check_target(out, "a tokenizer", "AA== 0\n"); !good) return good;
    std::vector<std::filesystem::path> sources;
    for (auto const& text : arguments.all("TEXT")) sources.emplace_back(text);
    auto const corpus = curtail::data::read_corpus(sources);
    if (!corpus) return tl::unexpected(corpus.error());
    Progress progress("training the tokenizer", "merges");
    auto const vocabulary =
        arguments.has("vocabulary") ? arguments.integer("vocabulary") : default_vocabulary;
    return curtail::data::train_tokenizer(
               corpus->documents, vocabulary,
               [&](double done, double whole) { progress.at(done, whole); })
        .and_then([&](curtail::data::Tokenizer const& tokenizer) {
            return write_file(out, tokenizer.to_tiktoken());
        })
        .map([&] {
            console.log.info("wrote " + out);
            if (console.json)
                console.print_json(json::Object{}.set("file", out).set("vocabulary", vocabulary));
        });
}

}  // namespace

Command tokenizer_command()
{
    return {"tokenizer",
            "Learn a vocabulary from text and write it as a tiktoken rank file",
            {{"out", Kind::text, "FILE", "", "Where to write it", true}, vocabulary_option()},
            {{"TEXT", "UTF-8 files, or folders of .txt files", true, true}},
            learn,
            true};
}

}  // namespace curtail::apps::data
