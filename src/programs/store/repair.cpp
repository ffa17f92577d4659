// SPDX-License-Identifier: Apache-2.0
#include "operate/repair.hpp"

#include <fmt/format.h>

#include "commands.hpp"
#include "run/config/named_site.hpp"
#include "run/config/run_spec.hpp"
#include "run/config/trusted.hpp"

namespace curtail::programs::store_program {
namespace {

using Outcome = operate::RepairedPart::Outcome;

void print(operate::RepairResult const& repaired, config::Run const& run, Console const& console)
{
    if (console.json) {
        json::Array parts;
        for (auto const& part : repaired.parts)
            parts.push_back(json::Object{{"name", part.part.name},
                                         {"bytes", part.part.bytes},
                                         {"outcome", std::string(to_word(part.outcome))}});
        return console.print_json(json::Object{{"run", run.run.value},
                                               {"commit", repaired.commit.value},
                                               {"parts", std::move(parts)}});
    }
    for (auto const& part : repaired.parts)
        console.print(fmt::format("{:<10} {}\n", to_word(part.outcome), part.part.name));
}

Result<void> repair(Arguments const& arguments, Console const& console)
{
    auto const run = config::read_trusted_run(arguments.text("RUN_FILE"));
    if (!run) return tl::unexpected(run.error());
    auto const site = config::named_site(*run, arguments.text("site"));
    if (!site) return tl::unexpected(site.error());
    auto const store = store::open_store(run->store_for(**site));
    if (!store) return tl::unexpected(store.error());
    chain::RunObjects const objects(**store, run->run);
    auto const spec = objects.spec();
    if (!spec) return tl::unexpected(spec.error());
    Stages stages;
    stages.update("repairing", "runs", 0, 1);
    chain::KeptPayloads kept(run->site_folder((*site)->site) / "kept");
    auto const elements = *spec ? config::parameters_of(**spec) : std::nullopt;
    auto const repaired = operate::repair(objects, kept, elements);
    if (!repaired) return tl::unexpected(repaired.error());
    print(*repaired, *run, console);
    if (repaired->error) return tl::unexpected(*repaired->error);
    for (auto const& part : repaired->parts)
        if (part.outcome == Outcome::lost)
            return fail(ExitCode::temporary, "cannot repair " + part.part.name,
                        "this site has no copy, and the merge cannot be computed once more",
                        "run this command at the other sites; without any copy, use "
                        "`curtail-store fork` to continue from an older commit");
    return {};
}

}  // namespace

Command repair_command()
{
    return {"repair",
            "Store the newest model of a run again if it is damaged or lost",
            {required(text_option("site", "SITE", "The site whose copies to use"))},
            {{"RUN_FILE", "The run file of this machine", true}},
            repair,
            true,
            "curtail-store repair inputs/mine/run.json --site A"};
}

}  // namespace curtail::programs::store_program
