#include <fmt/format.h>

#include "commands.hpp"
#include "data/shards.hpp"

namespace curtail::apps::data {
namespace {

Result<void> verify(Arguments const& arguments, Console const& console)
{
    Progress progress("verifying", "shards");
    auto const folder = arguments.text("FOLDER");
    return curtail::data::verify(folder, [&](double done, double whole) { progress.at(done, whole); })
        .map([&](curtail::data::Manifest const& manifest) {
            console.print(fmt::format("{}: tokenizer and {} shards are what the manifest names, {} tokens\n", folder,
                                      manifest.train.shards.size() + manifest.held_out.shards.size(),
                                      manifest.train.tokens + manifest.held_out.tokens));
        });
}

}  // namespace

Command verify_command()
{
    return {"verify", "Recompute the digests of a prepared folder", {}, {{"FOLDER", "Folder made by prepare"}}, verify};
}

}  // namespace curtail::apps::data
