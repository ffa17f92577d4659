// SPDX-License-Identifier: Apache-2.0
#include "trainer/job/site_inputs.hpp"

#include <ATen/Version.h>

#include <algorithm>

#include "base/core/build_info.hpp"
#include "base/core/text.hpp"
#include "protocol/chain/chain.hpp"
#include "run/config/run_spec.hpp"
#include "run/config/trusted.hpp"
#include "storage/store/object_store.hpp"
#include "trainer/comm/patience.hpp"

namespace curtail::trainer {
namespace {

// The loaded LibTorch must match the headers. Only at::show_config() tells its version.
Result<void> check_torch()
{
    auto const expected = "TORCH_VERSION=" + build_info().torch;
    auto const config = at::show_config();
    if (config.find(expected) != std::string::npos) return {};
    auto const at = config.find("TORCH_VERSION=");
    auto const found = at == std::string::npos
                           ? "an unknown version"
                           : config.substr(at + 14, config.find_first_of(",\n", at) - at - 14);
    return fail(ExitCode::unavailable, "cannot train with this LibTorch",
                "it is " + printable(found) + ", this program was built with " + build_info().torch,
                "run scripts/setup.sh and build again");
}

Result<data::Loader> open_loader(config::Run const& run)
{
    auto stream = data::TokenStream::open(run.data.folder, data::Split::train);
    if (!stream) return tl::unexpected(stream.error());
    auto const vocabulary = stream->manifest().vocabulary_size;
    if (vocabulary > run.model.vocabulary)
        return fail(ExitCode::config,
                    "model of " + std::to_string(run.model.vocabulary) + " tokens",
                    "the data's tokenizer has " + std::to_string(vocabulary),
                    "use the vocabulary that `curtail-data prepare` was given");
    return data::Loader::create(std::move(*stream), run.rounds.block_tokens.value,
                                run.model.sequence);
}

// If the run has begun, the stored budget is the remedy.
Error with_stored_budget(Error error, config::Run const& run, config::Site const& site)
{
    auto const store = store::open_store(run.store_for(site));
    if (!store) return error;
    auto const tip = chain::newest_commit(chain::RunObjects(**store, run.run));
    if (!tip || !*tip || (*tip)->terms.budget == run.training.budget) return error;
    auto const& budget = (*tip)->terms.budget;
    error.remedy = "the run has " +
                   (budget ? "a budget of " + std::to_string(budget->value) + " tokens"
                           : std::string("no budget")) +
                   " by its terms: state the same, or begin another run";
    return error;
}

}  // namespace

Result<config::Site> find_site(config::Run const& run, std::filesystem::path const& run_file,
                               SiteId const& site)
{
    if (auto const* found = run.find_site(site)) return *found;
    std::vector<std::string> names;
    for (auto const& s : run.sites) names.push_back(s.site.value);
    return fail(ExitCode::config, "no site " + printable(site.value) + " in " + run_file.string(),
                suggest_name(site.value, names));
}

TimeLimit limit_reads(std::string const& what, Log const& log, Millis limit)
{
    limit = std::max(limit, comm::Patience{}.limit);
    return {limit,
            {ExitCode::unavailable, "cannot begin to train",
             "reading " + what + " takes longer than " + format_duration(limit),
             "check the file systems that have them"},
            [log](Error const& error) { log.error(error.message()); }};
}

Result<SiteInputs> read_inputs(std::filesystem::path const& run_file, SiteId const& site)
{
    if (auto good = check_torch(); !good) return tl::unexpected(good.error());
    auto run = config::read_trusted_run(run_file);
    if (!run) return tl::unexpected(run.error());
    if (auto made = config::make_run_folder(*run); !made) return tl::unexpected(made.error());
    auto found = find_site(*run, run_file, site);
    if (!found) return tl::unexpected(found.error());
    auto loader = open_loader(*run);
    if (!loader) return tl::unexpected(loader.error());
    if (auto error = config::check_budget(*run, loader->blocks_per_epoch()))
        return tl::unexpected(with_stored_budget(std::move(*error), *run, *found));
    auto const manifest = data::manifest_digest(run->data.folder);
    if (!manifest) return tl::unexpected(manifest.error());
    return SiteInputs{std::move(*run), std::move(*found), std::move(*loader), *manifest};
}

}  // namespace curtail::trainer
