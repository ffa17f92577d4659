// SPDX-License-Identifier: Apache-2.0
#include "bill/evidence/evidence.hpp"

#include <fmt/format.h>

#include <set>

#include "base/core/digest.hpp"
#include "base/core/text.hpp"
#include "bill/account/timeline.hpp"
#include "bill/evidence/tables.hpp"
#include "run/runlog/configuration.hpp"

namespace curtail::evidence {
namespace {

using account::RunFiles;
using json::Object;

// Leaves out the intensities in the events of a poller.
std::string without_values(std::string const& log)
{
    std::string out;
    for (auto const line : split(log, '\n')) {
        if (trim(line).empty()) continue;
        auto const value = json::parse(line, "log");
        auto const* object = value ? value->as_object() : nullptr;
        if (object == nullptr) continue;
        auto copy = *object;
        copy.erase("intensity_gco2_per_kwh");
        out += json::to_string(copy) + "\n";
    }
    return out;
}

// Each settings file that a site's poller or trainer has logged, once.
void add_configuration(std::vector<EvidenceFile>& out, RunFiles const& files)
{
    std::set<std::string> seen;
    auto const add = [&](account::Event const& event) {
        auto const configuration = runlog::configuration_in(event);
        if (!configuration || files.run.find_site({event.site}) == nullptr) return;
        for (auto const& file : configuration->files) {
            auto const digest = sha256(file.text).hex();
            std::string name;
            for (char const c : file.name) name += is_plain_name({&c, 1}) || c == '.' ? c : '_';
            if (seen.insert(event.site + name + digest).second)
                out.push_back(
                    {fmt::format("configuration/{}-{}-{}", event.site, digest.substr(0, 8), name),
                     file.text});
        }
    };
    for (auto const& event : files.poller_events) add(event);
    for (auto const& site : files.sites)
        for (auto const& event : site.events) add(event);
}

constexpr char const* readme = R"(Evidence of a run of Curtail

Run `python3 recompute.py`. It checks the digests of these files, computes the figures of the report
from them, and compares them with figures.jsonl, which has those of the report. It names the figures
that it does not recompute. At its end, it prints the SHA-256 of digests.txt, as `curtail-report`
did when it wrote this folder.

Run `python3 compare_logs.py`. It compares the steps, the time in training and the intensities in
the tables with the logs. The notes of the report say why a table may differ from a log.

run.json           settings that were in force, clocks, and the run digest
logs/              the logs of the sites, as published
configuration/     the settings files, as the sites have logged them
samples.csv        the carbon intensity with which the run is billed
averages.csv       average intensity, if the report has some
states.csv         what each site did with its devices, as Curtail takes it from the logs, with the
                   power, PUE, region and threshold that were in force
always_on.csv      the settings with which always-on is billed
windows.csv        when the sites' windows were open
steps.csv          the steps that the logs have, with corrected times
commits.jsonl      the commits: tokens in the model, and who contributed them
digests.txt        SHA-256 of each file, for `sha256sum -c digests.txt`

Curtail judges whether a bound holds ("bound" in run.json); the notes of the report give reasons.

The intensities belong to the provider of the signal: {}.
Its licence says whether you may pass them on. `curtail-report --evidence DIR --without-values`
leaves them out, and the figures that follow from them.
)";

}  // namespace

std::vector<EvidenceFile> evidence_of(RunFiles const& files, account::Account const& account,
                                      Object const& document, bool with_values)
{
    auto const timeline = account::timeline_of(files);
    std::vector<EvidenceFile> out{
        {"README.txt", fmt::format(fmt::runtime(readme), files.trace_name)},
        {"run.json", run_json(files, account, timeline, document)},
        {"states.csv", states_csv(files, account, timeline)},
        {"always_on.csv", always_on_csv(files, account, timeline)},
        {"windows.csv", windows_csv(files, account, timeline)},
        {"steps.csv", steps_csv(files, timeline)},
        {"commits.jsonl", commits_jsonl(files)},
        {"samples.csv", samples_csv(files.trace, with_values)},
        {"averages.csv", samples_csv(files.averages, with_values)},
        {"figures.jsonl", figures_jsonl(document, with_values)},
        {"recompute.py", recompute_script},
        {"compare_logs.py", compare_script}};
    for (auto const& [name, text] : files.logs) {
        if (with_values) out.push_back({"logs/" + name, text});
        else if (!name.ends_with("-signals.jsonl"))
            out.push_back({"logs/" + name, without_values(text)});
    }
    add_configuration(out, files);
    std::string digests;
    for (auto const& file : out) digests += sha256(file.text).hex() + "  " + file.name + "\n";
    out.push_back({"digests.txt", digests});
    return out;
}

}  // namespace curtail::evidence
