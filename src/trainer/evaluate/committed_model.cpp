// SPDX-License-Identifier: Apache-2.0
#include "trainer/evaluate/committed_model.hpp"

#include <algorithm>

#include "protocol/chain/chain.hpp"
#include "protocol/chain/payload_values.hpp"
#include "run/config/run_spec.hpp"
#include "trainer/data/manifest.hpp"
#include "trainer/model/payload_layout.hpp"

namespace curtail::evaluate {
namespace {

using Cause = store::ReadFailure::Cause;

std::string name_of(CommitNumber number) { return "commit " + std::to_string(number.value); }

Result<protocol::Commit> choose(std::vector<protocol::Commit> const& chain,
                                std::optional<CommitNumber> wanted, std::string const& store)
{
    if (chain.empty())
        return fail(ExitCode::no_input, "cannot load a model",
                    "the run in " + store + " has no commit yet");
    if (!wanted) return chain.back();
    auto const it = std::ranges::find(chain, *wanted, &protocol::Commit::number);
    if (it == chain.end())
        return fail(ExitCode::no_input, "cannot load " + name_of(*wanted),
                    "the run has commits 1 to " + std::to_string(chain.size()));
    return *it;
}

Error payload_error(store::ReadFailure const& failure, protocol::Commit const& commit,
                    protocol::PartRef const& part)
{
    auto const what = "cannot load the model of " + name_of(commit.number);
    switch (failure.cause) {
        case Cause::missing:
            return {
                ExitCode::unavailable, what, "its payload " + part.name + " is not in the store",
                "a run deletes older models: load the newest commit; if this is the newest one, "
                "`curtail-store repair` can store the model again"};
        case Cause::corrupt:
            return {ExitCode::protocol, what, failure.error.message(),
                    "run curtail-status --verify to check the whole run"};
        case Cause::unavailable:
            break;
    }
    return failure.error.with_context(what);
}

}  // namespace

// The weights do not determine the model (the number of heads, for example), so the configured
// shape must be the stored one.
Result<protocol::RunSpec> read_spec(config::Run const& run, chain::RunObjects const& objects)
{
    auto const what = "cannot load the model of run " + run.run.value;
    auto spec = objects.spec();
    if (!spec) return tl::unexpected(spec.error());
    if (!*spec)
        return fail(ExitCode::no_input, what, "its store " + run.store.url + " has no run.json",
                    "train the run first: curtail-train " + run.file.string());
    auto const configured = config::make_run_spec(run, {}, 0, {});
    if (json::canonical((*spec)->model) != json::canonical(configured.model))
        return fail(ExitCode::config, what,
                    run.file.string() + " describes a model of another shape than the run in " +
                        run.store.url,
                    "use the file with which the run was started");
    return std::move(**spec);
}

tl::expected<model::Parameters, store::ReadFailure> read_weights(config::Run const& run,
                                                                 chain::RunObjects const& objects,
                                                                 protocol::Commit const& commit,
                                                                 CallLimits const& call)
{
    auto const& part = commit.model.weights;
    auto const layout = model::payload_layout(run.run, run.model);
    auto const cannot_read = [&](store::ReadFailure const& failure) {
        return tl::unexpected(
            store::ReadFailure{failure.cause, payload_error(failure, commit, part)});
    };
    model::Parameters weights(run.model);
    auto const form =
        chain::PayloadForm::with_head(payload::head_of(layout, part.part), layout.elements());
    auto const read =
        chain::read_values(objects, part, form, {chain::copy_to(weights.values())}, call);
    if (!read) return cannot_read(read.error());
    if (*read) return weights;
    // Another program or another run made the payload.
    auto const content = objects.payload(part, call);
    if (!content) return cannot_read(content.error());
    auto const decoded = payload::decode_into(weights.values(), layout, part.part,
                                              store::text_of(*content), part.name);
    if (!decoded) return tl::unexpected(store::ReadFailure{Cause::corrupt, decoded.error()});
    return weights;
}

Result<CommittedModel> load_committed(config::Run const& run, store::ObjectStore& store,
                                      std::optional<CommitNumber> wanted,
                                      chain::CacheSettings const& cache)
{
    chain::RecordCache records(cache, run.store, run.run);
    chain::RunObjects const objects(store, run.run, &records);
    auto const spec = read_spec(run, objects);
    if (!spec) return tl::unexpected(spec.error());
    auto const chain = chain::read_chain(objects, chain::Check::rules);
    if (!chain) return tl::unexpected(chain.error());
    auto const commit = choose(*chain, wanted, run.store.url);
    if (!commit) return tl::unexpected(commit.error());
    auto weights = read_weights(run, objects, *commit);
    if (!weights) return tl::unexpected(weights.error().error);
    return CommittedModel{*commit, std::move(*weights), spec->manifest};
}

Result<void> check_data(config::Run const& run, Digest const& manifest)
{
    auto const found = data::manifest_digest(run.data.folder);
    if (!found) return tl::unexpected(found.error());
    if (*found == manifest) return {};
    return fail(ExitCode::config, "cannot use the data in " + run.data.folder.string(),
                "run " + run.run.value + " in " + run.store.url +
                    " is trained on other data (the digest of manifest.json differs)",
                "prepare the data again with the text and options of the run, or use the file with "
                "which the run was started");
}

}  // namespace curtail::evaluate
