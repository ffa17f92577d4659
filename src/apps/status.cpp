// SPDX-License-Identifier: Apache-2.0
// curtail-status: prints the state of a run and verifies its store.
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
    auto const summary = chain::verify_run({objects, run.run});
    if (!summary) return tl::unexpected(summary.error());
    if (console.json) console.print_json(status::verified_json(*summary, run.store));
    else console.print(status::verified_text(*summary, run.store));
    return {};
}

Result<void> show(config::Run const& run,
                  Result<std::unique_ptr<store::ObjectStore>> const& objects,
                  apps::Console const& console)
{
    auto const overview = status::read_overview(run, objects, SystemClock{}.now());
    if (!overview) return tl::unexpected(overview.error());
    if (console.json) console.print_json(status::overview_json(*overview));
    else console.print(status::overview_text(*overview));
    return {};
}

// For scripts: the absolute paths of the run. Does not access the store.
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
        "Shows the sites, windows, jobs and rounds of a run, and what each site is waiting for.",
        {{"",
          "",
          {{"verify", apps::OptionType::flag, "", "",
            "Recompute the run from its store: check that the chain is unbroken, that all digests "
            "match and that no block is in the model twice. At the first fault, exit with 76 and "
            "name the object and the reason"},
           {"paths", apps::OptionType::flag, "", "",
            "Print the paths of the run's folder, data and store; read none of them (for "
            "scripts)"}},
          {{"RUN", "Run file, such as inputs/runs/demo.json"}},
          run_status,
          true}},
        "\nExamples:\n"
        "  curtail-status inputs/runs/demo.json\n"
        "  curtail-status inputs/runs/demo.json --verify\n"};
    return apps::run(program, argc, argv);
}
