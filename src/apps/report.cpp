// SPDX-License-Identifier: Apache-2.0
// curtail-report: the energy, carbon and training of a run.
#include "account/account_of.hpp"
#include "apps/cache.hpp"
#include "apps/program.hpp"
#include "apps/progress.hpp"
#include "apps/target.hpp"
#include "core/clock.hpp"
#include "core/csv.hpp"
#include "core/files.hpp"
#include "reference/account.hpp"
#include "reference/published_values.hpp"
#include "report/csv_tables.hpp"
#include "report/document.hpp"
#include "report/page.hpp"
#include "report/tables.hpp"
#include "signals/trace.hpp"

namespace {

using namespace curtail;

namespace fs = std::filesystem;

// A file that Curtail ships: in `share/curtail` of the prefix that contains this program, or in
// the checkout above `build/<preset>/bin`; else `relative` itself.
fs::path shipped(fs::path const& relative)
{
    std::error_code error;
    auto folder = fs::read_symlink("/proc/self/exe", error).parent_path();
    for (; !error && folder.has_relative_path(); folder = folder.parent_path())
        for (auto const& root : {folder / "share/curtail", folder})
            if (fs::exists(root / relative, error)) return root / relative;
    return relative;
}

fs::path document_of(fs::path html) { return html.replace_extension(".json"); }

Result<void> check_targets(fs::path const& html)
{
    if (html.extension() == ".json")
        return fail(ExitCode::usage, "--out " + html.string(),
                    "--out names the page; the JSON document has the same name with .json",
                    "pass a name that ends in .html");
    if (auto good = apps::check_target(html, "a report", "<title>Curtail run report</title>");
        !good)
        return good;
    return apps::check_target(document_of(html), "a report", "\"schema\":\"curtail.report/1\"");
}

// How a table begins. Another version of the program may have other columns after these.
std::string first_columns(report::CsvTable const& table)
{
    return table.head.at(0) + "," + table.head.at(1) + ",";
}

// Checks that --csv overwrites nothing but earlier tables.
Result<void> check_csv(apps::Arguments const& arguments,
                       std::vector<report::CsvTable> const& tables)
{
    fs::path const folder = arguments.text("csv");
    if (folder.empty()) return fail(ExitCode::usage, "--csv", "the name of the folder is empty");
    std::error_code error;
    if (fs::exists(folder, error) && !fs::is_directory(folder, error))
        return fail(ExitCode::usage, "--csv " + folder.string(), "this is a file, not a folder",
                    "pass a folder; curtail-report creates it if it is missing");
    for (auto const& table : tables)
        if (auto good = apps::check_target(folder / (table.name + ".csv"), "a table of a report",
                                           first_columns(table), "--csv");
            !good)
            return good;
    return {};
}

Result<void> write_csv(apps::Arguments const& arguments, account::Account const& account)
{
    if (!arguments.has("csv")) return {};
    auto const tables = report::csv_tables(account);
    if (auto good = check_csv(arguments, tables); !good) return good;
    fs::path const folder = arguments.text("csv");
    if (auto made = make_folder(folder); !made) return made;
    for (auto const& table : tables)
        if (auto written = write_file(folder / (table.name + ".csv"), table.text()); !written)
            return written;
    return {};
}

// Writes the document, then the page, which also needs plotly.js.
Result<void> write_report(account::Account const& account, json::Object const& document,
                          fs::path const& html, fs::path const& plotly_file)
{
    if (auto made = make_folder(html.has_parent_path() ? html.parent_path() : "."); !made)
        return made;
    if (auto written = write_file(document_of(html), json::to_string(document) + "\n"); !written)
        return written;
    auto plotly = read_file(plotly_file);
    if (!plotly) {
        auto error = plotly.error().with_context("cannot draw the report's charts");
        error.remedy = "run scripts/setup.sh, which unpacks plotly.js, or pass --plotly FILE";
        return tl::unexpected(error);
    }
    return write_file(html, report::page(document, account, std::move(*plotly)));
}

// Writes what the command line names: the tables, the document and its page.
Result<void> write_reference(apps::Arguments const& arguments, apps::Console const& console,
                             account::Account const& account)
{
    if (auto written = write_csv(arguments, account); !written) return written;
    if (!arguments.has("out")) return {};
    auto const document = report::document(account, SystemClock{}.now());
    if (auto written =
            write_report(account, document, arguments.text("out"), arguments.text("plotly"));
        !written)
        return written;
    console.log.info("report: " + arguments.text("out"));
    return {};
}

Result<void> print_reference(apps::Arguments const& arguments, apps::Console const& console)
{
    if (arguments.has("out"))
        if (auto good = check_targets(arguments.text("out")); !good) return good;
    auto const trace =
        signals::read_trace(arguments.has("trace") ? fs::path(arguments.text("trace"))
                                                   : shipped("signals/mci_2026-01-11.csv"));
    if (!trace) return tl::unexpected(trace.error());
    auto const logs = reference::read_logs(arguments.text("logs"), trace->series());
    if (!logs) return tl::unexpected(logs.error());
    auto const history = reference::history_of(*logs);
    if (!history) return tl::unexpected(history.error());
    auto const values = reference::published_values(*logs, *history);
    if (console.json) console.print_json(reference::published_json(values));
    else console.print(reference::published_text(values));
    if (!arguments.has("out") && !arguments.has("csv")) return {};
    return write_reference(arguments, console, reference::account_of(*logs, *history));
}

// Prints the tables first, so that they appear even if the page cannot be written.
Result<void> report_run(apps::Arguments const& arguments, apps::Console const& console)
{
    if (arguments.has("out"))
        if (auto good = check_targets(arguments.text("out")); !good) return good;
    std::optional<fs::path> trace;
    if (arguments.has("trace")) trace = arguments.text("trace");
    std::optional<fs::path> average;
    if (arguments.has("average-trace")) average = arguments.text("average-trace");
    apps::Stages stages;
    auto const files = account::load_run(
        arguments.text("RUN"), trace, average,
        {apps::cache_folder(arguments), console.log, [&](std::int64_t done, std::int64_t total) {
             stages.update("reading", "commits", done, total);
         }});
    if (!files) return tl::unexpected(files.error());
    auto const account = account::account_of(*files);
    auto const document = report::document(account, SystemClock{}.now());
    if (console.json) console.print_json(document);
    else console.print(report::summary_text(account));
    if (auto written = write_csv(arguments, account); !written) return written;
    auto const html =
        arguments.has("out") ? fs::path(arguments.text("out")) : files->run.folder / "report.html";
    if (auto good = check_targets(html); !good) return good;
    if (auto written = write_report(account, document, html, arguments.text("plotly")); !written)
        return written;
    console.log.info("report: " + html.string());
    return {};
}

Result<void> run(apps::Arguments const& arguments, apps::Console const& console)
{
    if (arguments.flag("reference")) return print_reference(arguments, console);
    if (arguments.has("RUN")) return report_run(arguments, console);
    return fail(ExitCode::usage, "RUN is missing",
                "pass the run's file, such as inputs/runs/demo.json, or --reference", "see --help");
}

}  // namespace

