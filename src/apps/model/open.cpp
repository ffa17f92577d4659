// SPDX-License-Identifier: Apache-2.0
#include <ATen/Parallel.h>

#include "commands.hpp"

namespace curtail::apps::model {

Option commit_option()
{
    return {"commit", Kind::integer, "N", "", "Commit whose model is taken; default: the newest"};
}

Option threads_option() { return {"threads", Kind::integer, "N", "1", "CPU threads"}; }

Result<void> set_threads(Arguments const& arguments)
{
    auto const threads = arguments.integer("threads");
    if (threads < 1 || threads > 4096)
        return fail(ExitCode::usage, "--threads", "must be 1 to 4096");
    at::set_num_threads(static_cast<int>(threads));
    return {};
}

Result<Opened> open_model(std::string const& file, Arguments const& arguments)
{
    auto run = config::read_run(file);
    if (!run) return tl::unexpected(run.error());
    auto const objects = store::open_store(run->store);
    if (!objects) return tl::unexpected(objects.error());
    std::optional<CommitNumber> wanted;
    if (arguments.has("commit")) wanted = CommitNumber{arguments.integer("commit")};
    auto model = evaluate::load_committed(*run, **objects, wanted);
    if (!model) return tl::unexpected(model.error());
    return Opened{std::move(*run), std::move(*model)};
}

}  // namespace curtail::apps::model
