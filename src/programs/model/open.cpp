// SPDX-License-Identifier: Apache-2.0
#include <ATen/Parallel.h>

#include <optional>
#include <string>

#include "commands.hpp"

namespace curtail::programs::model {

Option commit_option()
{
    return integer_option("commit", "N", "Number of the run's commit [the newest]");
}

Option threads_option() { return integer_option("threads", "N", "CPU threads", {1, 4096}, "1"); }

void set_threads(Arguments const& arguments)
{
    at::set_num_threads(static_cast<int>(arguments.integer("threads")));
}

Result<Opened> open_model(std::string const& file, Arguments const& arguments, Log const& log)
{
    auto run = config::read_run(file);
    if (!run) return tl::unexpected(run.error());
    auto const objects = store::open_store(run->store);
    if (!objects) return tl::unexpected(objects.error());
    std::optional<CommitNumber> wanted;
    if (arguments.has("commit")) wanted = CommitNumber{arguments.integer("commit")};
    Stages stages;
    auto model = evaluate::load_committed(
        *run, **objects, wanted,
        {cache_folder(arguments), log, [&](std::int64_t done, std::int64_t total) {
             stages.update("reading", "commits", done, total);
         }});
    if (!model) return tl::unexpected(model.error());
    return Opened{std::move(*run), std::move(*model)};
}

Result<Opened> open_model_and_data(std::string const& file, Arguments const& arguments,
                                   Log const& log)
{
    auto opened = open_model(file, arguments, log);
    if (!opened) return opened;
    if (auto same = evaluate::check_data(opened->run, opened->model.manifest); !same)
        return tl::unexpected(same.error());
    return opened;
}

}  // namespace curtail::programs::model
