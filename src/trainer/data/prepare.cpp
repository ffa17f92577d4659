// SPDX-License-Identifier: Apache-2.0
#include "trainer/data/prepare.hpp"

#include <cmath>

#include "base/core/files.hpp"
#include "trainer/data/corpus.hpp"
#include "trainer/data/encoder.hpp"
#include "trainer/data/output_folder.hpp"
#include "trainer/data/shards.hpp"
#include "trainer/data/tokenizer_training.hpp"
#include "trainer/data/verify.hpp"

namespace curtail::data {
namespace {

namespace fs = std::filesystem;

// Everything that determines the contents of the folder, apart from the options.
struct Source {
    Corpus corpus;
    std::optional<Tokenizer> tokenizer;  // empty: train one
    Digest inputs_digest;                // of the above and the options
};

Result<Source> read_source(PrepareOptions const& options)
{
    auto corpus = read_corpus(options.text);
    if (!corpus) return tl::unexpected(corpus.error());
    std::optional<Tokenizer> given;
    if (options.tokenizer) {
        auto read = Tokenizer::read(*options.tokenizer);
        if (!read) return tl::unexpected(read.error());
        auto const tokens = read->vocabulary_size();
        if (tokens > options.largest_vocabulary.value_or(tokens))
            return fail(ExitCode::config, "cannot use tokenizer " + options.tokenizer->string(),
                        "it has " + std::to_string(tokens) + " tokens, and the model has " +
                            std::to_string(*options.largest_vocabulary),
                        "use a smaller tokenizer, or raise `vocabulary` in the model file");
        given = std::move(*read);
    }
    auto const inputs =
        json::canonical(json::Object{{"format", manifest_format},
                                     {"text", corpus->digest.hex()},
                                     {"tokenizer", given ? json::Value(given->digest().hex())
                                                         : json::Value(options.vocabulary_size)},
                                     {"held_out_ppb", std::llround(options.held_out_share * 1e9)},
                                     {"seed", options.seed},
                                     {"shard_tokens", options.shard_tokens}});
    return Source{std::move(*corpus), std::move(given), sha256(inputs)};
}

bool is_absent_or_empty(fs::path const& folder)
{
    std::error_code error;
    auto const status = fs::status(folder, error);
    return !fs::exists(status) || (fs::is_directory(status) && fs::is_empty(folder, error));
}

// The manifest of `options.out` if it is up to date; empty if prepare has to (re)create it.
Result<std::optional<Manifest>> find_existing(PrepareOptions const& options,
                                              Digest const& inputs_digest)
{
    if (is_absent_or_empty(options.out)) return std::nullopt;
    auto const refuse = [&](std::string why, std::string remedy) {
        return fail(ExitCode::cannot_create, "cannot prepare " + options.out.string(),
                    std::move(why), std::move(remedy));
    };
    auto const found = read_manifest(options.out);
    bool const same = found && found->inputs_digest == inputs_digest;
    if (same)
        if (auto const checked = verify(options.out); checked && checked->good()) return *found;
    if (auto const why = foreign_content(options.out); !why.empty())
        return refuse("it is not a folder of prepared text (" + why + ")", "name another folder");
    if (options.replace) return std::nullopt;
    if (!found || same) return refuse("it is damaged", "add --replace to prepare it again");
    return refuse("it was prepared from different text or with different options",
                  "add --replace or name another folder");
}

std::vector<std::string> pick(Corpus& corpus, std::vector<std::size_t> const& chosen)
{
    std::vector<std::string> documents;
    documents.reserve(chosen.size());
    for (auto const index : chosen) documents.push_back(std::move(corpus.documents[index]));
    return documents;
}

ProgressCallback at_stage(StageCallback const& progress, std::string name)
{
    if (!progress) return {};
    return [&progress, name = std::move(name)](double done, double total) {
        progress(name, done, total);
    };
}

// Writes the shards of one split.
Result<SplitEntry> write_split(std::vector<std::string> const& documents,
                               Tokenizer const& tokenizer, ShardWriter writer,
                               ProgressCallback const& progress)
{
    Encoder encoder(tokenizer);
    std::vector<Token> tokens;
    for (std::size_t i = 0; i < documents.size(); ++i) {
        tokens.assign(1, tokenizer.bos());
        if (auto done = encoder.append(documents[i], tokens); !done)
            return tl::unexpected(done.error());
        if (auto done = writer.add(tokens, static_cast<std::int64_t>(documents[i].size())); !done)
            return tl::unexpected(done.error());
        if (progress) progress(static_cast<double>(i + 1), static_cast<double>(documents.size()));
    }
    return writer.finish();
}

Result<Tokenizer> make_tokenizer(PrepareOptions const& options, std::optional<Tokenizer> given,
                                 std::vector<std::string> const& training, fs::path const& folder,
                                 StageCallback const& progress)
{
    auto tokenizer = given ? Result<Tokenizer>(std::move(*given))
                           : train_tokenizer(training, options.vocabulary_size,
                                             at_stage(progress, "training the tokenizer"));
    if (!tokenizer) return tokenizer;
    if (auto written = write_file(folder / tokenizer_file, tokenizer->to_tiktoken()); !written)
        return tl::unexpected(written.error());
    return tokenizer;
}

// Writes tokenizer, shards and manifest.
Result<Manifest> write_files(PrepareOptions const& options, fs::path const& folder, Source source,
                             StageCallback const& progress)
{
    auto const training_split =
        split_documents(source.corpus.documents.size(), options.held_out_share,
                        static_cast<std::uint64_t>(options.seed));
    if (!training_split) return tl::unexpected(training_split.error());
    auto const training = pick(source.corpus, training_split->training);
    auto const held_out = pick(source.corpus, training_split->held_out);
    auto const tokenizer =
        make_tokenizer(options, std::move(source.tokenizer), training, folder, progress);
    if (!tokenizer) return tl::unexpected(tokenizer.error());
    auto const write = [&](Split split, std::vector<std::string> const& documents) {
        ShardLabel const label{split, tokenizer->digest(), tokenizer->vocabulary_size()};
        return write_split(documents, *tokenizer, ShardWriter(folder, label, options.shard_tokens),
                           at_stage(progress, "tokenizing"));
    };
    auto train_split = write(Split::train, training);
    if (!train_split) return tl::unexpected(train_split.error());
    auto held_out_split = write(Split::held_out, held_out);
    if (!held_out_split) return tl::unexpected(held_out_split.error());
    Manifest manifest{
        source.inputs_digest,   tokenizer->digest(),     tokenizer->vocabulary_size(), options.seed,
        options.held_out_share, std::move(*train_split), std::move(*held_out_split)};
    return write_file(folder / manifest_file, json::to_pretty(manifest.to_json())).map([&] {
        return std::move(manifest);
    });
}

Result<Manifest> create(PrepareOptions const& options, OutputPaths const& paths, Source source,
                        StageCallback const& progress)
{
    for (auto const& path : {paths.partial, paths.old})
        if (auto removed = remove_leftovers(path); !removed) return tl::unexpected(removed.error());
    if (auto made = make_folder(paths.partial); !made) return tl::unexpected(made.error());
    auto manifest = write_files(options, paths.partial, std::move(source), progress);
    if (manifest)
        if (auto placed = put_in_place(paths.partial, paths.out, paths.old); !placed)
            manifest = tl::unexpected(placed.error());
    std::error_code ignored;
    if (!manifest) fs::remove_all(paths.partial, ignored);
    return manifest;
}

}  // namespace

Result<PreparedData> prepare(PrepareOptions const& options, StageCallback const& progress)
{
    if (options.shard_tokens < 1 || options.shard_tokens > std::int64_t{1} << 32)
        return fail(ExitCode::usage,
                    "cannot make shards of " + std::to_string(options.shard_tokens) + " tokens",
                    "a shard has 1 to 2^32");
    auto const paths = output_paths(options.out);
    if (auto made = make_folder(paths.out.parent_path()); !made)
        return tl::unexpected(made.error());
    auto const lock = FileLock::take(paths.lock);
    if (!lock) return tl::unexpected(lock.error());
    auto source = read_source(options);
    if (!source) return tl::unexpected(source.error());
    auto const existing = find_existing(options, source->inputs_digest);
    if (!existing) return tl::unexpected(existing.error());
    auto const left_out = source->corpus.left_out_files;
    if (*existing) return PreparedData{**existing, true, left_out};
    return create(options, paths, std::move(*source), progress).map([&](Manifest const& manifest) {
        return PreparedData{manifest, false, left_out};
    });
}

}  // namespace curtail::data
