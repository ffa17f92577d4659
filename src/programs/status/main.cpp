// SPDX-License-Identifier: Apache-2.0
// curtail-status: shows the state of a run, exports it to Prometheus and verifies its store.
#include <fmt/format.h>
#include <unistd.h>

#include "base/core/clock.hpp"
#include "base/core/columns.hpp"
#include "base/core/files.hpp"
#include "bill/status/documents.hpp"
#include "bill/status/prometheus.hpp"
#include "bill/status/text.hpp"
#include "programs/frame/cache.hpp"
#include "programs/frame/program.hpp"
#include "programs/frame/progress.hpp"
#include "programs/frame/signals.hpp"
#include "programs/frame/target.hpp"
#include "protocol/chain/chain.hpp"
#include "run/config/run.hpp"
#include "run/config/run_spec.hpp"

namespace {

using namespace curtail;

Result<std::shared_ptr<store::ObjectStore>> open(config::Run const& run)
{
    return store::open_store(run.store).map(
        [](auto opened) { return std::shared_ptr<store::ObjectStore>(std::move(opened)); });
}

Result<void> verify(config::Run const& run, std::shared_ptr<store::ObjectStore> const& objects,
                    chain::CacheSettings const& cache, programs::Console const& console)
{
    programs::Stages stages;
    chain::RecordCache records({cache.folder, cache.log,
                                [&](std::int64_t done, std::int64_t total) {
                                    stages.update("reading", "commits", done, total);
                                }},
                               run.store, run.run);
    auto const chain = chain::verify_run(
        {*objects, run.run, &records},
        [&](char const* stage, char const* unit, std::int64_t done, std::int64_t total) {
            stages.update(stage, unit, done, total);
        },
        config::parameters_of);
    if (!chain) return tl::unexpected(chain.error());
    auto const journal = journal::verify_journals(objects, *chain);
    if (!journal) return tl::unexpected(journal.error());
    if (console.json) console.print_json(status::verified_json(*chain, *journal, run.store.url));
    else console.print(in_terminal_columns(status::verified_text(*chain, *journal, run.store.url)));
    return {};
}

// What to do with the state of the run, once or repeatedly.
struct Output {
    std::string prometheus;       // the file to write; empty: print
    std::optional<Millis> every;  // empty: once
    chain::CacheSettings cache;
};

constexpr std::string_view clear_screen = "\x1b[H\x1b[2J";

Result<void> show(config::Run const& run, Output const& output, std::string_view before,
                  programs::Console const& console)
{
    auto const overview = status::read_overview(run, open(run), SystemClock{}.now(), output.cache);
    if (!output.prometheus.empty()) {
        auto const text = status::prometheus_text(overview);
        programs::UserUmask const readable(console);
        if (auto written = write_file(output.prometheus, text); !written) return written;
    } else {
        auto const text = console.json ? json::to_pretty(status::overview_json(overview))
                                       : in_terminal_columns(status::overview_text(overview));
        console.print_exactly(before);
        console.print(text);
    }
    // The store may be mounted later; any other trouble needs a person.
    bool const is_trouble =
        overview.store_error && overview.store_error->code != ExitCode::unavailable;
    return is_trouble ? tl::unexpected(*overview.store_error) : Result<void>{};
}

// Shows the run until a signal. A refresh that fails is logged, and the next one tries again.
void watch(config::Run const& run, Output const& output, Millis every,
           programs::Console const& console)
{
    std::stop_source stop;
    // A read of the store may take long, and what is printed needs no end. A file does.
    auto const listener =
        output.prometheus.empty()
            ? programs::listen_for_signals({SIGINT, SIGTERM}, [](int) { programs::end_at_once(0); })
            : programs::stop_on_signals({SIGINT, SIGTERM}, stop);
    bool const terminal = isatty(STDOUT_FILENO) == 1 && !console.json;
    std::string_view before = terminal ? clear_screen : "";
    do {
        if (auto shown = show(run, output, before, console); !shown)
            console.log.error(shown.error().message());
        else if (!terminal) before = "\n";
    } while (*console.output_error == 0 && sleep_unless_stopped(stop.get_token(), every));
}

// For scripts: the absolute paths of the run. Does not access the store.
void print_paths(config::Run const& run, programs::Console const& console)
{
    json::Object paths;
    paths.set("run", run.run.value)
        .set("folder", run.folder.string())
        .set("data", run.data.folder.string())
        .set("store", run.store.url);
    if (console.json) return console.print_json(paths);
    for (auto const& [name, value] : paths.members())
        console.print(fmt::format("{:<8}{}\n", name, *value.as_text()));
}

// Checks the options against each other.
Result<Output> parse_output(programs::Arguments const& arguments, Log const& log)
{
    bool const shows = !arguments.flag("verify") && !arguments.flag("paths");
    for (auto const* option : {"watch", "prometheus"})
        if (arguments.has(option) && !shows)
            return fail(ExitCode::usage, std::string("--") + option,
                        "works with neither --verify nor --paths", "omit one of them");
    if (arguments.has("prometheus") && arguments.flag("json"))
        return fail(ExitCode::usage, "--prometheus and --json", "exclude each other", "choose one");
    Output output{arguments.text("prometheus"), {}, {programs::cache_folder(arguments), log}};
    if (arguments.has("watch"))
        output.every = std::chrono::round<Millis>(FractionalSeconds(arguments.number("watch")));
    if (output.prometheus.empty()) return output;
    return programs::check_target(output.prometheus, "a file of curtail-status --prometheus",
                                  "# HELP curtail_", "--prometheus")
        .map([&] { return output; });
}

Result<void> run_status(programs::Arguments const& arguments, programs::Console const& console)
{
    auto const output = parse_output(arguments, console.log);
    if (!output) return tl::unexpected(output.error());
    auto const run = config::read_run(arguments.text("RUN"));
    if (!run) return tl::unexpected(run.error());
    if (arguments.flag("paths")) {
        print_paths(*run, console);
        return {};
    }
    if (arguments.flag("verify")) {
        auto const objects = open(*run);
        if (!objects) return tl::unexpected(objects.error());
        return verify(*run, *objects, output->cache, console);
    }
    if (!output->every) return show(*run, *output, "", console);
    watch(*run, *output, *output->every, console);
    return {};
}

std::vector<programs::Option> options()
{
    using namespace programs;
    return {
        flag_option("verify",
                    "Recompute the run from its store: check that the chain and the sites' "
                    "journals are unbroken, that all digests match and that no block is in the "
                    "model twice, and merge again what is still kept. At the first fault, exit "
                    "with 76 and name the object and the reason"),
        implying(number_option("watch", "SECONDS",
                               "Show the run again every SECONDS (default 5) until interrupted",
                               {0.1, 86'400}),
                 "5"),
        text_option("prometheus", "FILE",
                    "Instead of printing, write metrics for Prometheus to FILE, which the textfile "
                    "collector of node_exporter reads"),
        flag_option(
            "paths",
            "Print the paths of the run's folder, data and store; read none of them (for scripts)"),
        cache_option()};
}

}  // namespace

int main(int argc, char** argv)
{
    programs::Program const program{
        "curtail-status",
        "Shows the sites, windows, jobs and rounds of a run, and what each site is waiting for.",
        {{"",
          "",
          options(),
          {{"RUN", "Run file, such as inputs/runs/demo.json"}},
          run_status,
          true}},
        "\nExamples:\n"
        "  curtail-status inputs/runs/demo.json\n"
        "  curtail-status inputs/runs/demo.json --watch 2\n"
        "  curtail-status inputs/runs/demo.json --verify\n"};
    return programs::run(program, argc, argv);
}
