// SPDX-License-Identifier: Apache-2.0
// curtail-status: shows the state of a run and verifies its store.
#include <fmt/format.h>

#include "apps/program.hpp"
#include "chain/chain.hpp"
#include "config/run.hpp"
#include "core/clock.hpp"
#include "status/documents.hpp"
#include "status/text.hpp"

namespace {

using namespace curtail;

Result<void> verify(config::Run const& run, store::ObjectStore& objects,
                    apps::Console const& console)
{
    auto const summary = chain::verify({objects, run.run});
    if (!summary) return tl::unexpected(summary.error());
    if (console.json) console.print_json(status::verified_json(*summary, run.store));
    else console.print(status::verified_text(*summary, run.store));
    return {};
}

/// A run whose store does not exist (yet) still has windows and jobs to show.
Result<void> show(config::Run const& run,
                  Result<std::unique_ptr<store::ObjectStore>> const& objects,
                  apps::Console const& console)
{
    status::Overview overview{run.run, run.store, SystemClock{}.now(), {}, status::read_sites(run)};
    if (objects) {
        auto chain = status::read_chain_view({**objects, run.run});
        if (!chain) return tl::unexpected(chain.error());
        overview.chain = std::move(*chain);
    } else if (objects.error().code == ExitCode::unavailable) {
        overview.sites.notes.push_back(objects.error().message());
    } else {
        return tl::unexpected(objects.error());
    }
    if (console.json) console.print_json(status::overview_json(overview));
    else console.print(status::overview_text(overview));
    return {};
}

/// For scripts: absolute paths of the run, its data and its store. Reads none of them.
void print_paths(config::Run const& run, apps::Console const& console)
{
    json::Object paths;
    paths.set("run", run.run.value)
        .set("folder", run.folder.string())
        .set("data", run.data.folder.string())
        .set("store", run.store);
    if (console.json) return console.print_json(paths);
    for (auto const& [name, value] : paths.members())
        console.print(fmt::format("{:<8}{}\n", name, *value.as_text()));
}

Result<void> run_status(apps::Arguments const& arguments, apps::Console const& console)
{
    auto const run = config::read_run(arguments.text("RUN"));
    if (!run) return tl::unexpected(run.error());
    if (arguments.flag("paths")) {
        print_paths(*run, console);
        return {};
    }
    auto const objects = store::open_store(run->store);
    if (!arguments.flag("verify")) return show(*run, objects, console);
    if (!objects) return tl::unexpected(objects.error());
    return verify(*run, **objects, console);
}

}  // namespace

int main(int argc, char** argv)
{
    apps::Program const program{
        "curtail-status",
        "Shows the members, progress and sites of a run; --verify checks its store.",
        {{"",
          "",
          {{"verify", apps::Kind::flag, "", "",
            "Recompute the run from its store: an unbroken chain, correct digests, every block in "
            "the model exactly once. Otherwise exit with 76 and name the object and the reason"},
           {"paths", apps::Kind::flag, "", "",
            "Print the folders of the run, its data and its store without reading them (for "
            "scripts)"}},
          {{"RUN", "The run's file, for example inputs/runs/demo.json."}},
          run_status,
          true}},
        ""};
    return apps::run(program, argc, argv);
}
