// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "bill/account/progress.hpp"
#include "programs/frame/program.hpp"
#include "programs/frame/progress.hpp"
#include "trainer/comm/mpi_session.hpp"
#include "trainer/job/site_bridges.hpp"
#include "trainer/job/site_inputs.hpp"
#include "trainer/job/site_training.hpp"

using namespace curtail;

namespace {

// Returns the progress line of the terminal. The speed is that of this step.
std::string step_line(account::TrainerProgress& progress, trainer::StepMetrics const& step,
                      Tokens end)
{
    progress.add(step, end);
    auto const now = progress.now();
    double const speed = static_cast<double>(step.tokens) / std::max(step.duration.count(), 1e-9);
    auto const round = step.round > 0 ? fmt::format("  round {}", step.round) : "";
    auto const left = now.training_left();
    return fmt::format("step {}  loss {:.3f}  {:.0f} tokens/s{}  {:.1f} %{}", step.step,
                       step.loss.value_or(NAN), speed, round, 100 * now.share(),
                       left ? "  " + account::training_text(*left) + " left" : "");
}

Result<void> check_connection(programs::Arguments const& arguments, SiteId const& site,
                              trainer::StopSignal const& stop, programs::Console const& console)
{
    if (arguments.flag("alone"))
        return fail(ExitCode::usage, "--mpi-check", "cannot be combined with --alone");
    char const* const ranks = std::getenv("OMPI_COMM_WORLD_SIZE");
    if (ranks != nullptr && std::string_view(ranks) != "1")
        return fail(ExitCode::usage, "--mpi-check", "must run once, and mpirun started more ranks");
    auto const checked = trainer::check_mpi(arguments.text("RUN"), site, stop, console.log);
    if (!checked) {
        auto error = checked.error();
        if (error.what.starts_with("no MPI"))
            error.remedy +=
                (error.remedy.empty() ? "" : "; ") + std::string("this site would use the store");
        return tl::unexpected(error);
    }
    auto const& [host, mpi, found] = *checked;
    std::vector<std::string> peers;
    for (auto const& network : mpi.peers) peers.push_back(network.text());
    console.print(fmt::format("site       {} on {}\n", site.value, host));
    console.print(fmt::format("interface  {}, ports {}, peers {}\n", mpi.interface,
                              mpi.ports ? mpi.ports->text() : "any", fmt::join(peers, ", ")));
    console.print(fmt::format("library    {}\n", found.library));
    console.print(fmt::format("other end  {} on {}\n", found.other.value, found.host));
    console.print(fmt::format("received   {:.0f} MB at {:.0f} MB/s\n", bridge::check_bytes * 1e-6,
                              found.received_mb_per_s));
    console.print(fmt::format("sent       {:.0f} MB at {:.0f} MB/s\n", bridge::check_bytes * 1e-6,
                              found.sent_mb_per_s));
    console.print(fmt::format("result     {} and {} exchange payloads over MPI\n", site.value,
                              found.other.value));
    return {};
}

// How long a start of MPI may take: as long as ranks may wait for each other.
Millis start_limit(std::filesystem::path const& run_file, Log const& log)
{
    auto const in_time = trainer::limit_reads("the run file and the data", log);
    auto const run = config::read_run(run_file);
    return run ? run->training.rank_timeout : comm::Patience{}.limit;
}

Result<void> train_this_site(programs::Arguments const& arguments, programs::Console const& console,
                             trainer::StopSignal const& stop)
{
    auto const site = parse_site_id(arguments.text("site"));
    if (!site) return tl::unexpected(site.error());
    auto const requirement = permission::parse_requirement(arguments.text("permission"));
    if (!requirement)
        return fail(ExitCode::usage, "--permission", "must be always, if-served or never");
    if (arguments.flag("mpi-check")) return check_connection(arguments, *site, stop, console);
    auto const gpu =
        model::parse_gpu_choice(arguments.text("gpu-kernels"), arguments.text("gpu-attention"));
    if (!gpu) return tl::unexpected(gpu.error());
    programs::ProgressLine progress("training", "");
    account::TrainerProgress trainer_progress;
    auto const watch = [&](trainer::StepMetrics const& step, Tokens end) {
        progress.show_text(step_line(trainer_progress, step, end));
    };
    trainer::TrainOptions options{.run = arguments.text("RUN"),
                                  .site = *site,
                                  .job = arguments.text("job"),
                                  .alone = arguments.flag("alone"),
                                  .threads = static_cast<int>(arguments.integer("threads")),
                                  .watcher = watch,
                                  .requirement = *requirement,
                                  .profiled_steps = arguments.integer("profile"),
                                  .gpu = *gpu};
    if (arguments.has("kill-wait"))
        options.kill_wait =
            std::chrono::round<Millis>(FractionalSeconds(arguments.number("kill-wait")));
    if (!comm::started_by_launcher())
        return trainer::train_site(options, *comm::single_process(), stop, console.log);
    auto const log_error = [&](Error const& error) { console.log.error(error.message()); };
    auto session = comm::MpiSession::start(start_limit(options.run, console.log), log_error);
    if (!session) return tl::unexpected(session.error());
    options.on_node = session->place_on_node();
    auto done = session->run(
        [&](comm::Collectives& ranks) {
            return trainer::train_site(options, ranks, stop, console.log);
        },
        log_error);
    if (done || session->size() == 1) return done;
    return fail(done.error().code, "", "");  // the rank that failed has logged the error
}

std::vector<programs::Option> options()
{
    using namespace programs;
    return {
        required(text_option("site", "SITE", "Name of this site in the run")),
        text_option("job", "ID", "Id of this Slurm or local job; recorded in events"),
        flag_option("alone",
                    "Train without a store; continue from this site's snapshot if there is one"),
        flag_option("mpi-check",
                    "Do not train: try the MPI connection with another site that runs the same "
                    "check, for up to 10 min. Exits with 69 if this site would use the store"),
        text_option("permission", "WHEN",
                    "Whether to train only while the poller permits it: always, if-served "
                    "(only if a poller has served this site) or never",
                    "if-served"),
        number_option("kill-wait", "SECONDS",
                      "Slurm's KillWait: after SIGTERM, leave within 80 % of it", {0, 1e6, true}),
        integer_option("threads", "N", "CPU threads per rank", {1, 1024}, "1"),
        integer_option("profile", "N",
                       "Write a trace of N steps of each rank, for Chrome or Perfetto, to the "
                       "site's folder",
                       {0, 1'000'000}, "0"),
        text_option("gpu-kernels", "LIST",
                    "Kernels on a GPU: ours, aten, or a list of operations that are ours, such "
                    "as rotate,mix",
                    "ours"),
        text_option(
            "gpu-attention", "NAME",
            "Attention on a GPU: cudnn or flash; default: the faster one that the GPU has")};
}

}  // namespace

