// curtail-report: what a run cost, gained and spared.
#include "apps/program.hpp"
#include "report/reference_figures.hpp"
#include "report/trace.hpp"

namespace {

using namespace curtail;

std::filesystem::path const checkout{CURTAIL_SOURCE_DIR};

Result<void> print_reference(apps::Arguments const& arguments, apps::Console const& console)
{
    auto const trace = signals::read_trace(arguments.has("trace") ? std::filesystem::path(arguments.text("trace"))
                                                                  : checkout / "signals/mci_2026-01-11.csv");
    if (!trace) return tl::unexpected(trace.error());
    auto const logs = report::read_reference_logs(arguments.text("logs"), report::by_region(*trace));
    if (!logs) return tl::unexpected(logs.error());
    auto const history = report::history_of(*logs);
    if (!history) return tl::unexpected(history.error());
    auto const figures = report::reference_figures(*logs, *history);
    if (console.json) console.print_json(report::figures_json(figures));
    else console.print(report::figures_text(figures));
    return {};
}

Result<void> run(apps::Arguments const& arguments, apps::Console const& console)
{
    if (arguments.flag("reference")) return print_reference(arguments, console);
    return fail(ExitCode::usage, "RUN is missing", "name the run's file, as inputs/runs/demo.json, or give --reference", "see --help");
}

}  // namespace

int main(int argc, char** argv)
{
    apps::Program const program{
        "curtail-report",
        "What a run cost, gained and spared.",
        {{"",
          "",
          {{"reference", apps::Kind::flag, "", "", "Print the published figures of arXiv:2602.22760, computed from its logs"},
           {"logs", apps::Kind::text, "FOLDER", (checkout / "results/reference").string(), "Logs of the reference experiment"},
           {"trace", apps::Kind::text, "FILE", "", "Trace of carbon intensity (CSV); with --reference: that of the checkout's signals/"}},
          {{"RUN", "A run's file, as inputs/runs/demo.json.", false}},
          run,
          true}},
        ""};
    return apps::run(program, argc, argv);
}