int main(int argc, char** argv)
{
    apps::Program const program{
        "curtail-report",
        "Reports the energy, carbon and training of a run. Compares the carbon with that of "
        "always-on training.",
        {{"",
          "",
          {{"reference", apps::OptionType::flag, "", "",
            "Print the numbers published in arXiv:2602.22760, recomputed from the logs of its "
            "experiment"},
           {"logs", apps::OptionType::text, "FOLDER", shipped("results/reference").string(),
            "Logs of the experiment in arXiv:2602.22760, for --reference"},
           {"trace", apps::OptionType::text, "FILE", "",
            "Trace of carbon intensity (CSV) that the run followed. Default: the samples that the "
            "pollers kept and published; with --reference, "
            "signals/mci_2026-01-11.csv of the checkout"},
           {"average-trace", apps::OptionType::text, "FILE", "",
            "Trace of average carbon intensity (CSV), for location-based CO2 beside the marginal "
            "figures. Default: the average samples that the pollers kept, if there are any"},
           {"out", apps::OptionType::text, "FILE", "",
            "HTML page to write; the JSON document has the same name with .json. Default: "
            "report.html in the run's folder; with --reference, no page"},
           {"csv", apps::OptionType::text, "DIR", "",
            "Folder for the tables of the report as CSV files; created if it is missing"},
           {"plotly", apps::OptionType::text, "FILE",
            shipped(".deps/site/plotly/package_data/plotly.min.js").string(),
            "plotly.js, embedded in the page"},
           apps::cache_option()},
          {{"RUN", "Run file, such as inputs/runs/demo.json", false}},
          run,
          true}},
        "\nExamples:\n"
        "  curtail-report inputs/runs/demo.json --trace signals/mci_2026-01-11.csv\n"
        "  curtail-report inputs/runs/demo.json --csv tables\n"
        "  curtail-report --reference --out reference.html\n"};
    return apps::run(program, argc, argv);
}
