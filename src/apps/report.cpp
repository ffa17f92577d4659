// curtail-report: what a run cost, gained and spared.
#include "apps/program.hpp"
#include "core/clock.hpp"
#include "core/files.hpp"
#include "report/document.hpp"
#include "report/page.hpp"
#include "report/reference_account.hpp"
#include "report/run_account.hpp"
#include "report/tables.hpp"
#include "report/trace.hpp"

namespace {

using namespace curtail;

std::filesystem::path const checkout{CURTAIL_SOURCE_DIR};

/// Writes page and document beside each other; answers where the page is.
Result<std::filesystem::path> write_report(report::Account const& account, json::Object const& document, std::filesystem::path const& html,
                                           std::filesystem::path const& plotly_file)
{
    auto plotly = read_file(plotly_file);
    if (!plotly) {
        auto error = plotly.error().within("cannot make the report's charts");
        error.remedy = "run scripts/setup.sh, which unpacks plotly.js, or pass --plotly FILE";
        return tl::unexpected(error);
    }
    auto json_file = html;
    json_file.replace_extension(".json");
    if (auto made = make_folder(html.has_parent_path() ? html.parent_path() : "."); !made) return tl::unexpected(made.error());
    if (auto written = write_file(html, report::page(document, account, std::move(*plotly))); !written)
        return tl::unexpected(written.error());
    if (auto written = write_file(json_file, json::to_string(document) + "\n"); !written) return tl::unexpected(written.error());
    return html;
}

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
    if (arguments.has("out")) {
        auto const account = report::reference_account(*logs, *history);
        auto const written =
            write_report(account, report::document(account, SystemClock{}.now()), arguments.text("out"), arguments.text("plotly"));
        if (!written) return tl::unexpected(written.error());
        console.log.info("report: " + written->string());
    }
    if (console.json) console.print_json(report::figures_json(figures));
    else console.print(report::figures_text(figures));
    return {};
}

Result<void> report_run(apps::Arguments const& arguments, apps::Console const& console)
{
    std::optional<std::filesystem::path> trace;
    if (arguments.has("trace")) trace = arguments.text("trace");
    auto const files = report::load_run(arguments.text("RUN"), trace);
    if (!files) return tl::unexpected(files.error());
    auto const account = report::account_of(*files);
    auto const document = report::document(account, SystemClock{}.now());
    auto const html = arguments.has("out") ? std::filesystem::path(arguments.text("out")) : files->run.folder / "report.html";
    auto const written = write_report(account, document, html, arguments.text("plotly"));
    if (!written) return tl::unexpected(written.error());
    console.log.info("report: " + written->string());
    if (console.json) console.print_json(document);
    else console.print(report::summary_text(account));
    return {};
}

Result<void> run(apps::Arguments const& arguments, apps::Console const& console)
{
    if (arguments.flag("reference")) return print_reference(arguments, console);
    if (arguments.has("RUN")) return report_run(arguments, console);
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
           {"trace", apps::Kind::text, "FILE", "",
            "Trace of carbon intensity (CSV) that the run followed; with --reference: that of the checkout's signals/"},
           {"out", apps::Kind::text, "FILE", "",
            "Page to write; the document goes beside it as .json; without: report.html in the run's folder, and no page with --reference"},
           {"plotly", apps::Kind::text, "FILE", (checkout / ".deps/site/plotly/package_data/plotly.min.js").string(),
            "plotly.js, which is put into the page"}},
          {{"RUN", "A run's file, as inputs/runs/demo.json.", false}},
          run,
          true}},
        ""};
    return apps::run(program, argc, argv);
}
