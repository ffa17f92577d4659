// SPDX-License-Identifier: Apache-2.0
#include "run/journal/verify.hpp"
#include "bill/status/documents.hpp"
#include "bill/status/text.hpp"
#include "commands.hpp"
#include "protocol/chain/chain.hpp"
#include "run/config/run_spec.hpp"

namespace curtail::programs::store_program {
namespace {

Result<void> verify(Arguments const& arguments, Console const& console)
{
    auto named = open_run(arguments.text("STORE"), arguments);
    if (!named) return tl::unexpected(named.error());
    CachedRun run(*named, arguments, console);
    auto const summary = chain::verify_run(
        run.objects,
        [&](char const* stage, char const* unit, std::int64_t done, std::int64_t total) {
            run.stages.update(stage, unit, done, total);
        },
        config::parameters_of);
    if (!summary) return tl::unexpected(summary.error());
    std::shared_ptr<store::ObjectStore> const store(std::move(named->store));
    auto const journal = journal::verify_journals(store, *summary);
    if (!journal) return tl::unexpected(journal.error());
    auto const& url = named->address.url;
    if (console.json) console.print_json(status::verified_json(*summary, *journal, url));
    else console.print(status::verified_text(*summary, *journal, url));
    return {};
}

}  // namespace

Command verify_command()
{
    return {"verify",
            "Verify a run from the bytes in its store, as `curtail-status --verify` does",
            with_access_options({cache_option()}),
            {store_positional()},
            verify,
            true,
            "curtail-store verify file:///shared/store --run mine"};
}

}  // namespace curtail::programs::store_program
