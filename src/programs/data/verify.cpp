// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "base/core/text.hpp"
#include "commands.hpp"
#include "trainer/data/verify.hpp"

namespace curtail::programs::data {
namespace {

void print(curtail::data::Verification const& verification, std::string const& folder,
           Console const& console)
{
    auto const shards = static_cast<std::int64_t>(verification.manifest.train.shards.size() +
                                                  verification.manifest.held_out.shards.size());
    auto const tokens = verification.manifest.train.tokens + verification.manifest.held_out.tokens;
    if (console.json) {
        json::Array bad;
        for (auto const& file : verification.bad)
            bad.push_back(json::Object{{"file", file.file}, {"why", file.why}});
        return console.print_json(json::Object{
            {"folder", folder}, {"shards", shards}, {"tokens", tokens}, {"bad", std::move(bad)}});
    }
    for (auto const& file : verification.bad)
        console.print(fmt::format("{}: {}\n", file.file, printable(file.why)));
    if (verification.good())
        console.print(fmt::format("{}: tokenizer and {} shards match the manifest, {} tokens\n",
                                  printable(folder), shards, tokens));
}

Result<void> verify(Arguments const& arguments, Console const& console)
{
    ProgressLine progress("verifying", "shards");
    auto const folder = arguments.text("FOLDER");
    auto const verification = curtail::data::verify(
        folder, [&](double done, double total) { progress.update(done, total); });
    if (!verification) return tl::unexpected(verification.error());
    print(*verification, folder, console);
    if (verification->good()) return {};
    return fail(ExitCode::data, folder + " is damaged",
                fmt::format("{} files do not match the manifest", verification->bad.size()),
                "restore them, or prepare the text again with --replace");
}

}  // namespace

Command verify_command()
{
    return {"verify",
            "Compare the files of a prepared folder with its manifest",
            {},
            {{"FOLDER", "Folder written by prepare"}},
            verify,
            true,
            "curtail-data verify results/demo/data"};
}

}  // namespace curtail::programs::data
