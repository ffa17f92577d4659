// SPDX-License-Identifier: Apache-2.0
#include "evaluate/committed_model.hpp"

#include <algorithm>

#include "data/manifest.hpp"
#include "rounds/names.hpp"
#include "rounds/verify.hpp"
#include "status/run_objects.hpp"
#include "store/verified.hpp"
#include "train/payload_layout.hpp"
#include "train/run_spec.hpp"

namespace curtail::evaluate {
namespace {

std::string name_of(CommitNumber number) { return "commit " + std::to_string(number.value); }

/// run.json of the store. The model's shape stands there, and must be the configured one: heads,
/// for one, cannot be told from weights.
Result<rounds::RunSpec> read_spec(config::Run const& run, rounds::VerifySource const& source)
{
    auto const bytes = source.record(rounds::run_name);
    if (!bytes) return tl::unexpected(bytes.error());
    if (!*bytes)
        return fail(ExitCode::no_input, "cannot load the model of run " + run.run.value,
                    "its store " + run.store + " has no run.json",
                    "train it first: curtail-train " + run.file.string());
    auto const spec = rounds::decode_run(**bytes);
    if (!spec) return tl::unexpected(spec.error());
    if (json::canonical(spec->model) != json::canonical(train::make_run_spec(run, {}, 0, {}).model))
        return fail(
            ExitCode::config, "cannot load the model of run " + run.run.value,
            run.file.string() + " names a model of another shape than the run in " + run.store,
            "use the run's file that it was begun with");
    return *spec;
}

Result<rounds::Commit> choose(std::vector<rounds::Commit> const& chain,
                              std::optional<CommitNumber> wanted, std::string const& store)
{
    if (chain.empty())
        return fail(ExitCode::no_input, "cannot load a model",
                    "the run in " + store + " has no commit yet");
    if (!wanted) return chain.back();
    auto const it = std::find_if(chain.begin(), chain.end(),
                                 [&](rounds::Commit const& c) { return c.number == *wanted; });
    if (it == chain.end())
        return fail(ExitCode::no_input, "cannot load " + name_of(*wanted),
                    "the run has commits 1 to " + std::to_string(chain.size()));
    return *it;
}

Error payload_error(store::ReadFailure const& failure, rounds::Commit const& commit,
                    rounds::PartRef const& part)
{
    auto const what = "cannot load the model of " + name_of(commit.number);
    switch (failure.kind) {
        case store::ReadFailure::Kind::missing:
            return {ExitCode::unavailable, what,
                    "its payload " + part.name + " is not in the store",
                    "older models are deleted; take the newest commit"};
        case store::ReadFailure::Kind::corrupt:
            return {ExitCode::protocol, what, failure.error.message(),
                    "curtail-status --verify finds all that is damaged"};
        case store::ReadFailure::Kind::unavailable:
            break;
    }
    return failure.error.within(what);
}

}  // namespace

Result<CommittedModel> load_committed(config::Run const& run, store::ObjectStore& objects,
                                      std::optional<CommitNumber> wanted)
{
    auto const source = status::source_of(objects, run.run);
    auto const spec = read_spec(run, source);
    if (!spec) return tl::unexpected(spec.error());
    auto const chain = rounds::read_chain(source);
    if (!chain) return tl::unexpected(chain.error());
    auto const commit = choose(*chain, wanted, run.store);
    if (!commit) return tl::unexpected(commit.error());
    if (commit->model.parts.size() != 1)
        return fail(ExitCode::protocol, "cannot load the model", "it is stored in several parts");

    auto const& part = commit->model.parts.front();
    auto const name = status::object_of(run.run, part.name);
    if (!name) return tl::unexpected(name.error());
    auto const content = store::read_verified(objects, *name, Bytes{part.bytes}, part.sha256);
    if (!content) return tl::unexpected(payload_error(content.error(), *commit, part));
    auto const values = payload::decode(train::payload_layout(run.run, run.model), part.part,
                                        store::text_of(*content), part.name);
    if (!values) return tl::unexpected(values.error());
    model::Parameters weights(run.model);
    std::copy((*values)->begin(), (*values)->end(), weights.values().begin());
    return CommittedModel{*commit, std::move(weights), spec->manifest};
}

Result<void> check_data(config::Run const& run, CommittedModel const& model)
{
    auto const found = data::manifest_digest(run.data.folder);
    if (!found) return tl::unexpected(found.error());
    if (*found == model.manifest) return {};
    return fail(ExitCode::config, "cannot use the data in " + run.data.folder.string(),
                "run " + run.run.value + " in " + run.store +
                    " is trained on other data (its manifest.json has another digest)",
                "prepare the data again with the text and the options that the run was begun with, "
                "or use the run's file of that time");
}

}  // namespace curtail::evaluate
