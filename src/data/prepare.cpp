// SPDX-License-Identifier: Apache-2.0
#include "data/prepare.hpp"

#include <cmath>
#include <regex>

#include "core/files.hpp"
#include "core/text.hpp"
#include "data/corpus.hpp"
#include "data/shards.hpp"

namespace curtail::data {
namespace {

namespace fs = std::filesystem;

Report stage(StageReport const& report, std::string name)
{
    if (!report) return {};
    return
        [&report, name = std::move(name)](double done, double whole) { report(name, done, whole); };
}

Digest digest_of(PrepareOptions const& options, Corpus const& corpus,
                 std::optional<Tokenizer> const& given)
{
    return sha256(json::canonical(json::Object{
        {"format", manifest_format},
        {"text", corpus.digest.hex()},
        {"tokenizer", given ? json::Value(given->digest().hex()) : json::Value(options.vocabulary)},
        {"held_out_ppb", std::llround(options.held_out * 1e9)},
        {"seed", options.seed},
        {"shard_tokens", options.shard_tokens}}));
}

/// What in `folder` prepare does not write, not even half; empty: nothing.
std::string foreign_entry(fs::path const& folder)
{
    static std::regex const known(
        R"((\.?)(manifest\.json|tokenizer\.tiktoken|(train|heldout)-[0-9]{5,}\.h5)(\.[0-9]+\.[0-9]+\.tmp)?)");
    std::error_code error;
    for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
        auto const name = at->path().filename().string();
        std::smatch parts;
        bool const ours = std::regex_match(name, parts, known) &&
                          (parts[1].length() > 0) == (parts[4].length() > 0);
        if (!ours || at->symlink_status(error).type() != fs::file_type::regular)
            return "it holds \"" + printable(name) + "\" too";
    }
    return error ? errno_text(error.value()) : "";
}

/// What tells that `folder` was not made by prepare, so that nothing in it may be deleted; empty:
/// it was, whatever became of its shards.
std::string foreign_thing(fs::path const& folder)
{
    auto const manifest = json::parse_file(folder / manifest_file, json::Dialect::strict);
    if (!manifest)
        return manifest.error().code == ExitCode::no_input ? "it has no manifest.json"
                                                           : "its manifest.json cannot be read";
    auto const* object = manifest->as_object();
    auto const* format = object == nullptr ? nullptr : object->find("format");
    if (format == nullptr || *format != json::Value(manifest_format))
        return "its manifest.json is not that of prepared text";
    return foreign_entry(folder);
}

/// Removes what an earlier prepare that was killed left at `path`, and nothing else.
Result<void> remove_remains(fs::path const& path)
{
    std::error_code error;
    auto const type = fs::symlink_status(path, error).type();
    if (type == fs::file_type::not_found) return {};
    auto const why = type == fs::file_type::directory ? foreign_entry(path) : "it is no folder";
    if (!why.empty())
        return fail(ExitCode::cannot_create,
                    "cannot use " + path.string() + " for work in progress", why, "move it away");
    fs::remove_all(path, error);
    if (error)
        return fail(ExitCode::cannot_create, "cannot remove " + path.string(),
                    errno_text(error.value()));
    return {};
}

/// The manifest of `out` if it already holds what `inputs` would give; nothing if there is
/// something to do.
Result<std::optional<Manifest>> find_earlier(PrepareOptions const& options, Digest const& inputs)
{
    std::error_code error;
    auto const status = fs::status(options.out, error);
    if (!fs::exists(status) || (fs::is_directory(status) && fs::is_empty(options.out, error)))
        return std::nullopt;
    auto const taken = [&](std::string why, std::string remedy) {
        return fail(ExitCode::cannot_create, "cannot prepare " + options.out.string(),
                    std::move(why), std::move(remedy));
    };
    auto const found = read_manifest(options.out);
    bool const same = found && found->inputs == inputs;
    if (same && verify(options.out).map([](auto const& all) { return all.good(); }).value_or(false))
        return *found;
    if (auto const why = foreign_thing(options.out); !why.empty())
        return taken("it holds something else than prepared text (" + why + ")",
                     "name another folder");
    if (options.replace) return std::nullopt;
    if (!found || same) return taken("it is damaged", "add --replace to prepare it again");
    return taken("it was prepared from other text or with other options",
                 "add --replace or name another folder");
}

std::vector<std::string> pick(Corpus& corpus, std::vector<std::size_t> const& chosen)
{
    std::vector<std::string> documents;
    documents.reserve(chosen.size());
    for (auto const index : chosen) documents.push_back(std::move(corpus.documents[index]));
    return documents;
}

Result<PartEntry> write_part(std::vector<std::string> const& documents, Tokenizer const& tokenizer,
                             ShardWriter writer, Report const& report)
{
    Encoder encoder(tokenizer);
    std::vector<Token> tokens;
    for (std::size_t i = 0; i < documents.size(); ++i) {
        tokens.assign(1, tokenizer.bos());
        if (auto done = encoder.append(documents[i], tokens); !done)
            return tl::unexpected(done.error());
        if (auto done = writer.add(tokens, static_cast<std::int64_t>(documents[i].size())); !done)
            return tl::unexpected(done.error());
        if (report) report(static_cast<double>(i + 1), static_cast<double>(documents.size()));
    }
    return writer.finish();
}

Result<Manifest> write_all(PrepareOptions const& options, fs::path const& folder, Corpus corpus,
                           std::optional<Tokenizer> given, Digest const& inputs,
                           StageReport const& report)
{
    auto const division =
        divide(corpus.documents.size(), options.held_out, static_cast<std::uint64_t>(options.seed));
    if (!division) return tl::unexpected(division.error());
    auto const training = pick(corpus, division->training);
    auto const held_out = pick(corpus, division->held_out);
    auto const tokenizer = given ? Result<Tokenizer>(std::move(*given))
                                 : train_tokenizer(training, options.vocabulary,
                                                   stage(report, "training the tokenizer"));
    if (!tokenizer) return tl::unexpected(tokenizer.error());
    if (auto done = write_file(folder / tokenizer_file, tokenizer->to_tiktoken()); !done)
        return tl::unexpected(done.error());
    Manifest manifest{
        inputs, tokenizer->digest(), tokenizer->vocabulary(), options.seed, options.held_out, {},
        {}};
    auto const encode = [&](Part part, std::vector<std::string> const& documents,
                            PartEntry& entry) -> Result<void> {
        ShardWriter writer(folder, {part, manifest.tokenizer, manifest.vocabulary},
                           options.shard_tokens);
        auto written =
            write_part(documents, *tokenizer, std::move(writer), stage(report, "tokenizing"));
        if (!written) return tl::unexpected(written.error());
        entry = std::move(*written);
        return {};
    };
    if (auto done = encode(Part::train, training, manifest.train); !done)
        return tl::unexpected(done.error());
    if (auto done = encode(Part::held_out, held_out, manifest.held_out); !done)
        return tl::unexpected(done.error());
    if (auto done = write_file(folder / manifest_file, json::to_pretty(manifest.to_json())); !done)
        return tl::unexpected(done.error());
    return manifest;
}

}  // namespace

