// SPDX-License-Identifier: Apache-2.0
// curtail-report: the energy, carbon and training of a run.
#include "base/core/clock.hpp"
#include "base/core/digest.hpp"
#include "base/core/files.hpp"
#include "bill/account/account_of.hpp"
#include "bill/evidence/evidence.hpp"
#include "bill/report/csv_tables.hpp"
#include "bill/report/document.hpp"
#include "bill/report/page.hpp"
#include "bill/report/summary.hpp"
#include "programs/frame/cache.hpp"
#include "programs/frame/program.hpp"
#include "programs/frame/progress.hpp"
#include "programs/frame/target.hpp"
#include "run/config/trusted.hpp"

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
    if (auto good = programs::check_target(html, "a report", "<title>Curtail run report</title>");
        !good)
        return good;
    return programs::check_target(document_of(html), "a report", "\"schema\":\"curtail.report/1\"");
}

// Checks that --csv overwrites nothing but earlier tables.
Result<void> check_csv(programs::Arguments const& arguments,
                       std::vector<report::Table> const& tables)
{
    fs::path const folder = arguments.text("csv");
    if (folder.empty()) return fail(ExitCode::usage, "--csv", "the name of the folder is empty");
    std::error_code error;
    if (fs::exists(folder, error) && !fs::is_directory(folder, error))
        return fail(ExitCode::usage, "--csv " + folder.string(), "this is a file, not a folder",
                    "pass a folder; curtail-report creates it if it is missing");
    for (auto const& table : tables) {
        // Another version of the program may have other columns after the first two.
        auto const begin = table.columns.at(0).title + "," + table.columns.at(1).title + ",";
        if (auto good = programs::check_target(folder / (table.name + ".csv"),
                                               "a table of a report", begin, "--csv");
            !good)
            return good;
    }
    return {};
}

Result<void> write_csv(programs::Arguments const& arguments, programs::Console const& console,
                       json::Object const& document)
{
    if (!arguments.has("csv")) return {};
    auto const tables = report::csv_tables(document);
    if (auto good = check_csv(arguments, tables); !good) return good;
    fs::path const folder = arguments.text("csv");
    programs::UserUmask const readable(console);
    if (auto made = make_folder(folder); !made) return made;
    for (auto const& table : tables)
        if (auto written = write_file(folder / (table.name + ".csv"), to_csv(table)); !written)
            return written;
    return {};
}

// Writes the document, then the page, which also needs plotly.js. A page in the run's folder is as
// private as the folder.
Result<void> write_report(programs::Arguments const& arguments, programs::Console const& console,
                          json::Object const& document, fs::path const& html)
{
    std::optional<programs::UserUmask> readable;
    if (arguments.has("out")) readable.emplace(console);
    if (auto made = make_folder(html.has_parent_path() ? html.parent_path() : "."); !made)
        return made;
    if (auto written = write_file(document_of(html), json::to_string(document) + "\n"); !written)
        return written;
    auto plotly = read_file(arguments.text("plotly"));
    if (!plotly) {
        auto error = plotly.error().with_context("cannot draw the report's charts");
        error.remedy = "run scripts/setup.sh, which unpacks plotly.js, or pass --plotly FILE";
        return tl::unexpected(error);
    }
    if (auto written = write_file(html, report::page(document, std::move(*plotly))); !written)
        return written;
    console.log.info("report: " + html.string());
    return {};
}

// The document that was computed from the logs of arXiv:2602.22760.
Result<json::Object> read_reference(fs::path const& file)
{
    auto const value = json::parse_file(file, json::Dialect::strict);
    if (!value) return tl::unexpected(value.error());
    auto const* document = value->as_object();
    if (document == nullptr || document->text_at("schema") != "curtail.report/1" ||
        document->find("published") == nullptr)
        return fail(ExitCode::data, "cannot use " + file.string(),
                    "it is no document of the experiment in arXiv:2602.22760");
    return *document;
}

Result<void> report_reference(programs::Arguments const& arguments,
                              programs::Console const& console)
{
    for (char const* option : {"trace", "average-trace", "recalculate", "expect", "evidence"})
        if (arguments.has(option))
            return fail(ExitCode::usage, std::string("--") + option + " and --reference",
                        "the document of the experiment is not computed from a run");
    if (arguments.has("out"))
        if (auto good = check_targets(arguments.text("out")); !good) return good;
    auto document = read_reference(fs::path(arguments.text("logs")) / "report.json");
    if (!document) return tl::unexpected(document.error());
    document->set("report", report::written_by(SystemClock{}.now()));
    if (console.json) console.print_json(*document->find("published"));
    else console.print(report::published_text(*document));
    if (auto written = write_csv(arguments, console, *document); !written) return written;
    if (!arguments.has("out")) return {};
    return write_report(arguments, console, *document, arguments.text("out"));
}

// The digest that --expect names; empty without the option.
Result<std::optional<Digest>> expected_digest(programs::Arguments const& arguments)
{
    if (!arguments.has("expect")) return std::optional<Digest>{};
    auto const digest = Digest::from_hex(arguments.text("expect"));
    if (digest) return digest;
    return fail(ExitCode::usage, "--expect", "a run digest has 64 hexadecimal digits",
                "pass the run digest that an earlier report printed");
}

