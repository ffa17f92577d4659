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

Result<void> amend(Arguments const& arguments, Console const& console)
{
    auto const run = config::read_trusted_run(arguments.text("RUN_FILE"));
    if (!run) return tl::unexpected(run.error());
    auto const store = store::open_store(run->store);
    if (!store) return tl::unexpected(store.error());
    chain::RunObjects const objects(**store, run->run);
    operate::AmendmentRequest const request{
        protocol::terms_of(config::make_run_spec(*run, {}, 0, {})), arguments.flag("zero-momentum"),
        arguments.text("reason")};
    auto const prepared = operate::prepare_amendment(objects, request, SystemClock{}.now());
    if (!prepared) return tl::unexpected(prepared.error());
    bool const create = !arguments.flag("dry-run");
    if (create)
        if (auto created = operate::create_amendment(objects, prepared->amendment); !created)
            return created;
    if (console.json) {
        console.print_json(json::Object{
            {"amendment", prepared->amendment.number},
            {"created", create},
            {"changes", json::Array(prepared->changes.begin(), prepared->changes.end())}});
        return {};
    }
    for (auto const& change : prepared->changes) console.print(change + "\n");
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
             flag_option("zero-momentum", "Also reset the momentum of the outer optimizer"),
             flag_option("dry-run", "Only print what would change")},
            {{"RUN_FILE", "The run file with the new terms", true}},
            amend,
            true,
            "curtail-store amend inputs/mine/run.json --reason \"site D joins\""};
}

}  // namespace curtail::programs::store_program