Result<void> put_in_place(fs::path const& part, fs::path const& out, fs::path const& old)
{
    std::error_code error;
    fs::remove_all(old, error);
    bool const replaces = !error && fs::exists(out, error);
    if (!error && replaces) fs::rename(out, old, error);
    bool const moved = !error && replaces;
    if (!error) fs::rename(part, out, error);
    if (error) {
        std::error_code ignored;
        if (moved) fs::rename(old, out, ignored);
        return fail(ExitCode::cannot_create, "cannot put " + out.string() + " in place",
                    errno_text(error.value()));
    }
    fs::remove_all(old, error);
    return sync_folder(out.parent_path());
}

Result<Prepared> prepare(PrepareOptions const& options, StageReport const& report)
{
    if (options.shard_tokens < 1 || options.shard_tokens > (std::int64_t{1} << 32))
        return fail(ExitCode::usage,
                    "cannot make shards of " + std::to_string(options.shard_tokens) + " tokens",
                    "a shard has 1 to 2^32");
    auto const out = fs::absolute(options.out).lexically_normal();
    auto const clean = out.has_filename() ? out : out.parent_path();
    auto const beside = [&](char const* suffix) {
        return clean.parent_path() / ("." + clean.filename().string() + suffix);
    };
    if (auto made = make_folder(clean.parent_path()); !made) return tl::unexpected(made.error());
    auto const lock = FileLock::take(beside(".lock"));
    if (!lock) return tl::unexpected(lock.error());
    auto corpus = read_corpus(options.text);
    if (!corpus) return tl::unexpected(corpus.error());
    std::optional<Tokenizer> given;
    if (options.tokenizer) {
        auto read = Tokenizer::read(*options.tokenizer);
        if (!read) return tl::unexpected(read.error());
        given = std::move(*read);
    }
    auto const inputs = digest_of(options, *corpus, given);
    auto const earlier = find_earlier(options, inputs);
    if (!earlier) return tl::unexpected(earlier.error());
    if (*earlier) return Prepared{**earlier, true};
    auto const part = beside(".part");
    for (auto const& left : {part, beside(".old")})
        if (auto removed = remove_remains(left); !removed) return tl::unexpected(removed.error());
    if (auto made = make_folder(part); !made) return tl::unexpected(made.error());
    auto const manifest =
        write_all(options, part, std::move(*corpus), std::move(given), inputs, report)
            .and_then([&](Manifest const& done) {
                return put_in_place(part, clean, beside(".old")).map([&] { return done; });
            });
    if (!manifest) {
        std::error_code ignored;
        fs::remove_all(part, ignored);
        return tl::unexpected(manifest.error());
    }
    return Prepared{*manifest, false};
}

}  // namespace curtail::data