int main(int argc, char** argv)
{
    trainer::StopSignal const stop;
    // Threads of store operations may still run (trainer/rounds/operation_table.hpp).
    programs::end_at_once(programs::run(
        {"curtail-train",
         "Trains a run at one site, with one rank per device under mpirun. Normally started by "
         "slurm/site_train.sh.",
         {{"",
           "",
           options(),
           {{"RUN", "Run file, such as inputs/runs/demo.json"}},
           [&](programs::Arguments const& arguments, programs::Console const& console) {
               return train_this_site(arguments, console, stop);
           }}},
         "\nExamples:\n"
         "  mpirun -n 2 curtail-train inputs/runs/demo.json --site CAISO_NORTH\n"
         "  curtail-train inputs/runs/demo.json --site CAISO_NORTH --alone\n"
         "  curtail-train --mpi-check inputs/runs/demo.json --site CAISO_NORTH\n"
         "\nOn SIGUSR1 or SIGTERM the trainer finishes the step, contributes its work and exits "
         "with 0. Before it locks\n"
         "the site's folder, it ends at once: there is nothing to save. A process that hangs ends "
         "within the grace, with 69.\n"
         "Other exit codes: 69 if work was lost or refused, 75 if another process of this site has "
         "joined, 76 if the store\n"
         "has lost commits, has another history or a foreign object, or a merge contradicts its "
         "contributions. A SIGTERM to mpirun\n"
         "is different: mpirun kills its ranks within 2 s, unless it runs under "
         "curtail-forward-stop.\n"
         "On a terminal, the trainer shows its progress. Ranks under mpirun have no terminal: see "
         "metrics.jsonl and\n"
         "curtail-status.\n"},
        argc, argv));
}
