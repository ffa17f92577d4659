// SPDX-License-Identifier: Apache-2.0
#include "train/site_training.hpp"

#include <ATen/Parallel.h>
#include <ATen/Version.h>

#include <thread>

#include "config/run_spec.hpp"
#include "core/build_info.hpp"
#include "core/clock.hpp"
#include "core/files.hpp"
#include "core/text.hpp"
#include "model/initialize.hpp"
#include "train/agreement.hpp"
#include "train/run_training.hpp"
#include "train/snapshot_owner.hpp"

namespace curtail::train {
namespace {

constexpr char const* snapshot_file = "snapshot.h5";

/// Everything that a rank reads before the ranks begin to depend on each other.
struct Prepared {
    config::Run run;
    config::Site site;
    data::Loader loader;
    Digest manifest;
};

/// The library that runs must be the one that headers came from; at::show_config() is the only
/// place that tells.
Result<void> check_torch()
{
    auto const wanted = "TORCH_VERSION=" + build_info().torch;
    auto const config = at::show_config();
    if (config.find(wanted) != std::string::npos) return {};
    auto const at = config.find("TORCH_VERSION=");
    auto const found = at == std::string::npos
                           ? "an unknown version"
                           : config.substr(at + 14, config.find_first_of(",\n", at) - at - 14);
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
        return fail(ExitCode::config,
                    "no site " + printable(how.site.value) + " in " + how.run.string(),
                    suggest_name(how.site.value, names));
    }
    auto stream = data::TokenStream::open(run->data.folder, data::Part::train);
    if (!stream) return tl::unexpected(stream.error());
    auto const manifest = data::manifest_digest(run->data.folder);
    if (!manifest) return tl::unexpected(manifest.error());
    auto const vocabulary = stream->manifest().vocabulary;
    if (vocabulary > run->model.vocabulary)
        return fail(ExitCode::config,
                    "model of " + std::to_string(run->model.vocabulary) + " tokens",
                    "the data's tokenizer has " + std::to_string(vocabulary),
                    "use the vocabulary that `curtail-data prepare` was given");
    auto loader =
        data::Loader::create(std::move(*stream), run->rounds.block_tokens, run->model.sequence);
    if (!loader) return tl::unexpected(loader.error());
    auto const found = *site;
    return Prepared{std::move(*run), found, std::move(*loader), *manifest};
}

/// Goes on from the snapshot, if there is one of this training. `store`: null without one.
Result<void> resume(Crew& crew, LeaderContext& context, store::ObjectStore* store)
{
    auto const snapshot = load_snapshot(context.snapshot, context.run.run, context.run.model);
    if (!snapshot) return tl::unexpected(snapshot.error());
    if (!*snapshot) return {};
    auto const refuse = [&](std::string why, std::string remedy) {
        return fail(ExitCode::data, "cannot use snapshot " + context.snapshot.string(),
                    std::move(why), std::move(remedy));
    };
    auto const& found = **snapshot;
    if (store != nullptr) {
        if (is_alone(found.owner))
            return refuse("it is of a training without a store, and would be replaced",
                          "move it away, or name another folder in the run file");
        auto owner = owner_in_store(*store, context.run.run);
        // A damaged record is the protocol's to judge: it may never need this one.
        if (!owner && owner.error().code != ExitCode::protocol)
            return tl::unexpected(owner.error());
        context.owner = owner.value_or(std::nullopt);
        if (found.owner != context.owner) {
            context.log.warning(
                "does not use " + context.snapshot.string() +
                ": it is not of this beginning of the run; the optimizer begins anew");
            return {};
        }
    } else if (found.owner != context.owner) {
        return refuse(is_alone(found.owner) ? "it is of a training on other data, or with another "
                                              "seed, model, optimizer or batch"
                                            : "it is not of a training without a store",
                      "move it away to begin anew, or name another folder in the run file");
    }
    // Tried here first: the ranks can only share a state that fits.
    if (auto fits = crew.engine().optimizer().restore(found.optimizer); !fits)
        return refuse(
            fits.error().message(),
            "remove it to go on without it (only the optimizer's state is lost to a run)");
    context.start = found.position;
    crew.share_optimizer(found.optimizer);
    if (store == nullptr) crew.share_weights(found.weights.values());
    context.log.info("goes on from " + context.snapshot.string() + ", " +
                     std::to_string(context.start.steps) + " steps");
    return {};
}

/// The leader's part between the others' follow() and their dismissal.
Result<void> lead(SiteTraining const& how, Prepared& prepared, Crew& crew, Recorder& recorder,
                  Log const& log)
{
    auto const& run = prepared.run;
    LeaderContext context{
        run, prepared.site, recorder, log, run.site_folder(how.site) / snapshot_file, {}, {}};
    if (how.alone) {
        context.owner = owner_alone(run, prepared.manifest);
        if (auto resumed = resume(crew, context, nullptr); !resumed) return resumed;
        return train_alone(crew, context, prepared.loader.blocks_per_epoch() * run.data.epochs);
    }
    auto const store = store::open_store(run.store);
    if (!store) return tl::unexpected(store.error());
    if (auto resumed = resume(crew, context, store->get()); !resumed) return resumed;
    std::vector<std::string> names;
    for (auto const& place : model::parameter_places(run.model)) names.push_back(place.name);
    auto const spec = config::make_run_spec(run, prepared.manifest,
                                            prepared.loader.blocks_per_epoch(), std::move(names));
    auto const complete = train_in_run(crew, context, spec, **store);
    if (!complete) return tl::unexpected(complete.error());
    if (!*complete) return {};
    log.info("the run is complete");
    return write_file(run.folder / "complete.json",
                      json::to_pretty(json::Object{{"time", format_time(SystemClock{}.now())},
                                                   {"site", how.site.value}}));
}

/// The site's folder for this process alone. Waits a little: a trainer that was killed may take a
/// moment to be gone.
Result<FileLock> take_folder(std::filesystem::path const& folder)
{
    if (auto made = make_folder(folder); !made) return tl::unexpected(made.error());
    constexpr Seconds patience{5};
    constexpr Millis pause{100};
    auto const give_up = mono_now() + patience;
    for (;;) {
        auto lock = FileLock::take(folder / "lock");
        if (lock || lock.error().code != ExitCode::temporary || mono_now() >= give_up) return lock;
        std::this_thread::sleep_for(pause);
    }
}

/// What a killed trainer left half written.
void remove_remains(std::filesystem::path const& folder)
{
    std::error_code ignored;
    for (auto const& entry : std::filesystem::directory_iterator(folder, ignored)) {
        auto const name = entry.path().filename().string();
        bool const ours = name.rfind(std::string(".") + snapshot_file + ".", 0) == 0 ||
                          name.rfind(".status.json.", 0) == 0;
        if (ours && entry.path().extension() == ".tmp")
            std::filesystem::remove(entry.path(), ignored);
    }
}

Result<void> lead_recorded(SiteTraining const& how, Prepared& prepared, Crew& crew, int ranks,
                           Log const& log)
{
    auto const folder = prepared.run.site_folder(how.site);
    auto const lock = take_folder(folder);
    if (!lock) return tl::unexpected(lock.error());
    remove_remains(folder);
    Recorder recorder(folder, how.site.value, how.job, log, how.watcher);
    recorder.state(PowerState::starting);
    recorder.event("trainer-start", {{"job", how.job}, {"ranks", ranks}, {"build", build_json()}});
    try {
        auto done = lead(how, prepared, crew, recorder, log);
        recorder.ended(done ? ExitCode::ok : done.error().code);
        return done;
    } catch (...) {
        recorder.ended(ExitCode::software);
        throw;
    }
}

}  // namespace

Result<void> train_site(SiteTraining const& how, comm::Collectives& collectives,
                        StopSignal const& stop, Log const& log)
{
    at::set_num_threads(how.threads);
    auto prepared = prepare(how);
    if (auto all = agree(collectives, prepared.map([](Prepared const&) {})); !all) return all;
    Engine engine(prepared->run, prepared->loader, collectives,
                  model::initial_parameters(prepared->run.model,
                                            static_cast<std::uint64_t>(prepared->run.seed)));
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
