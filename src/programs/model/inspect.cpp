// SPDX-License-Identifier: Apache-2.0
#include "commands.hpp"
#include "trainer/evaluate/contents.hpp"

namespace curtail::programs::model {
namespace {

Result<void> inspect(Arguments const& arguments, Console const& console)
{
    std::filesystem::path const file = arguments.text("WHAT");
    auto const description =
        file.extension() == ".h5"
            ? evaluate::describe_tensors(file)
            : open_model(file.string(), arguments, console.log).map([](Opened const& opened) {
                  return evaluate::describe_commit(opened.model);
              });
    if (!description) return tl::unexpected(description.error());
    if (console.json) console.print_json(*description);
    else console.print(evaluate::contents_text(*description));
    return {};
}

}  // namespace

Command inspect_command()
{
    return {"inspect",
            "Describe a tensor file (snapshot, payload part or shard), or the model of a run",
            {commit_option(), cache_option()},
            {{"WHAT", "Tensor file (.h5) or run file (.json)"}},
            inspect,
            true,
            "curtail-model inspect results/demo/sites/CAISO_NORTH/snapshot-a.0of2.h5"};
}

}  // namespace curtail::programs::model
