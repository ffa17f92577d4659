// SPDX-License-Identifier: Apache-2.0
#include "trainer/job/site_training.hpp"

#include <ATen/Parallel.h>

#include <thread>

#include "base/core/build_info.hpp"
#include "base/core/clock.hpp"
#include "base/core/files.hpp"
#include "run/config/run_spec.hpp"
#include "run/runlog/configuration.hpp"
#include "trainer/engine/fail_together.hpp"
#include "trainer/engine/free_memory.hpp"
#include "trainer/engine/micro_batches.hpp"
#include "trainer/engine/peak_rate.hpp"
#include "trainer/engine/rank_energy.hpp"
#include "trainer/engine/rank_memory.hpp"
#include "trainer/engine/rank_operators.hpp"
#include "trainer/engine/site_device.hpp"
#include "trainer/engine/training_id.hpp"
#include "trainer/job/alone_training.hpp"
#include "trainer/job/freeze_watch.hpp"
#include "trainer/job/log_publisher.hpp"
#include "trainer/job/resume.hpp"
#include "trainer/job/run_at_start.hpp"
#include "trainer/job/run_training.hpp"
#include "trainer/job/site_inputs.hpp"
#include "trainer/model/initialize.hpp"

namespace curtail::trainer {
namespace {

protocol::RunSpec spec_of(SiteInputs const& inputs)
{
    std::vector<std::string> names;
    for (auto const& place : model::parameter_places(inputs.run.model)) names.push_back(place.name);
    return config::make_run_spec(inputs.run, inputs.manifest, inputs.loader.blocks_per_epoch(),
                                 std::move(names));
}

Result<void> lead_alone(SiteRanks& ranks, LeaderContext& context, SiteInputs const& inputs)
{
    auto const spec = spec_of(inputs);
    context.training_id = training_id_alone(spec);
    if (auto resumed = resume_alone(ranks, context); !resumed) return resumed;
    context.start_timer.end("resume");
    context.start_watch.reset();
    return train_alone(ranks, context, spec.stream_blocks(), spec.end());
}

Result<void> lead_in_run(SiteRanks& ranks, LeaderContext& context, SiteInputs const& inputs,
                         RunAtStart const& run)
{
    auto const spec = spec_of(inputs);
    // The protocol checks this again. Before that, a snapshot of another model would look damaged.
    if (run.spec && *run.spec)
        if (auto const other = protocol::difference(**run.spec, spec))
            return tl::unexpected(*other);
    if (auto resumed = resume_in_run(ranks, context, run.store); !resumed) return resumed;
    context.start_timer.end("resume");
    auto const complete = train_in_run(ranks, context, spec, run);
    if (!complete) return tl::unexpected(complete.error());
    if (!*complete) return {};
    context.log.info("the run is complete");
    if (context.publisher != nullptr) context.publisher->publish_soon();
    return create_file(inputs.run.folder / "complete.json",
                       json::to_pretty(json::Object{{"time", format_time(SystemClock{}.now())},
                                                    {"site", context.site.site.value}}));
}

// Locks the site's folder for this process. Waits a little, since a killed trainer may take a
// while to disappear.
Result<FileLock> lock_folder(std::filesystem::path const& folder)
{
    if (auto made = make_folder(folder); !made) return tl::unexpected(made.error());
    constexpr Seconds patience{5};
    constexpr Millis pause{100};
    auto const give_up = monotonic_now() + patience;
    for (;;) {
        auto lock = FileLock::take(folder / "lock");
        if (lock || lock.error().code != ExitCode::temporary || monotonic_now() >= give_up)
            return lock;
        std::this_thread::sleep_for(pause);
    }
}

// Removes the half-written files of a killed trainer.
void remove_leftovers(std::filesystem::path const& folder)
{
    std::error_code ignored;
    for (auto const& entry : std::filesystem::directory_iterator(folder, ignored)) {
        auto const name = entry.path().filename().string();
        bool const ours = name.starts_with(".snapshot-") || name.starts_with(".status.json.") ||
                          name.starts_with(".events.") || name.starts_with(".metrics.") ||
                          name.starts_with(".device-rows.json.");
        if (ours && entry.path().extension() == ".tmp")
            std::filesystem::remove(entry.path(), ignored);
    }
}

StopTimes stop_times(TrainOptions const& options, SiteInputs const& inputs)
{
    return {inputs.site.launch.grace, options.kill_wait};
}

// The tokens after which the training ends, if the run ends after `end`.
Tokens end_of_training(TrainOptions const& options, config::TrainingSettings const& training,
                       Tokens end)
{
    auto const steps = training.steps_without_store;
    bool const fewer = options.alone && steps > 0 && steps < end / training.batch_tokens;
    return fewer ? steps * training.batch_tokens : end;
}

// Calls the watcher with these tokens.
StepWatcher watcher_of(TrainOptions const& options, SiteInputs const& inputs)
{
    if (!options.watcher) return {};
    return [options, training = inputs.run.training](StepMetrics const& step, Tokens end) {
        options.watcher(step, end_of_training(options, training, end));
    };
}

// What the leader measures and learns from the start on.
struct AtStart {
    StartTimer& timer;
    FittingRows& fitting_rows;
    std::optional<StartWatch>& watch;
    json::Object gpu;  ///< runlog::TrainerStart::gpu
};

// The settings of a job: those in force, if no poller logs any.
runlog::Configuration configuration_of(config::Run const& run, SiteId const& site)
{
    runlog::Configuration configuration{{}, {}, build_json()};
    for (std::size_t s = 0; s < run.sites.size(); ++s)
        if (run.sites[s].site == site)
            for (auto const* file : run.files_of(s))
                configuration.files.push_back({file->path.filename().string(), file->text});
    return configuration;
}

// The leader's part, between the start of the others' follow() and their dismissal. `run` is empty
// if the site trains alone.
Result<void> lead(TrainOptions const& options, SiteInputs const& inputs,
                  std::optional<Result<RunAtStart>> const& run, SiteRanks& ranks,
                  AtStart const& at_start, Log const& log)
{
    auto const& stop = ranks.stop();
    auto const cause = [&] { return stop.raised() ? std::string(to_text(stop.cause())) : ""; };
    auto const folder = inputs.run.site_folder(options.site);
    auto const lock = lock_folder(folder);
    if (!lock) return tl::unexpected(lock.error());
    remove_leftovers(folder);
    Recorder recorder(folder, options.site.value, options.job, log, watcher_of(options, inputs),
                      LossWatch(inputs.run.model.vocabulary));
    auto const end = end_of_training(options, inputs.run.training, spec_of(inputs).end());
    if (auto const warning = config::zero_rate_warning(inputs.run, end)) log.warning(*warning);
    recorder.state(energy::PowerState::starting);
    recorder.event(runlog::TrainerStart{options.job, ranks.size(), build_json(), at_start.gpu});
    recorder.event(configuration_of(inputs.run, options.site));
    PermissionGuard permission(options.requirement, folder, inputs.run.hold_folders, inputs.run.run,
                               options.site, stop, log);
    FreezeWatch const freeze_watch([&](runlog::Frozen const& frozen) { recorder.event(frozen); });
    std::optional<LogPublisher> publisher;
    if (!options.alone) publisher.emplace(inputs.run, inputs.site, log);
    try {
        LeaderContext context{inputs.run,
                              inputs.site,
                              recorder,
                              permission,
                              publisher ? &*publisher : nullptr,
                              at_start.timer,
                              at_start.fitting_rows,
                              at_start.watch,
                              stop_times(options, inputs),
                              log,
                              folder,
                              {},
                              {},
                              {}};
        auto done = !run   ? lead_alone(ranks, context, inputs)
                    : *run ? lead_in_run(ranks, context, inputs, **run)
                           : Result<void>(tl::unexpected(run->error()));
        recorder.ended(done ? ExitCode::ok : done.error().code, cause());
        if (publisher) publisher->finish(stop, context.stop_times);
        return done;
    } catch (comm::CommError const& broken) {
        recorder.ended(broken.to_error().code, cause());
        throw;
    } catch (...) {
        recorder.ended(ExitCode::software, cause());
        throw;
    }
}

// Ends a process that must stop and hangs, for example in a call of the file system. Until the
// training begins, nothing else does.
Watchdog::Limits end_of_hung(TrainOptions const& options, SiteInputs const& inputs,
                             StopSignal const& stop, Log const& log)
{
    auto const times = stop_times(options, inputs);
    return {[&stop, times] { return stop_deadline(stop, times, StopPoint::hung_ends); },
            times.grace,
            [log](Error const&) {
                log.error(Error{ExitCode::unavailable, "cannot leave in time",
                                "a read or write, or a rank, takes too long",
                                "check the file systems of the site's folder and of the store"}
                              .message());
                std::_Exit(static_cast<int>(ExitCode::unavailable));
            }};
}

Result<void> lead_or_follow(TrainOptions const& options, SiteInputs const& inputs, SiteRanks& ranks,
                            AtStart const& at_start, Log const& log)
{
    auto const& stop = ranks.stop();
    if (!ranks.is_leader()) {
        stop.catch_signals();
        ranks.follow();
        return {};
    }
    std::optional<Result<RunAtStart>> run;
    if (!options.alone)
        run = open_run(inputs, deadline_at_start(ranks, stop_times(options, inputs)));
    // A stored run of another format must not even get a journal. The protocol reports all else.
    bool const other_format = run && *run && (*run)->spec && !*(*run)->spec &&
                              (*run)->spec->error().code == ExitCode::data;
    // The leader's records begin: from here on, no rank may just end. The others catch signals
    // already once they have passed this barrier.
    ranks.barrier();
    at_start.watch.emplace(end_of_hung(options, inputs, stop, log),
                           limit_reads("the site's folder", log, inputs.run.training.rank_timeout));
    stop.catch_signals();
    auto done = other_format ? tl::unexpected((*run)->spec->error())
                             : lead(options, inputs, run, ranks, at_start, log);
    at_start.watch.reset();
    ranks.dismiss();
    return done;
}

constexpr std::int64_t ignored_steps = 5;  // the first steps are slower than the others

// Returns the device of this rank, if the model fits on it.
Result<c10::Device> device_for(SiteInputs const& inputs, comm::PlaceOnNode on_node, int ranks)
{
    auto device = site_device(inputs.site, inputs.run.model, on_node.rank);
    if (!device) return device;
    DeviceMemory const memory{free_memory(*device), device->is_cpu() ? on_node.ranks : 1};
    auto fits = check_memory(inputs.run, ranks, type_of(inputs.run.training, *device),
                             !device->is_cpu(), memory);
    if (!fits) return tl::unexpected(fits.error());
    return device;
}

// A site that does not state its peak rate has that of its GPUs.
void add_peak_rate(SiteInputs& inputs, c10::Device device)
{
    auto& peak = inputs.site.rank_peak_tflops;
    if (!peak && type_of(inputs.run.training, device) == at::kBFloat16)
        peak = peak_tflops_of(identity_of(device).name);
}

// Returns the number of rows that a rank computes at once in a whole step.
std::int64_t rows_at_once(SiteInputs const& inputs, comm::Collectives const& ranks,
                          std::int64_t device_rows)
{
    auto const blocks = inputs.run.training.batch_tokens / inputs.run.rounds.block_tokens;
    auto const micro =
        micro_batches({blocks, inputs.loader.rows_per_block(), ranks.size(), device_rows});
    auto const share = micro.front().share_of(ranks.rank(), ranks.size()).size();
    return std::max<std::int64_t>(1, share);
}

// What the event of the start says about a rank's GPU; empty on a CPU.
json::Object details_of(std::optional<model::CheckedOperators> const& operators)
{
    if (!operators) return {};
    json::Array warnings(operators->warnings.begin(), operators->warnings.end());
    return {{"kernels", model::to_text(operators->ours)},
            {"attention", std::string(model::to_text(operators->operators.attention))},
            {"replaced", std::move(warnings)},
            {"kernels_s", operators->kernels_took.count()},
            {"attention_s", operators->attention_took.count()}};
}

// Members of a run get their weights from its store.
model::Parameters weights_at_start(TrainOptions const& options, SiteInputs const& inputs)
{
    auto const& run = inputs.run;
    return options.alone
               ? model::initial_parameters(run.model, static_cast<std::uint64_t>(run.seed))
               : model::Parameters(run.model);
}

// A job that an operator holds does not start.
Result<SiteInputs> refuse_held(SiteInputs inputs)
{
    auto const subject = permission::subject_of(inputs.run.run, inputs.site.site);
    auto const hold =
        permission::find_operator_hold(inputs.run.hold_folders, subject, SystemClock{}.now());
    if (!hold) return inputs;
    return fail(ExitCode::temporary, "this job may not train", permission::to_text(*hold),
                "ask the operators of this machine");
}

}  // namespace

Result<void> train_site(TrainOptions const& options, comm::Collectives& collectives,
                        StopSignal const& stop, Log const& log)
{
    StartTimer start_timer;
    at::set_num_threads(options.threads);
    auto inputs = [&] {
        auto const in_time = limit_reads("the run file and the data", log);
        return read_inputs(options.run, options.site).and_then(refuse_held);
    }();
    if (auto all = fail_together(collectives, inputs.map([](SiteInputs const&) {})); !all)
        return all;
    start_timer.end("inputs");
    auto const device = device_for(*inputs, options.on_node, collectives.size());
    if (auto all = fail_together(collectives, device.map([](c10::Device) {})); !all) return all;
    if (auto own = require_own_gpus(collectives, *device); !own) return own;
    add_peak_rate(*inputs, *device);
    if (collectives.rank() == 0) warn_of_float32_muon(inputs->run.optimizer, *device, log);
    auto const times = stop_times(options, *inputs);
    comm::Patience const patience{inputs->run.training.rank_timeout, [&stop, times] {
                                      return stop_deadline(stop, times, StopPoint::process_ends);
                                  }};
    collectives.set_patience(patience);
    auto const on_device = device_collectives(collectives, *device, patience);
    auto& exchanging = on_device ? *on_device : collectives;
    start_timer.end("devices");
    auto const folder = inputs->run.site_folder(options.site);
    FittingRows fitting_rows(
        folder, inputs->run,
        {identity_of(*device).name, collectives.size(), type_of(inputs->run.training, *device)});
    // While a GPU computes, the host prepares the next step.
    EngineOptions engine_options{.device = *device,
                                 .unknown_outcomes = device->is_cpu() ? 0U : 1U,
                                 .device_rows = fitting_rows.at_start(collectives, log),
                                 .try_update = !device->is_cpu(),
                                 .whole_steps_only = options.alone,
                                 .take_energy_j = rank_energy(*device, options.on_node)};
    auto operators =
        rank_operators(inputs->run, options.gpu, *device,
                       rows_at_once(*inputs, collectives, engine_options.device_rows), log);
    if (auto all = fail_together(collectives, operators.map([](auto const&) {})); !all) return all;
    auto const gpu = details_of(*operators);
    if (*operators) {
        engine_options.operators = std::move((*operators)->operators);
        start_timer.end("kernels");
    }
    Engine engine(inputs->run, inputs->loader, exchanging, weights_at_start(options, *inputs),
                  std::move(engine_options));
    engine.timer().trace({folder / ("profile-" + std::to_string(collectives.rank()) + ".json"),
                          collectives.rank(), ignored_steps, options.profiled_steps});
    SiteRanks ranks(engine, exchanging, stop, {folder, options.alone});
    start_timer.end("model");
    std::optional<StartWatch> watch;
    auto done =
        lead_or_follow(options, *inputs, ranks, {start_timer, fitting_rows, watch, gpu}, log);
    if (auto const& error = engine.timer().trace_error()) log.warning(error->message());
    return done;
}

}  // namespace curtail::trainer
