// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "base/core/files.hpp"
#include "base/core/text.hpp"
#include "commands.hpp"
#include "operate/doctor.hpp"
#include "programs/frame/progress.hpp"

namespace curtail::programs::store_program {
namespace {

void print(std::vector<upkeep::Finding> const& findings, NamedStore const& named,
           Console const& console)
{
    if (console.json) {
        json::Array list;
        for (auto const& finding : findings)
            list.push_back(json::Object{{"check", finding.check},
                                        {"level", upkeep::to_text(finding.level)},
                                        {"text", name_text(finding.text)},
                                        {"remedy", name_text(finding.remedy)}});
        return console.print_json(json::Object{{"store", named.address.url},
                                               {"fit", upkeep::first_fault(findings) == nullptr},
                                               {"findings", std::move(list)}});
    }
    for (auto const& finding : findings) {
        console.print(fmt::format("{:<8} {:<18} {}\n", upkeep::to_text(finding.level),
                                  finding.check, name_text(finding.text)));
        if (!finding.remedy.empty())
            console.print(fmt::format("{:<8} {:<18} -> {}\n", "", "", name_text(finding.remedy)));
    }
}

upkeep::Finding access_of(NamedStore const& named)
{
    if (!named.foreign)
        return {"access", upkeep::Finding::Level::good,
                "only you, and whom you share the run with, can change the run and its store", "",
                ExitCode::ok};
    return {"access", upkeep::Finding::Level::fault,
            named.foreign->what + ": " + named.foreign->why, named.foreign->remedy,
            named.foreign->code};
}

upkeep::Finding locks_of(NamedStore const& named)
{
    auto folder = named.run_folder;
    std::error_code error;
    while (!std::filesystem::exists(folder, error) && folder.has_relative_path())
        folder = folder.parent_path();
    auto const doubt = doubt_about_locks(folder);
    if (doubt.empty())
        return {"locks", upkeep::Finding::Level::good,
                "locks in the run's folder exclude a second poller or trainer", "", ExitCode::ok};
    return {"locks", upkeep::Finding::Level::warning, doubt,
            "until then, run the poller and the jobs of a site on one machine", ExitCode::ok};
}

Result<void> doctor(Arguments const& arguments, Console const& console)
{
    auto const named = open_named(arguments.text("STORE"), arguments);
    if (!named) return tl::unexpected(named.error());
    auto const run = named->run.value.empty() ? RunId{"doctor"} : named->run;
    ProgressLine progress("examining", "checks");
    operate::DoctorOptions const options{.size = {arguments.integer("size") << 20}};
    auto const measured = operate::doctor(*named->store, run, options,
                                          [&](char const* step) { progress.show_text(step); });
    auto findings = upkeep::findings_of(measured);
    if (!named->run_folder.empty())
        for (auto const& finding : {access_of(*named), locks_of(*named)})
            findings.push_back(finding);
    print(findings, *named, console);
    auto const* const fault = upkeep::first_fault(findings);
    if (fault == nullptr) return {};
    return fail(fault->code, "the store " + named->address.url + " is not fit for a run",
                fault->text, fault->remedy);
}

}  // namespace

Command doctor_command()
{
    return {"doctor",
            "Examine whether a store is fit for a run; leave no object in it",
            with_access_options({integer_option(
                "size", "MIB", "Size of the object that is stored and read; 0: none", {0, 16384},
                "128")}),
            {store_positional()},
            doctor,
            true,
            "curtail-store doctor inputs/runs/demo.json"};
}

}  // namespace curtail::programs::store_program
