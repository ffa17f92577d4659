// SPDX-License-Identifier: Apache-2.0
#include "operate/repair.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <iostream>

#include "commands.hpp"
#include "operate/repair_chain.hpp"
#include "operate/run_record.hpp"
#include "protocol/chain/chain.hpp"
#include "protocol/records/names.hpp"
#include "run/config/named_site.hpp"
#include "run/config/run_spec.hpp"
#include "run/config/trusted.hpp"
#include "run/journal/local_file.hpp"
#include "run/journal/lost_pieces.hpp"

namespace curtail::programs::store_program {
namespace {

using Outcome = operate::RepairedPart::Outcome;

std::vector<std::string> names_of(protocol::Ranges const& numbers)
{
    std::vector<std::string> names;
    constexpr std::int64_t most = 1'000;  // the status of a site may name any number
    auto const lowest = numbers.lowest(most);
    for (auto const& range : lowest.list())
        for (auto n = range.begin; n < range.end; ++n) names.push_back(protocol::commit_name({n}));
    return names;
}

json::Array numbers_json(protocol::Ranges const& numbers)
{
    json::Array list;
    for (auto const& range : numbers.list())
        for (auto n = range.begin; n < range.end; ++n) list.emplace_back(n);
    return list;
}

protocol::Ranges restored_in(operate::ChainPlan const& plan)
{
    protocol::Ranges numbers;
    for (auto const& [number, bytes] : plan.restored)
        numbers += protocol::Ranges::between(number.value, number.value + 1);
    return numbers;
}

json::Array names_json(std::vector<std::string> const& names)
{
    return json::array_of(names, [](std::string const& name) { return name; });
}

// `done`: the plan was carried out.
void print(operate::ChainPlan const& plan, bool done, Console const& console)
{
    auto const lines = [&](char const* word, protocol::Ranges const& numbers) {
        for (auto const& name : names_of(numbers))
            console.print(fmt::format("{:<10} {}\n", word, name));
    };
    auto const restored = restored_in(plan);
    lines(done ? "copied" : "lost", done ? restored : restored - plan.replaced);
    lines("damaged", done ? plan.damaged : plan.damaged + plan.replaced);
    lines("lost", plan.lost);
    lines(done ? "removed" : "foreign", plan.foreign);
}

// Pieces of a site's journal, by name.
struct JournalRepair {
    std::vector<std::string> copied;
    std::vector<std::string> lost;
};

Result<JournalRepair> repair_journal(std::shared_ptr<store::ObjectStore> const& store,
                                     config::Run const& run, SiteId const& site)
{
    JournalRepair repaired;
    for (auto const stream : journal::all_streams) {
        journal::StreamObjects const objects(store, {run.run, site, stream});
        auto const done =
            journal::restore_lost_pieces(objects, journal::local_file(run, site, stream));
        if (!done) return tl::unexpected(done.error());
        auto const add = [&](auto const& numbers, std::vector<std::string>& names) {
            for (auto const number : numbers)
                names.push_back(fmt::format("{}/{:08}.jsonl", objects.id().text(), number.value));
        };
        add(done->restored, repaired.copied);
        add(done->lost, repaired.lost);
    }
    return repaired;
}

void print(operate::ChainPlan const& chain, JournalRepair const& journal,
           operate::RepairResult const& repaired, config::Run const& run, Console const& console)
{
    if (console.json) {
        json::Array parts;
        for (auto const& part : repaired.parts)
            parts.push_back(json::Object{{"name", part.part.name},
                                         {"bytes", part.part.bytes},
                                         {"outcome", std::string(to_word(part.outcome))}});
        return console.print_json(json::Object{{"run", run.run.value},
                                               {"commit", repaired.commit.value},
                                               {"copied_commits", numbers_json(restored_in(chain))},
                                               {"removed", numbers_json(chain.foreign)},
                                               {"copied_pieces", names_json(journal.copied)},
                                               {"lost_pieces", names_json(journal.lost)},
                                               {"parts", std::move(parts)}});
    }
    print(chain, true, console);
    for (auto const& name : journal.copied)
        console.print(fmt::format("{:<10} {}\n", "copied", name));
    for (auto const& name : journal.lost) console.print(fmt::format("{:<10} {}\n", "lost", name));
    for (auto const& part : repaired.parts)
        console.print(fmt::format("{:<10} {}\n", to_word(part.outcome), part.part.name));
}

// Asks on a terminal. Elsewhere, only the option agrees.
bool agrees(std::string const& question, Arguments const& arguments)
{
    if (arguments.flag("remove-foreign")) return true;
    if (::isatty(STDIN_FILENO) == 0) return false;
    std::cerr << question << " [y/N] ";
    std::string answer;
    std::getline(std::cin, answer);
    return answer == "y" || answer == "yes";
}

// Fails if the user does not agree with the removal of one of the objects.
Result<void> ask(operate::ChainPlan const& plan, Arguments const& arguments)
{
    char const* const foreign = " is no commit of this run, as far as this site knows";
    char const* const damaged = " is damaged, and this site has a good copy";
    for (bool const replaces : {true, false})
        for (auto const& name : names_of(replaces ? plan.replaced : plan.foreign)) {
            std::string const why = name + (replaces ? damaged : foreign);
            char const* const act = replaces ? "Replace it?" : "Remove it from the store?";
            if (!agrees(why + ". " + act, arguments))
                return fail(
                    ExitCode::protocol, "cannot repair the chain", why,
                    "look at it with `curtail-store show`, and repair at the other sites first; "
                    "`--remove-foreign` removes it");
        }
    return {};
}

// Fails if the plan leaves commits lost or damaged.
Result<void> check_complete(operate::ChainPlan const& plan)
{
    auto const& left = plan.lost.empty() ? plan.damaged : plan.lost;
    if (left.empty()) return {};
    bool const many = left.count() > 1;
    auto const number = plan.newest.value;
    return fail(ExitCode::temporary, "cannot repair the chain",
                protocol::commit_names(left) + (many ? " are " : " is ") +
                    (plan.lost.empty() ? "damaged" : "missing") +
                    ", and this site has no copy that certainly belongs there",
                "run this command at the other sites; without any copy, " +
                    (number == 0 ? std::string("restore the store from a backup")
                                 : fmt::format("start a new run with `curtail-store fork --commit "
                                               "{}`",
                                               number)));
}

// The chain as `verify` checks it.
Result<void> check_sound(chain::RunObjects const& objects)
{
    auto const chain = chain::read_chain(objects, chain::Check::rules);
    if (chain) return {};
    auto error = chain.error();
    if (error.code == ExitCode::protocol)
        error.remedy = "stop all sites, and start a new run with `curtail-store fork`";
    return tl::unexpected(std::move(error));
}

// Stores run.json again if it is missing or damaged, and the site has a copy.
Result<void> restore_run_record(chain::RunObjects const& objects, chain::RecordCache& copies,
                                operate::RunRecord const& record, Arguments const& arguments,
                                Console const& console)
{
    if (record.form == operate::RunRecord::Form::good) return {};
    bool const damaged = record.form == operate::RunRecord::Form::damaged;
    if (damaged && !agrees("run.json is damaged. Replace it by the site's copy?", arguments))
        return fail(ExitCode::protocol, "cannot repair run " + objects.run().value,
                    "run.json is damaged",
                    "`--remove-foreign` replaces it, if this site has a good copy");
    auto const restored = operate::restore_run_record(objects, copies, record);
    if (!restored) return tl::unexpected(restored.error());
    if (*restored && !console.json) console.print("copied     run.json\n");
    return {};
}

// Repairs the chain as far as the copies and the user allow. Fails if it is not sound then.
Result<operate::ChainPlan> repair_chain(chain::RunObjects const& objects,
                                        chain::RecordCache& copies, Arguments const& arguments,
                                        Console const& console)
{
    auto planned = operate::plan_chain_repair(objects, copies);
    if (!planned) return planned;
    auto const& plan = *planned;
    bool done = false;
    auto const whole = [&]() -> Result<void> {
        if (plan.refusal) return tl::unexpected(*plan.refusal);
        if (auto agreed = ask(plan, arguments); !agreed) return agreed;
        if (auto repaired = operate::repair_chain(objects, plan); !repaired) return repaired;
        done = true;
        if (auto complete = check_complete(plan); !complete) return complete;
        return check_sound(objects);
    }();
    if (!whole && !console.json) print(plan, done, console);
    return whole.and_then([&] { return planned; });
}

// Fails if a payload or a piece of the journal is still lost.
Result<void> check_parts(operate::RepairResult const& repaired, JournalRepair const& journal)
{
    if (repaired.error) return tl::unexpected(*repaired.error);
    for (auto const& part : repaired.parts)
        if (part.outcome == Outcome::lost)
            return fail(ExitCode::temporary, "cannot repair " + part.part.name,
                        "this site has no copy, and the merge cannot be computed once more",
                        "run this command at the other sites; without any copy, use "
                        "`curtail-store fork` to continue from an older commit");
    if (!journal.lost.empty())
        return fail(ExitCode::temporary, "cannot repair " + journal.lost.front(),
                    "the site's log no longer has its lines, or the store has another piece of "
                    "this number",
                    "restore it from a copy of the store; without it, the bill of the run is "
                    "incomplete");
    return {};
}

Result<void> repair(Arguments const& arguments, Console const& console)
{
    auto const run = config::read_trusted_run(arguments.text("RUN_FILE"));
    if (!run) return tl::unexpected(run.error());
    auto const site = config::named_site(*run, arguments.text("site"));
    if (!site) return tl::unexpected(site.error());
    auto opened = store::open_store(run->store_for(**site));
    if (!opened) return tl::unexpected(opened.error());
    std::shared_ptr<store::ObjectStore> const store = std::move(*opened);
    chain::RunObjects const objects(*store, run->run);
    auto const record = operate::look_at_run_record(objects);
    if (!record) return tl::unexpected(record.error());
    Stages stages;
    stages.update("repairing", "runs", 0, 1);
    chain::KeptPayloads kept(run->site_folder((*site)->site) / "kept");
    chain::RecordCache copies({run->site_folder((*site)->site) / "kept", console.log, {}, true},
                              record->sha256, run->run);
    if (auto restored = restore_run_record(objects, copies, *record, arguments, console); !restored)
        return restored;
    auto const chain = repair_chain(objects, copies, arguments, console);
    if (!chain) return tl::unexpected(chain.error());
    auto const journal = repair_journal(store, *run, (*site)->site);
    if (!journal) return tl::unexpected(journal.error());
    auto const spec = objects.spec();
    if (!spec) return tl::unexpected(spec.error());
    auto const elements = *spec ? config::parameters_of(**spec) : std::nullopt;
    auto const repaired = operate::repair(objects, kept, elements);
    if (!repaired) return tl::unexpected(repaired.error());
    print(*chain, *journal, *repaired, *run, console);
    return check_parts(*repaired, *journal);
}

}  // namespace

Command repair_command()
{
    return {"repair",
            "Store lost commits and the newest model of a run again",
            {required(text_option("site", "SITE", "The site whose copies to use")),
             flag_option("remove-foreign",
                         "Do not ask before removing an object that has the name of a commit: a "
                         "damaged commit of which the site has a good copy, or no commit of this "
                         "run")},
            {{"RUN_FILE", "The run file of this machine", true}},
            repair,
            true,
            "curtail-store repair inputs/mine/run.json --site A"};
}

}  // namespace curtail::programs::store_program
