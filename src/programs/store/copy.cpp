// SPDX-License-Identifier: Apache-2.0
#include "operate/copy.hpp"

#include <fmt/format.h>

#include "commands.hpp"

namespace curtail::programs::store_program {
namespace {

void print(NamedStore const& from, NamedStore const& to, operate::CopySummary const& copied,
           Console const& console)
{
    if (console.json)
        return console.print_json(json::Object{{"run", from.run.value},
                                               {"from", from.address.url},
                                               {"to", to.address.url},
                                               {"commit", copied.newest.value},
                                               {"commits", copied.commits},
                                               {"headers", copied.headers},
                                               {"payloads", copied.payloads},
                                               {"pieces", copied.pieces},
                                               {"damaged_pieces", copied.damaged_pieces},
                                               {"left_out", copied.left_out},
                                               {"written", copied.written},
                                               {"written_bytes", copied.bytes.value},
                                               {"found", copied.found},
                                               {"source_has_grown", copied.source_has_grown}});
    console.print(
        fmt::format("run {}, commits 1 to {}, is in {}\n"
                    "copied    {} objects, {}; {} were there and are right\n"
                    "contains  {} commits, {} headers, {} payloads, {} pieces of journals\n",
                    from.run.value, copied.newest.value, to.address.url, copied.written,
                    size_text(copied.bytes), copied.found, copied.commits, copied.headers,
                    copied.payloads, copied.pieces));
    if (copied.damaged_pieces > 0)
        console.print(fmt::format("damaged   {} pieces of journals, as in the source\n",
                                  copied.damaged_pieces));
    if (copied.left_out > 0)
        console.print(
            fmt::format("left out  {} deltas of pending contributions that the source "
                        "lacks; the next merge refuses them\n",
                        copied.left_out));
    if (copied.source_has_grown)
        console.print("note      the source has newer commits; repeat the command to copy them\n");
}

Result<void> copy(Arguments const& arguments, Console const& console)
{
    auto const from = open_run(arguments.text("FROM"), arguments);
    if (!from) return tl::unexpected(from.error());
    auto const to = open_named(arguments.text("TO"), arguments);
    if (!to) return tl::unexpected(to.error());
    if (!to->run.value.empty() && to->run != from->run)
        return fail(ExitCode::usage, "cannot copy run " + from->run.value,
                    "the file of the destination is that of run " + to->run.value,
                    "a copy keeps the name of its run");
    if (same_place(from->address, to->address))
        return fail(ExitCode::usage, "cannot copy run " + from->run.value,
                    "source and destination are the same store", "name another destination");
    CachedRun run(*from, arguments, console);
    auto const copied =
        operate::copy_run(run.objects, *to->store, [&](operate::CopyProgress const& now) {
            run.stages.update(std::string("copying ") + now.stage, now.unit, now.done, now.total);
        });
    if (!copied) return tl::unexpected(copied.error());
    print(*from, *to, *copied, console);
    return {};
}

}  // namespace

Command copy_command()
{
    return {"copy",
            "Copy a run to another store, or resume a copy; compare every digest",
            with_access_options({cache_option()}),
            {{"FROM", "Source: run file or address, as STORE of the other commands"},
             {"TO", "Destination: run file or address. A folder must exist"}},
            copy,
            true,
            "curtail-store copy inputs/mine/run.json file:///archive/mine"};
}

}  // namespace curtail::programs::store_program
