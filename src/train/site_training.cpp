#include "train/site_training.hpp"

#include <ATen/Parallel.h>
#include <ATen/Version.h>

#include "core/build_info.hpp"
#include "core/clock.hpp"
#include "core/files.hpp"
#include "core/text.hpp"
#include "model/initialize.hpp"
#include "train/agreement.hpp"
#include "train/run_spec.hpp"
#include "train/run_training.hpp"

namespace curtail::train {
namespace {

/// Everything that a rank reads before the ranks begin to depend on each other.
struct Prepared {
    config::Run run;
    config::Site site;
    data::Loader loader;
    Digest manifest;
};

/// The library that runs must be the one that headers came from; at::show_config() is the only place that tells.
Result<void> check_torch()
{
    auto const wanted = "TORCH_VERSION=" + build_info().torch;
    auto const config = at::show_config();
    if (config.find(wanted) != std::string::npos) return {};
    auto const at = config.find("TORCH_VERSION=");
    auto const found = at == std::string::npos ? "an unknown version" : config.substr(at + 14, config.find_first_of(",\n", at) - at - 14);
    return fail(ExitCode::unavailable, "cannot train with this LibTorch",
                "it is " + printable(found) + ", this program was built with " + build_info().torch,
                "run scripts/setup.sh and build again");
}

Result<Prepared> prepare(SiteTraining const& how)
{
    if (auto good = check_torch(); !good) return tl::unexpected(good.error());
    auto run = config::read_run(how.run);
    if (!run) return tl::unexpected(run.error());
    auto const* site = run->find_site(how.site);
    if (site == nullptr) {
        std::vector<std::string> names;
        for (auto const& s : run->sites) names.push_back(s.site.value);
        return fail(ExitCode::config, "no site " + printable(how.site.value) + " in " + how.run.string(),
                    suggest_name(how.site.value, names));
    }
    auto stream = data::TokenStream::open(run->data.folder, data::Part::train);
    if (!stream) return tl::unexpected(stream.error());
    auto const manifest = data::manifest_digest(run->data.folder);
    if (!manifest) return tl::unexpected(manifest.error());
    auto const vocabulary = stream->manifest().vocabulary;
    if (vocabulary > run->model.vocabulary)
        return fail(ExitCode::config, "model of " + std::to_string(run->model.vocabulary) + " tokens",
                    "the data's tokenizer has " + std::to_string(vocabulary), "use the vocabulary that `curtail-data prepare` was given");
    auto loader = data::Loader::create(std::move(*stream), run->rounds.block_tokens, run->model.sequence);
    if (!loader) return tl::unexpected(loader.error());
    auto const found = *site;
    return Prepared{std::move(*run), found, std::move(*loader), *manifest};
}

/// The leader's part between the others' follow() and their dismissal.
Result<void> lead(SiteTraining const& how, Prepared& prepared, Crew& crew, Recorder& recorder, Log const& log)
{
    auto const& run = prepared.run;
    LeaderContext context{run, prepared.site, recorder, log, run.site_folder(how.site) / "snapshot.h5", {}};
    auto snapshot = load_snapshot(context.snapshot, run.run, run.model);
    if (!snapshot) return tl::unexpected(snapshot.error());
    if (*snapshot) {
        // Tried here first: the ranks can only share a state that fits.
        if (auto fits = crew.engine().optimizer().restore((*snapshot)->optimizer); !fits)
            return fail(ExitCode::data, "cannot use snapshot " + context.snapshot.string(), fits.error().message(),
                        "remove it to go on without it (only the optimizer's state is lost to a run)");
        context.start = (*snapshot)->position;
        crew.share_optimizer((*snapshot)->optimizer);
        if (how.alone) crew.share_weights((*snapshot)->weights.values());
        log.info("goes on from " + context.snapshot.string() + ", " + std::to_string(context.start.steps) + " steps");
    }
    if (how.alone) return train_alone(crew, context, prepared.loader.blocks_per_epoch() * run.data.epochs);
    auto const store = store::open_store(run.store);
    if (!store) return tl::unexpected(store.error());
    std::vector<std::string> names;
    for (auto const& place : model::parameter_places(run.model)) names.push_back(place.name);
    auto const spec = make_run_spec(run, prepared.manifest, prepared.loader.blocks_per_epoch(), std::move(names));
    auto const complete = train_in_run(crew, context, spec, **store);
    if (!complete) return tl::unexpected(complete.error());
    if (!*complete) return {};
    log.info("the run is complete");
    return write_file(run.folder / "complete.json",
                      json::to_pretty(json::Object{{"time", format_time(SystemClock{}.now())}, {"site", how.site.value}}));
}

Result<void> lead_recorded(SiteTraining const& how, Prepared& prepared, Crew& crew, int ranks, Log const& log)
{
    auto const folder = prepared.run.site_folder(how.site);
    if (auto made = make_folder(folder); !made) return made;
    Recorder recorder(folder, how.site.value, how.job, log);
    recorder.state(PowerState::starting);
    recorder.event("trainer-start", {{"job", how.job}, {"ranks", ranks}, {"build", build_json()}});
    auto const ended = [&](ExitCode code) {
        recorder.state(PowerState::ended);
        recorder.event("trainer-exit", {{"code", static_cast<int>(code)}});
    };
    try {
        auto done = lead(how, prepared, crew, recorder, log);
        ended(done ? ExitCode::ok : done.error().code);
        return done;
    } catch (...) {
        ended(ExitCode::software);
        throw;
    }
}

}  // namespace

Result<void> train_site(SiteTraining const& how, comm::Collectives& collectives, StopSignal const& stop, Log const& log)
{
    at::set_num_threads(how.threads);
    auto prepared = prepare(how);
    if (auto all = agree(collectives, prepared.map([](Prepared const&) {})); !all) return all;
    Engine engine(prepared->run, prepared->loader, collectives,
                  model::initial_parameters(prepared->run.model, static_cast<std::uint64_t>(prepared->run.seed)));
    Crew crew(engine, collectives, stop);
    if (!crew.leads()) {
        crew.follow();
        return {};
    }
    auto done = lead_recorded(how, *prepared, crew, collectives.size(), log);
    crew.dismiss();
    return done;
}

}  // namespace curtail::train
