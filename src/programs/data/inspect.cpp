// SPDX-License-Identifier: Apache-2.0
#include "commands.hpp"
#include "trainer/data/summary.hpp"

namespace curtail::programs::data {
namespace {

Result<void> inspect(Arguments const& arguments, Console const& console)
{
    std::filesystem::path const path = arguments.text("PATH");
    if (path.extension() == ".h5")
        return curtail::data::describe_shard(path).map([&](json::Object const& description) {
            if (console.json) console.print_json(description);
            else console.print(curtail::data::shard_text(description));
        });
    return curtail::data::summarize(path).map([&](curtail::data::Summary const& summary) {
        if (console.json) console.print_json(to_json(summary));
        else console.print(to_text(summary));
    });
}

}  // namespace

Command inspect_command()
{
    return {"inspect",
            "Describe a prepared folder or a shard",
            {},
            {{"PATH", "Folder written by prepare, or a .h5 file"}},
            inspect,
            true,
            "curtail-data inspect results/demo/data"};
}

}  // namespace curtail::programs::data