// Reads the run, and checks its digest if one is expected.
Result<account::RunFiles> load(programs::Arguments const& arguments,
                               programs::Console const& console,
                               std::optional<Digest> const& expected)
{
    programs::Stages stages;
    account::LoadOptions options;
    if (arguments.has("trace")) options.trace = arguments.text("trace");
    if (arguments.has("average-trace")) options.averages = arguments.text("average-trace");
    if (arguments.has("recalculate")) options.recalculate = arguments.text("recalculate");
    options.keeps_logs = arguments.has("evidence");
    options.cache = {programs::cache_folder(arguments), console.log,
                     [&](std::int64_t done, std::int64_t total) {
                         stages.update("reading", "commits", done, total);
                     }};
    auto files = account::load_run(arguments.text("RUN"), options);
    if (!files || !expected || *expected == files->run_digest) return files;
    return fail(ExitCode::protocol, "the run is not the expected one",
                "its run digest is " + files->run_digest->hex(),
                "compare it with a copy of the store; lines that are not yet published change "
                "the digest, too");
}

// Writes the folder for an auditor. It has the run's logs, so it is as private as they are.
Result<void> write_evidence(programs::Arguments const& arguments, programs::Console const& console,
                            account::RunFiles const& files, account::Account const& account,
                            json::Object const& document)
{
    if (!arguments.has("evidence")) return {};
    fs::path const folder = arguments.text("evidence");
    std::error_code error;
    if (fs::exists(folder, error) &&
        (!fs::is_directory(folder, error) || !fs::is_empty(folder, error)))
        return fail(ExitCode::usage, "--evidence " + folder.string(),
                    "it exists, and is no empty folder", "pass a folder that does not exist");
    std::string digest;
    for (auto const& file :
         evidence::evidence_of(files, account, document, !arguments.flag("without-values"))) {
        auto const path = folder / file.name;
        if (auto made = make_folder(path.parent_path()); !made) return made;
        if (auto written = write_file(path, file.text); !written) return written;
        if (file.name == "digests.txt") digest = sha256(file.text).hex();
    }
    console.log.info("evidence: " + folder.string() + ", SHA-256 of digests.txt " + digest);
    return {};
}

// Prints the tables first, so that they appear even if the page cannot be written.
Result<void> report_run(programs::Arguments const& arguments, programs::Console const& console)
{
    if (arguments.has("out"))
        if (auto good = check_targets(arguments.text("out")); !good) return good;
    auto const expected = expected_digest(arguments);
    if (!expected) return tl::unexpected(expected.error());
    auto const files = load(arguments, console, *expected);
    if (!files) return tl::unexpected(files.error());
    auto const account = account::account_of(*files);
    auto const whole = report::document(account, SystemClock{}.now());
    auto const document = report::shortened(whole);
    if (console.json) console.print_json(document);
    else console.print(report::summary_text(document));
    if (auto written = write_csv(arguments, console, whole); !written) return written;
    if (auto written = write_evidence(arguments, console, *files, account, whole); !written)
        return written;
    auto const html =
        arguments.has("out") ? fs::path(arguments.text("out")) : files->run.folder / "report.html";
    if (!arguments.has("out"))
        if (auto made = config::make_run_folder(files->run); !made) return made;
    if (auto good = check_targets(html); !good) return good;
    return write_report(arguments, console, document, html);
}

Result<void> run(programs::Arguments const& arguments, programs::Console const& console)
{
    if (arguments.flag("reference")) return report_reference(arguments, console);
    if (arguments.has("RUN")) return report_run(arguments, console);
    return fail(ExitCode::usage, "RUN is missing",
                "pass the run's file, such as inputs/runs/demo.json, or --reference", "see --help");
}

}  // namespace

int main(int argc, char** argv)
{
    programs::Program const program{
        "curtail-report",
        "Reports the energy, carbon and training of a run. Compares the carbon with that of "
        "always-on training.",
        {{"",
          "",
          {programs::flag_option(
               "reference",
               "Print the numbers published in arXiv:2602.22760. They are computed "
               "from the logs of its experiment"),
           programs::text_option("logs", "FOLDER",
                                 "Logs of the experiment in arXiv:2602.22760, for --reference. The "
                                 "folder also holds report.json, which was computed from them",
                                 shipped("results/reference").string()),
           programs::text_option(
               "trace", "FILE",
               "Trace of carbon intensity (CSV) that the run followed. If the pollers "
               "have logged another signal, the report has a second bill with this trace. "
               "Default: the samples that the pollers kept and published. Not with "
               "--reference"),
           programs::text_option(
               "average-trace", "FILE",
               "Trace of average carbon intensity (CSV), for location-based CO2 "
               "beside the marginal figures. Default: the average samples that the "
               "pollers kept, if there are any"),
           programs::text_option(
               "recalculate", "NAME",
               "Also make a second bill, called NAME, with the present files of the sites in "
               "place of the settings that were in force"),
           programs::text_option(
               "expect", "DIGEST",
               "Exit with 76 if the run digest is not DIGEST, as an earlier report printed it"),
           programs::text_option(
               "out", "FILE",
               "HTML page to write; the JSON document has the same name with .json. "
               "Default: report.html in the run's folder; with --reference, no page"),
           programs::text_option(
               "csv", "DIR",
               "Folder for the tables of the report as CSV files; created if it is missing"),
           programs::text_option("evidence", "DIR",
                                 "New folder for the logs, samples and settings of the run, with a "
                                 "Python script that "
                                 "computes the headline figures from them"),
           programs::flag_option("without-values",
                                 "Leave the intensities out of the folder of --evidence"),
           programs::text_option("plotly", "FILE", "plotly.js, embedded in the page",
                                 shipped(".deps/site/plotly/package_data/plotly.min.js").string()),
           programs::cache_option()},
          {{"RUN", "Run file, such as inputs/runs/demo.json", false}},
          run,
          true}},
        "\nExamples:\n"
        "  curtail-report inputs/runs/demo.json --trace signals/mci_2026-01-11.csv\n"
        "  curtail-report inputs/runs/demo.json --csv tables\n"
        "  curtail-report inputs/runs/demo.json --evidence evidence\n"
        "  curtail-report --reference --out reference.html\n"};
    return programs::run(program, argc, argv);
}
