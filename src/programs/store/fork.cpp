// SPDX-License-Identifier: Apache-2.0
#include "operate/fork.hpp"

#include <fmt/format.h>

#include "base/core/files.hpp"
#include "commands.hpp"
#include "run/config/run_spec.hpp"
#include "run/config/trusted.hpp"

namespace curtail::programs::store_program {
namespace {

void print(config::Run const& run, operate::ForkSummary const& forked, Console const& console)
{
    auto const& first = forked.first;
    if (console.json)
        return console.print_json(
            json::Object{{"run", run.run.value},
                         {"store", run.store.url},
                         {"origin", json::Object{{"run", forked.origin.run.value},
                                                 {"commit", forked.origin.number.value},
                                                 {"sha256", forked.origin.sha256.hex()}}},
                         {"round", first.round.value},
                         {"tokens", first.totals.tokens.value},
                         {"momentum", first.outer.has_value()},
                         {"existed", forked.existed},
                         {"written", forked.written},
                         {"written_bytes", forked.bytes.value},
                         {"found", forked.found}});
    console.print(fmt::format("run {} in {} continues from commit {} of run {}\n", run.run.value,
                              run.store.url, forked.origin.number.value, forked.origin.run.value));
    console.print(fmt::format("model     round {}, {} tokens, {} momentum\n", first.round.value,
                              first.totals.tokens.value, first.outer ? "with" : "without"));
    if (forked.existed) return console.print("note      the store had this fork already\n");
    console.print(fmt::format("copied    {} objects, {}; {} were there and are right\n",
                              forked.written, size_text(forked.bytes), forked.found));
}

Result<void> fork(Arguments const& arguments, Console const& console)
{
    auto const from = open_run(arguments.text("FROM"), arguments);
    if (!from) return tl::unexpected(from.error());
    auto const run = config::read_trusted_run(arguments.text("RUN_FILE"));
    if (!run) return tl::unexpected(run.error());
    if (same_place(from->address, run->store) && from->run == run->run)
        return fail(ExitCode::usage, "cannot fork run " + from->run.value,
                    "RUN_FILE is that of the same run", "give the fork another name");
    auto const to = store::open_store(run->store);
    if (!to) return tl::unexpected(to.error());
    operate::ForkOptions options{.reset_momentum = arguments.flag("reset-momentum"),
                                 .manifest = manifest_of(*run)};
    if (arguments.has("commit")) options.number = CommitNumber{arguments.integer("commit")};
    CachedRun origin(*from, arguments, console);
    auto const forked =
        operate::fork_run(origin.objects, **to, config::make_run_spec(*run, {}, 0, {}), options,
                          [&](operate::CopyProgress const& now) {
                              origin.stages.update(std::string("copying ") + now.stage, now.unit,
                                                   now.done, now.total);
                          });
    if (!forked) return tl::unexpected(forked.error());
    if (forked->fault)
        console.log.warning("the fork is whole, but its source is not: " +
                            forked->fault->message());
    if (auto const warning = config::zero_rate_warning(*run, run->training.budget))
        console.log.warning(*warning);
    print(*run, *forked, console);
    return {};
}

}  // namespace

Command fork_command()
{
    return {
        "fork",
        "Start a run from the model of another run's commit, or resume that",
        with_access_options(
            {integer_option("commit", "NUMBER",
                            "Commit to continue from. Default: the newest, if the chain is sound",
                            {1, 99'999'999}),
             flag_option("reset-momentum", "Begin without the momentum of the outer optimizer"),
             cache_option()}),
        {{"FROM", "Source: run file or address, as STORE of the other commands"},
         {"RUN_FILE", "The run file of the new run", true}},
        fork,
        true,
        "curtail-store fork file:///shared/store inputs/mine2/run.json --run mine --commit 12"};
}

}  // namespace curtail::programs::store_program
