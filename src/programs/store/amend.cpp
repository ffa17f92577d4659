// SPDX-License-Identifier: Apache-2.0
#include "operate/amend.hpp"

#include <fmt/format.h>

#include "base/core/clock.hpp"
#include "commands.hpp"
#include "protocol/records/names.hpp"
#include "protocol/records/terms.hpp"
#include "run/config/run_spec.hpp"
#include "run/config/trusted.hpp"

namespace curtail::programs::store_program {
namespace {

std::vector<std::string> texts_of(operate::PreparedAmendment const& prepared)
{
    std::vector<std::string> texts;
    for (auto const& change : prepared.amendment.changes)
        texts.push_back(protocol::to_text(change));
    if (prepared.amendment.zero_momentum) texts.emplace_back("the momentum is reset");
    return texts;
}

Result<void> amend(Arguments const& arguments, Console const& console)
{
    auto const run = config::read_trusted_run(arguments.text("RUN_FILE"));
    if (!run) return tl::unexpected(run.error());
    auto const store = store::open_store(run->store);
    if (!store) return tl::unexpected(store.error());
    chain::RunObjects const objects(**store, run->run);
    auto const manifest = manifest_of(*run);
    operate::AmendmentRequest const request{
        config::make_run_spec(*run, manifest.value_or(Digest{}), 0, {}),
        manifest.has_value(),
        run->states_drop_after,
        arguments.values_of("only"),
        arguments.flag("zero-momentum"),
        arguments.text("reason")};
    auto const prepared = operate::prepare_amendment(objects, request, SystemClock{}.now());
    if (!prepared) return tl::unexpected(prepared.error());
    if (auto const warning = config::zero_rate_warning(*run, prepared->end))
        console.log.warning(*warning);
    auto const changes = texts_of(*prepared);
    bool const create = !arguments.flag("dry-run");
    if (create)
        if (auto created = operate::create_amendment(objects, prepared->amendment); !created)
            return created;
    if (console.json) {
        console.print_json(
            json::Object{{"amendment", prepared->amendment.number},
                         {"created", create},
                         {"changes", json::Array(changes.begin(), changes.end())},
                         {"kept", json::Array(prepared->kept.begin(), prepared->kept.end())}});
        return {};
    }
    for (auto const& change : changes) console.print(change + "\n");
    for (auto const& kept : prepared->kept) console.print("note: " + kept + "\n");
    console.print(fmt::format("{} {}\n", create ? "created" : "would create",
                              protocol::amendment_name(prepared->amendment.number)));
    return {};
}

}  // namespace

Command amend_command()
{
    return {"amend",
            "Change the terms of a run to those of its run file: sites, rounds, outer, tokens",
            {required(text_option("reason", "TEXT", "Why, for the people of the other sites")),
             repeated(text_option("only", "KEY",
                                  "Change only this term, such as rounds.gather_time_s or sites.D; "
                                  "also back to a former value")),
             flag_option("zero-momentum", "Also reset the momentum of the outer optimizer"),
             flag_option("dry-run", "Only print what would change")},
            {{"RUN_FILE", "The run file with the new terms", true}},
            amend,
            true,
            "curtail-store amend inputs/mine/run.json --reason \"site D joins\""};
}

}  // namespace curtail::programs::store_program
