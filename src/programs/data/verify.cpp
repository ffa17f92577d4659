// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "base/core/text.hpp"
#include "commands.hpp"
#include "trainer/data/verify.hpp"

namespace curtail::programs::data {
namespace {

void print(curtail::data::Verification const& found, std::string const& folder,
           Console const& console)
{
    auto const shards = static_cast<std::int64_t>(found.manifest.train.shards.size() +
                                                  found.manifest.held_out.shards.size());
    auto const tokens = found.manifest.train.tokens + found.manifest.held_out.tokens;
    if (console.json) {
        json::Array bad;
        for (auto const& file : found.bad)
            bad.push_back(json::Object{{"file", file.file}, {"why", file.why}});
        return console.print_json(json::Object{
            {"folder", folder}, {"shards", shards}, {"tokens", tokens}, {"bad", std::move(bad)}});
    }
    for (auto const& file : found.bad)
        console.print(fmt::format("{}: {}\n", file.file, printable(file.why)));
    if (found.good())
        console.print(fmt::format("{}: tokenizer and {} shards match the manifest, {} tokens\n",
                                  printable(folder), shards, tokens));
}

Result<void> verify(Arguments const& arguments, Console const& console)
{
    ProgressLine progress("verifying", "shards");
    auto const folder = arguments.text("FOLDER");
    auto const found = curtail::data::verify(
        folder, [&](double done, double total) { progress.update(done, total); });
    if (!found) return tl::unexpected(found.error());
    print(*found, folder, console);
    if (found->good()) return {};
    return fail(ExitCode::data, folder + " is damaged",
                fmt::format("{} files do not match the manifest", found->bad.size()),
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
