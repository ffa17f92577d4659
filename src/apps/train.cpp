// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "apps/program.hpp"
#include "comm/mpi_session.hpp"
#include "train/site_training.hpp"

using namespace curtail;

namespace {

std::string figures_of(train::StepMetrics const& made)
{
    double const speed =
        static_cast<double>(made.tokens.value) / std::max(made.duration.count(), 1e-9);
    auto const round = made.round > 0 ? fmt::format("  round {}", made.round) : "";
    return fmt::format("step {}  loss {:.3f}  {:.0f} tokens/s{}", made.step, made.loss, speed,
                       round);
}

Result<void> train_this_site(apps::Arguments const& arguments, apps::Console const& console)
{
    train::StopSignal const stop;
    auto const site = parse_site_id(arguments.text("site"));
    if (!site) return tl::unexpected(site.error());
    if (arguments.integer("threads") < 1 || arguments.integer("threads") > 1024)
        return fail(ExitCode::usage, "--threads " + arguments.text("threads"), "must be 1 to 1024");
    apps::Progress progress("training", "");
    train::TrainOptions const options{
        arguments.text("RUN"),
        *site,
        arguments.text("job"),
        arguments.flag("alone"),
        static_cast<int>(arguments.integer("threads")),
        [&](train::StepMetrics const& made) { progress.show(figures_of(made)); }};
    if (!comm::started_by_launcher())
        return train::train_site(options, *comm::single(), stop, console.log);
    auto session = comm::MpiSession::start();
    if (!session) return tl::unexpected(session.error());
    auto done = session->run(
        [&](comm::Collectives& ranks) {
            return train::train_site(options, ranks, stop, console.log);
        },
        [&](Error const& error) { console.log.error(error.message()); });
    if (done || session->size() == 1) return done;
    return fail(done.error().code, "", "");  // the rank that failed has said why
}

}  // namespace

int main(int argc, char** argv)
{
    using apps::Kind;
    return apps::run(
        {"curtail-train",
         "Trains one site of a run: one process per device under mpirun; slurm/site_train.sh "
         "starts it.",
         {{"",
           "",
           {{"site", Kind::text, "SITE", "", "Which site of the run this is", true},
            {"job", Kind::text, "ID", "", "Job id of the scheduler, for events"},
            {"alone", Kind::flag, "", "", "Train without a store, from this site's snapshot"},
            {"threads", Kind::integer, "N", "1", "CPU threads of each rank"}},
           {{"RUN", "Run file, such as inputs/runs/demo.json"}},
           train_this_site}},
         "SIGUSR1: finish the step, contribute what was trained, exit 0. SIGTERM likewise where it "
         "reaches the program;\n"
         "mpirun kills its ranks within 2 s of a SIGTERM of its own.\n"
         "Progress is shown on a terminal; under mpirun ranks have none: see metrics.jsonl and "
         "curtail-status.\n"},
        argc, argv);
}
