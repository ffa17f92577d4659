// SPDX-License-Identifier: Apache-2.0
// curtail-model evaluate --follow
#include <fmt/format.h>

#include "commands.hpp"
#include "programs/frame/signals.hpp"
#include "run/config/named_site.hpp"
#include "run/config/trusted.hpp"
#include "storage/store/lazy_store.hpp"
#include "trainer/evaluate/follow/follower.hpp"

namespace curtail::programs::model {
namespace {

using runlog::HeldOutLine;

// The option has no default, so that its use without --follow can be refused.
constexpr double default_every_s = 10;

std::string loss_text(HeldOutLine const& line)
{
    if (!line.is_evaluated()) return line.missing + " before it was read";
    if (!line.loss) return "the held-out loss is not finite";
    return fmt::format("held-out loss {:.4f} +- {} nats per token, over {} tokens, in {:.1f} s",
                       *line.loss,
                       line.standard_error ? fmt::format("{:.4f}", *line.standard_error) : "-",
                       line.tokens.value, line.duration.count());
}

Result<void> check_options(Arguments const& arguments)
{
    for (auto const* option : {"commit", "out"})
        if (arguments.has(option))
            return fail(ExitCode::usage, std::string("--") + option, "does not work with --follow",
                        "omit one of them");
    if (arguments.has("site")) return {};
    return fail(ExitCode::usage, "--follow", "needs a site, in whose journal the losses belong",
                "add --site SITE");
}

}  // namespace

Result<void> follow(Arguments const& arguments, Console const& console)
{
    if (auto good = check_options(arguments); !good) return good;
    auto const run = config::read_trusted_run(arguments.text("RUN"));
    if (!run) return tl::unexpected(run.error());
    if (auto made = config::make_run_folder(*run); !made) return made;
    auto const site = config::named_site(*run, arguments.text("site"));
    if (!site) return tl::unexpected(site.error());
    // Until here, a signal ends the process: the reads may never return, and nothing is lost.
    std::stop_source stop;
    auto const listener = stop_on_signals({SIGUSR1, SIGTERM, SIGINT}, stop);
    set_threads(arguments);
    std::optional<ProgressLine> progress;  // of one evaluation
    curtail::follow::Settings const settings{
        std::chrono::round<Millis>(FractionalSeconds(
            arguments.has("every") ? arguments.number("every") : default_every_s)),
        {cache_folder(arguments), console.log},
        [&](HeldOutLine const& line) {
            progress.reset();
            console.print(console.json
                              ? json::to_string(runlog::to_json(line)) + "\n"
                              : fmt::format("commit {}, round {}, trained on {} tokens: {}\n",
                                            line.commit.value, line.round.value, line.trained.value,
                                            loss_text(line)));
        },
        [&](double done, double total) {
            if (!progress) progress.emplace("evaluating", "tokens");
            progress->update(done, total);
        }};
    auto const end = curtail::follow::follow_run(
        *run, (*site)->site, std::make_shared<store::LazyStore>(run->store_for(**site)), settings,
        console.log, stop.get_token());
    progress.reset();
    if (!end) return tl::unexpected(end.error());
    console.log.info(*end == curtail::follow::FollowOutcome::complete
                         ? "the run is complete, and its last model is evaluated"
                         : "stopped, as requested");
    return {};
}

std::vector<Option> follow_options()
{
    return {flag_option("follow",
                        "Evaluate each new model, until the run is complete or SIGUSR1, SIGTERM or "
                        "SIGINT arrives; publish the losses in the journal of SITE. With --json: "
                        "one JSON object per line"),
            text_option("site", "SITE",
                        "With --follow: the site of the run whose journal has the losses, and "
                        "whose access to the store is used"),
            number_option(
                "every", "SECONDS",
                fmt::format("With --follow: look for a new commit every SECONDS; {:g} if absent",
                            default_every_s),
                {0.1, 86'400})};
}

}  // namespace curtail::programs::model
